package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

const methodPrefix = "rm_"

var errMethodsHidden = errors.New("you cannot see the receiving methods: you need the permission ws.receiving.read; ask an admin of the workspace for a role that includes it")

func newMethodUpdate(r *remote) *cobra.Command {
	var out term.Format
	var account accountFlags
	c := &cobra.Command{
		Use: "update ENTRY METHOD", Aliases: []string{"edit"},
		Short: "Change a receiving method",
		Long: `Change a receiving method. Omitted flags keep their value. A change makes a
successor with an id of its own; the old method is paid until the new one can
be. Where the workspace demands a second person, it waits for their approval.`,
		Example: `  bursar receiving-methods update "Ada Lovelace" first-harbour-bank --account-name "Augusta Ada Lovelace"
  bursar receiving-methods update "Ada Lovelace" rm_01jd2r5v7w9x1y3z5a7b9c1d3e --account-id - < number.txt`,
		Args: cobra.ExactArgs(2), ValidArgsFunction: r.completeMethod(),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := account.changes(c, r.terminal)
			if err != nil {
				return err
			}
			return r.updateMethod(c.Context(), args, p, out)
		},
	}
	account.bind(c)
	out.Bind(c, false)
	return r.inWorkspace(c)
}

// changes returns the properties whose flags were set.
func (a *accountFlags) changes(c *cobra.Command, t Terminal) (p client.ReceivingMethodUpdateParams, err error) {
	for flag, value := range map[string]func(){
		"provider":     func() { p.Provider = &a.provider },
		"account-name": func() { p.AccountName = &a.name },
		"account-id":   func() { p.AccountID = &a.id },
		"default":      func() { p.IsDefault = &a.isDefault },
		"institution":  func() { p.InstitutionCode = &a.institution },
	} {
		if c.Flags().Changed(flag) {
			value()
		}
	}
	if p == (client.ReceivingMethodUpdateParams{}) {
		return p, term.Usagef("nothing to change: pass --provider, --account-name, --account-id, --institution or --default")
	}
	return p, a.read(c.Context(), t)
}

func newMethodDefault(r *remote) *cobra.Command {
	var out term.Format
	c := &cobra.Command{
		Use:   "default ENTRY METHOD",
		Short: "Make a receiving method the default",
		Long:  `Make a receiving method the default of its entry, in place of the present one.`,
		Example: `  bursar receiving-methods default "Ada Lovelace" first-harbour-bank
  bursar receiving-methods default "Ada Lovelace" rm_01jd2r5v7w9x1y3z5a7b9c1d3e`,
		Args: cobra.ExactArgs(2), ValidArgsFunction: r.completeMethod(),
		RunE: func(c *cobra.Command, args []string) error {
			return r.updateMethod(c.Context(), args, client.ReceivingMethodUpdateParams{IsDefault: client.Bool(true)}, out)
		},
	}
	out.Bind(c, false)
	return r.inWorkspace(c)
}

func (r *remote) updateMethod(ctx context.Context, args []string, p client.ReceivingMethodUpdateParams, out term.Format) error {
	s, err := r.connect()
	if err != nil {
		return err
	}
	e, m, err := r.findMethod(ctx, s, args[0], args[1])
	if err != nil {
		return err
	}
	updated, err := s.ReceivingMethods.Update(ctx, e.ID, m.ID, p)
	if err != nil {
		return fmt.Errorf("update the receiving method: %w", err)
	}
	if err := r.say("Updated a receiving method of %s: %s, %s.", e.Label, updated.Provider, r.methodText(*updated, false)); err != nil {
		return err
	}
	return out.Write(r.terminal, updated, nothing)
}

func newMethodRemove(r *remote) *cobra.Command {
	var out term.Format
	var yes bool
	c := &cobra.Command{
		Use: "remove ENTRY METHOD", Aliases: []string{"rm", "delete"},
		Short: "Remove a receiving method",
		Long: `Remove a receiving method from an entry. This cannot be undone, so the command
asks first, unless you pass --yes. If it was the default, the oldest remaining
method becomes the default, if need be after a second person has approved.`,
		Example: `  bursar receiving-methods remove "Ada Lovelace" first-harbour-bank
  bursar receiving-methods remove "Ada Lovelace" rm_01jd2r5v7w9x1y3z5a7b9c1d3e --yes`,
		Args: cobra.ExactArgs(2), ValidArgsFunction: r.completeMethod(),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			e, m, err := r.findMethod(c.Context(), s, args[0], args[1])
			if err != nil {
				return err
			}
			text := m.ID
			if m.Provider != "" {
				text = m.Provider + ", " + r.methodText(m, false)
			}
			if err := r.terminal.Confirm(c.Context(), term.Printable("Remove "+text+" from "+e.Label+"? This cannot be undone."), yes); err != nil {
				return err
			}
			removed, err := s.ReceivingMethods.Remove(c.Context(), e.ID, m.ID)
			if err != nil {
				return fmt.Errorf("remove the receiving method: %w", err)
			}
			if err := r.say("Removed %s from %s.", text, e.Label); err != nil {
				return err
			}
			return out.Write(r.terminal, removed, nothing)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	out.Bind(c, false)
	return r.inWorkspace(c)
}

// findMethod finds a receiving method of an entry by id, provider or account name. A person who may change methods but not see them can use
// an id.
func (r *remote) findMethod(ctx context.Context, s *session, entry, ref string) (*api.Entry, api.ReceivingMethod, error) {
	e, err := r.findEntry(ctx, s, entry)
	if err != nil {
		return nil, api.ReceivingMethod{}, err
	}
	if e.ReceivingMethods == nil {
		if strings.HasPrefix(ref, methodPrefix) && !term.IsShortID(ref) {
			return e, api.ReceivingMethod{ID: ref}, nil
		}
		return nil, api.ReceivingMethod{}, errMethodsHidden
	}
	methods, err := s.ReceivingMethods.List(ctx, e.ID)
	if err != nil {
		return nil, api.ReceivingMethod{}, fmt.Errorf("list the receiving methods: %w", err)
	}
	methods = slices.DeleteFunc(methods, func(m api.ReceivingMethod) bool {
		return m.ID != ref && (m.Status == api.MethodRetired || m.Status == api.MethodRejected)
	})
	list := make([]candidate[api.ReceivingMethod], len(methods))
	for i, m := range methods {
		list[i] = candidate[api.ReceivingMethod]{m, m.ID, []string{m.Provider, m.AccountName}, term.Printable(m.Provider + ", " + r.methodText(m, false))}
	}
	m, err := pick(ctx, s.terminal, "receiving method", ref, list)
	return e, m, err
}

// completeMethod completes an entry, then one of its receiving methods.
func (r *remote) completeMethod() cobra.CompletionFunc {
	return byPosition(r.completeEntry(false), func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return r.complete(func(ctx context.Context, s *session) ([]string, error) {
			s.terminal.In = nil // completion must not ask questions
			e, err := r.findEntry(ctx, s, args[0])
			if err != nil || e.ReceivingMethods == nil {
				return nil, err
			}
			var words []string
			for _, m := range *e.ReceivingMethods {
				words = append(words, described(m.ID, m.Provider+", "+m.AccountName+", "+mask(r.terminal, m.AccountID)))
			}
			return words, nil
		})(c, args, begun)
	})
}

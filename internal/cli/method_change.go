package cli

import (
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

// methodChange are the inputs of 'receiving-methods update'.
type methodChange struct {
	Entry       api.Entry
	Method      methodName
	Provider    *string `flag:"provider" usage:"bank or service that holds the account"`
	Name        *string `flag:"account-name" usage:"name of the account holder"`
	ID          *string `flag:"account-id" usage:"account number, or - to read it from standard input"`
	Institution *string `flag:"institution" usage:"code of the bank or wallet, by which a rail pays, such as GXCHPHM2XXX"`
	IsDefault   *bool   `flag:"default" usage:"make this the default method"`
}

func (m *methodChange) params() client.ReceivingMethodUpdateParams {
	return client.ReceivingMethodUpdateParams{Provider: m.Provider, AccountName: m.Name, AccountID: m.ID, InstitutionCode: m.Institution,
		IsDefault: m.IsDefault}
}

func (m *methodChange) check() error {
	if m.params() == (client.ReceivingMethodUpdateParams{}) {
		return term.Usagef("nothing to change: pass --provider, --account-name, --account-id, --institution or --default")
	}
	return nil
}

func newMethodUpdate(r *remote) *cobra.Command {
	var in methodChange
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "update ENTRY METHOD", Aliases: []string{"edit"},
		Short: "Change a receiving method",
		Long: `Change a receiving method. Omitted flags keep their value. A change makes a
successor with an id of its own; the old method is paid until the new one can
be. Where the workspace demands a second person, it waits for their approval.`,
		Example: `  bursar receiving-methods update "Ada Lovelace" first-harbour-bank --account-name "Augusta Ada Lovelace"
  bursar receiving-methods update "Ada Lovelace" rm_01jd2r5v7w9x1y3z5a7b9c1d3e --account-id - < number.txt`,
	}, func(c *call) error {
		p := in.params()
		if p.AccountID != nil {
			number, err := readNumber(c, c.terminal, "account-id", *p.AccountID)
			if err != nil {
				return err
			}
			p.AccountID = &number
		}
		return updateMethod(c, &in.Entry, in.Method, p)
	})
}

func newMethodDefault(r *remote) *cobra.Command {
	var in struct {
		Entry  api.Entry
		Method methodName
	}
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use:   "default ENTRY METHOD",
		Short: "Make a receiving method the default",
		Long:  `Make a receiving method the default of its entry, in place of the present one.`,
		Example: `  bursar receiving-methods default "Ada Lovelace" first-harbour-bank
  bursar receiving-methods default "Ada Lovelace" rm_01jd2r5v7w9x1y3z5a7b9c1d3e`,
	}, func(c *call) error {
		return updateMethod(c, &in.Entry, in.Method, client.ReceivingMethodUpdateParams{IsDefault: client.Bool(true)})
	})
}

func updateMethod(c *call, e *api.Entry, name methodName, p client.ReceivingMethodUpdateParams) error {
	m, err := findMethod(c, e, string(name))
	if err != nil {
		return err
	}
	updated, err := c.ReceivingMethods.Update(c, e.ID, m.ID, p)
	if err != nil {
		return fmt.Errorf("update the receiving method: %w", err)
	}
	c.say("Updated a receiving method of %s: %s, %s.", e.Label, updated.Provider, c.r.methodText(*updated, false))
	return c.done(updated)
}

func newMethodRemove(r *remote) *cobra.Command {
	var in struct {
		Entry  api.Entry
		Method methodName
		confirmation
	}
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "remove ENTRY METHOD", Aliases: []string{"rm", "delete"},
		Short: "Remove a receiving method",
		Long: `Remove a receiving method from an entry. This cannot be undone, so the command
asks first, unless you pass --yes. If it was the default, the oldest remaining
method becomes the default, if need be after a second person has approved.`,
		Example: `  bursar receiving-methods remove "Ada Lovelace" first-harbour-bank
  bursar receiving-methods remove "Ada Lovelace" rm_01jd2r5v7w9x1y3z5a7b9c1d3e --yes`,
	}, func(c *call) error {
		m, err := findMethod(c, &in.Entry, string(in.Method))
		if err != nil {
			return err
		}
		text := m.ID
		if m.Provider != "" {
			text = m.Provider + ", " + r.methodText(m, false)
		}
		if err := c.confirm(in.confirmation, "Remove %s from %s? This cannot be undone.", text, in.Entry.Label); err != nil {
			return err
		}
		removed, err := c.ReceivingMethods.Remove(c, in.Entry.ID, m.ID)
		if err != nil {
			return fmt.Errorf("remove the receiving method: %w", err)
		}
		c.say("Removed %s from %s.", text, in.Entry.Label)
		return c.done(removed)
	})
}

// findEntryMethod finds an entry and one of its receiving methods.
func findEntryMethod(c *call, entry, ref string) (api.ReceivingMethod, error) {
	e, err := entries().find(c, entry)
	if err != nil {
		return api.ReceivingMethod{}, err
	}
	return findMethod(c, &e, ref)
}

// findMethod finds a receiving method of an entry by id, provider or account name. A person who may change methods but not see them can use
// an id.
func findMethod(c *call, e *api.Entry, ref string) (api.ReceivingMethod, error) {
	if e.ReceivingMethods == nil {
		if strings.HasPrefix(ref, methodPrefix) && !term.IsShortID(ref) {
			return api.ReceivingMethod{ID: ref}, nil
		}
		return api.ReceivingMethod{}, errMethodsHidden
	}
	methods, err := c.ReceivingMethods.List(c, e.ID)
	if err != nil {
		return api.ReceivingMethod{}, fmt.Errorf("list the receiving methods: %w", err)
	}
	methods = slices.DeleteFunc(methods, func(m api.ReceivingMethod) bool {
		return m.ID != ref && (m.Status == api.MethodRetired || m.Status == api.MethodRejected)
	})
	list := make([]candidate[api.ReceivingMethod], len(methods))
	for i, m := range methods {
		list[i] = candidate[api.ReceivingMethod]{m, m.ID, []string{m.Provider, m.AccountName}, m.Provider + ", " + c.r.methodText(m, false)}
	}
	return pick(c, c.terminal, "receiving method", ref, list)
}

// methodName names a receiving method of the entry that is the first argument.
type methodName string

func (*methodName) completion(r *remote) cobra.CompletionFunc {
	return r.completeWith(func(c *call, args []string, _ string) ([]string, error) {
		e, err := entries().find(c, args[0])
		if err != nil || e.ReceivingMethods == nil {
			return nil, err
		}
		var words []string
		for _, m := range *e.ReceivingMethods {
			words = append(words, described(m.ID, m.Provider+", "+m.AccountName+", "+mask(r.terminal, m.AccountID)))
		}
		return words, nil
	})
}

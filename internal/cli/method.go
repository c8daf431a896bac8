package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/audit"
	"bursar/internal/cli/term"
)

func newMethods(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use: "receiving-methods", Aliases: []string{"receiving-method", "methods"},
		Short: "Manage the accounts on which entries receive money",
		Long: `Receiving methods are the accounts on which an entry of the directory receives
money. One of them is the default.

ENTRY is the id or label of an entry. METHOD is the id, provider or account
name of one of its methods. Account numbers are masked except for the last
four digits; --show-numbers, --json and --jq show them in full.`,
		Example: `  bursar receiving-methods list "Ada Lovelace"
  bursar receiving-methods add "Ada Lovelace" --provider first-harbour-bank --account-name "A. Lovelace" --account-id -
  bursar receiving-methods default "Ada Lovelace" first-harbour-bank`,
	}, newMethodList(r), newMethodAdd(r), newMethodUpdate(r), newMethodRemove(r), newMethodDefault(r))
}

func newMethodList(r *remote) *cobra.Command {
	var in struct {
		Entry   api.Entry
		Numbers bool `flag:"show-numbers" usage:"show account numbers in full"`
	}
	return newTable(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "list ENTRY", Aliases: []string{"ls"},
		Short: "List the receiving methods of an entry",
		Long: `List all receiving methods of an entry: also those that wait for a second
person, that cool, that were replaced and that were rejected. Only those whose
status is active are paid.`,
		Example: `  bursar receiving-methods list "Ada Lovelace"
  bursar receiving-methods list "Ada Lovelace" --show-numbers
  bursar receiving-methods list "Ada Lovelace" --jq '.[] | select(.is_default).account_id'`,
	}, func(c *call) error {
		if in.Entry.ReceivingMethods == nil {
			return errMethodsHidden
		}
		methods, err := c.ReceivingMethods.List(c, in.Entry.ID)
		if err != nil {
			return fmt.Errorf("list the receiving methods: %w", err)
		}
		rows := &term.Table{Columns: []string{"provider", "account name", "account", "default", "status", "id"},
			Empty: term.Printable(in.Entry.Label) + " has no receiving methods yet. Add one with 'bursar receiving-methods add'."}
		for _, m := range methods {
			mark := ""
			if m.IsDefault {
				mark = "yes"
			}
			rows.Add(m.Provider, m.AccountName, r.accountText(m, in.Numbers), mark, statusText(m), m.ID)
		}
		return c.writeTable(methods, rows)
	})
}

// readNumber reads an account number from standard input if its flag is -. That keeps the
// number out of the shell history and the process list.
func readNumber(ctx context.Context, t Terminal, flag, value string) (number string, err error) {
	if value != "-" {
		return value, nil
	}
	if t.Interactive() {
		number, err = t.Ask(ctx, "Account "+strings.TrimPrefix(flag, "account-")+": ")
	} else {
		var text []byte
		text, err = readSome("standard input", t.In)
		number = strings.TrimSpace(string(text))
	}
	switch {
	case err != nil:
		return "", err
	case number == "":
		return "", term.Usagef("--%s -: standard input has no account number", flag)
	case strings.ContainsAny(number, "\r\n"):
		return "", term.Usagef("--%s -: standard input has more than one line", flag)
	}
	return number, nil
}

func newMethodAdd(r *remote) *cobra.Command {
	var in struct {
		Entry       api.Entry
		Provider    string `flag:"provider" usage:"bank or service that holds the account" required:"true"`
		Name        string `flag:"account-name" usage:"name of the account holder" required:"true"`
		ID          string `flag:"account-id" usage:"account number, or - to read it from standard input" required:"true"`
		Institution string `flag:"institution" usage:"code of the bank or wallet, by which a rail pays, such as GXCHPHM2XXX"`
		IsDefault   bool   `flag:"default" usage:"make this the default method"`
	}
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use:   "add ENTRY --provider PROVIDER --account-name NAME --account-id ID",
		Short: "Add a receiving method to an entry",
		Long: `Add a receiving method to an entry and print its id. The first one becomes the
default, a later one only with --default. Where the workspace demands a second
person, the method waits until somebody else has approved it.

With '--account-id -' the command reads the number from standard input, or
asks for it, so that it stays out of your shell history.`,
		Example: `  bursar receiving-methods add "Ada Lovelace" --provider first-harbour-bank --account-name "A. Lovelace" --account-id -
  pass bank/ada | bursar receiving-methods add "Ada Lovelace" --provider wallet --account-name Ada --account-id - --default`,
	}, func(c *call) error {
		number, err := readNumber(c, c.terminal, "account-id", in.ID)
		if err != nil {
			return err
		}
		m, err := c.ReceivingMethods.Add(c, in.Entry.ID, client.ReceivingMethodParams{Provider: in.Provider, AccountName: in.Name,
			AccountID: number, IsDefault: in.IsDefault, InstitutionCode: notEmpty(in.Institution)})
		if err != nil {
			return fmt.Errorf("add the receiving method: %w", err)
		}
		c.say("Added a receiving method to %s: %s, %s.", in.Entry.Label, m.Provider, r.methodText(*m, false))
		return c.writeLine(m, m.ID)
	})
}

// mask masks all but the last digits of an account number, like the console.
func mask(t Terminal, account string) string {
	text := audit.Mask(account)
	if term.IsTerminal(t.Out) && !t.Unicode() {
		text = strings.Replace(text, "••••", "****", 1)
	}
	return text
}

func (r *remote) accountText(m api.ReceivingMethod, number bool) string {
	if number {
		return m.AccountID
	}
	return mask(r.terminal, m.AccountID)
}

// methodText describes a receiving method so that it is distinct from others of the same provider.
func (r *remote) methodText(m api.ReceivingMethod, number bool) string {
	text := m.AccountName + ", " + r.accountText(m, number)
	if m.IsDefault {
		text += ", default"
	}
	if status := statusText(m); status != api.MethodActive && status != "" {
		text += ", " + status
	}
	return text + " (" + m.ID + ")"
}

// statusText returns the status of a method, with what it waits for.
func statusText(m api.ReceivingMethod) string {
	switch {
	case m.Status == api.MethodPending:
		return "waits for approval " + m.ApprovalID
	case m.Status == api.MethodActive && m.PayableAt > time.Now().UnixMilli():
		return "active from " + localTime(m.PayableAt)
	case m.ApprovalID != "":
		return m.Status + ", as the default it waits for approval " + m.ApprovalID
	}
	return m.Status
}

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

package cli

import (
	"context"
	"fmt"
	"io"
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
	var out term.Format
	var numbers bool
	c := &cobra.Command{
		Use: "list ENTRY", Aliases: []string{"ls"},
		Short: "List the receiving methods of an entry",
		Long: `List all receiving methods of an entry: also those that wait for a second
person, that cool, that were replaced and that were rejected. Only those whose
status is active are paid.`,
		Example: `  bursar receiving-methods list "Ada Lovelace"
  bursar receiving-methods list "Ada Lovelace" --show-numbers
  bursar receiving-methods list "Ada Lovelace" --jq '.[] | select(.is_default).account_id'`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: r.completeEntry(false),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			e, err := r.findEntry(c.Context(), s, args[0])
			if err != nil {
				return err
			}
			if e.ReceivingMethods == nil {
				return errMethodsHidden
			}
			methods, err := s.ReceivingMethods.List(c.Context(), e.ID)
			if err != nil {
				return fmt.Errorf("list the receiving methods: %w", err)
			}
			rows := &term.Table{Columns: []string{"provider", "account name", "account", "default", "status", "id"}, Empty: term.Printable(e.Label) + " has no receiving methods yet. Add one with 'bursar receiving-methods add'."}
			for _, m := range methods {
				mark := ""
				if m.IsDefault {
					mark = "yes"
				}
				rows.Add(m.Provider, m.AccountName, r.accountText(m, numbers), mark, statusText(m), m.ID)
			}
			return out.WriteTable(r.terminal, methods, rows)
		},
	}
	c.Flags().BoolVar(&numbers, "show-numbers", false, "show account numbers in full")
	out.Bind(c, true)
	return r.inWorkspace(c)
}

// accountFlags contains the flags that describe a receiving method.
type accountFlags struct {
	provider, name, id string
	institution        string
	isDefault          bool
}

func (a *accountFlags) bind(c *cobra.Command) {
	c.Flags().StringVar(&a.provider, "provider", "", "bank or service that holds the account")
	c.Flags().StringVar(&a.name, "account-name", "", "name of the account holder")
	c.Flags().StringVar(&a.id, "account-id", "", "account number, or - to read it from standard input")
	c.Flags().StringVar(&a.institution, "institution", "", "code of the bank or wallet, by which a rail pays, such as GXCHPHM2XXX")
	c.Flags().BoolVar(&a.isDefault, "default", false, "make this the default method")
	for _, flag := range []string{"provider", "account-name", "account-id", "institution"} {
		_ = c.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions)
	}
}

func (a *accountFlags) read(ctx context.Context, t Terminal) (err error) {
	a.id, err = readNumber(ctx, t, "account-id", a.id)
	return err
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
	var out term.Format
	var account accountFlags
	c := &cobra.Command{
		Use:   "add ENTRY --provider PROVIDER --account-name NAME --account-id ID",
		Short: "Add a receiving method to an entry",
		Long: `Add a receiving method to an entry and print its id. The first one becomes the
default, a later one only with --default. Where the workspace demands a second
person, the method waits until somebody else has approved it.

With '--account-id -' the command reads the number from standard input, or
asks for it, so that it stays out of your shell history.`,
		Example: `  bursar receiving-methods add "Ada Lovelace" --provider first-harbour-bank --account-name "A. Lovelace" --account-id -
  pass bank/ada | bursar receiving-methods add "Ada Lovelace" --provider wallet --account-name Ada --account-id - --default`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: r.completeEntry(false),
		RunE: func(c *cobra.Command, args []string) error {
			if err := require(c, "provider", "account-name", "account-id"); err != nil {
				return err
			}
			if err := account.read(c.Context(), r.terminal); err != nil {
				return err
			}
			s, err := r.connect()
			if err != nil {
				return err
			}
			e, err := r.findEntry(c.Context(), s, args[0])
			if err != nil {
				return err
			}
			params := client.ReceivingMethodParams{Provider: account.provider, AccountName: account.name, AccountID: account.id, IsDefault: account.isDefault}
			if account.institution != "" {
				params.InstitutionCode = &account.institution
			}
			m, err := s.ReceivingMethods.Add(c.Context(), e.ID, params)
			if err != nil {
				return fmt.Errorf("add the receiving method: %w", err)
			}
			if err := r.say("Added a receiving method to %s: %s, %s.", e.Label, m.Provider, r.methodText(*m, false)); err != nil {
				return err
			}
			return out.Write(r.terminal, m, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, m.ID)
				return err
			})
		},
	}
	account.bind(c)
	out.Bind(c, false)
	return r.inWorkspace(c)
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

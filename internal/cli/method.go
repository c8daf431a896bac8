package cli

import (
	"context"
	"fmt"
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

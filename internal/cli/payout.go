package cli

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
	"bursar/internal/payout"
)

const payoutPrefix = "po_"

func newPayouts(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use: "payouts", Aliases: []string{"payout"},
		Short: "Pay people and organizations",
		Long: `A payout goes from an account of the workspace to a payee, over a rail. It is
a draft; or initiated, and waits for somebody's approval; or pending, with its
money reserved; or processing, at the rail; and in the end completed, failed
or cancelled, or reversed if the bank sent it back.

PAYOUT is the id of a payout, or your own id of it (--external-id). In the
sandbox no real money moves.`,
		Example: `  bursar payouts create --to "Ada Lovelace" --amount 1,500.00
  bursar payouts batch payroll.csv --from Payroll
  bursar payouts list --status failed --since 7d
  bursar payouts watch wages-2026-11-ada
  bursar payouts stop --reason "wrong amounts in the payroll file"`,
	}, newPayoutCreate(r), newPayoutBatch(r), newPayoutList(r), newPayoutShow(r), newPayoutApprove(r), newPayoutReject(r), newPayoutCancel(r),
		newPayoutRetry(r), newPayoutResolve(r), newPayoutPublish(r), newPayoutConfirm(r), newPayoutWatch(r), newPayoutReceipt(r), newPayoutStop(r), newPayoutResume(r))
}

// payouts finds payouts by id, shortened id or external id.
func payouts() *resource[api.Payout] {
	return &resource[api.Payout]{
		noun: "payout",
		direct: func(c *call, ref string) (api.Payout, bool, error) {
			id, err := payoutID(c, ref)
			if err != nil {
				return api.Payout{}, false, err
			}
			p, err := c.Payouts.Get(c, id)
			if err != nil {
				return api.Payout{}, false, fmt.Errorf("read the payout %s: %w", term.Printable(ref), err)
			}
			return *p, true, nil
		},
		words: func(c *call, _ []string, _ string) (words []string, err error) {
			w, err := c.here()
			if err != nil {
				return nil, err
			}
			page, err := c.Payouts.List(c, client.PayoutListParams{WorkspaceID: w.ID, Limit: 100})
			if err != nil {
				return nil, err
			}
			for _, p := range page.Items {
				words = append(words, described(p.ID, payoutText(&p)+", "+payoutProgress(&p)))
			}
			return words, nil
		},
	}
}

// payoutID returns the id of the payout with an id, a shortened one or an external id. The API cannot search for a part of an id, so it
// searches the newest payouts, which are the ones shown in tables.
func payoutID(c *call, ref string) (string, error) {
	if strings.HasPrefix(ref, payoutPrefix) && !term.IsShortID(ref) {
		return ref, nil
	}
	w, err := c.here()
	if err != nil {
		return "", err
	}
	want := client.PayoutListParams{WorkspaceID: w.ID}
	if !term.IsShortID(ref) {
		want.ExternalID = ref
	}
	seen := 0
	for p, err := range c.Payouts.All(c, want) {
		if err != nil {
			return "", fmt.Errorf("search the payouts: %w", err)
		}
		if want.ExternalID != "" || term.ShortIDMatches(ref, p.ID) {
			return p.ID, nil
		}
		if seen++; seen == maxCandidates {
			break
		}
	}
	return "", fmt.Errorf("no payout %q found", ref)
}

// payoutText returns the name of a payout within a sentence.
func payoutText(p *api.Payout) string {
	return api.FormatAmount(p.AmountCents, p.Currency) + " to " + p.SettlementAccount.BankAccountName
}

// payoutStatus returns the status of a payout for people, which shows that it was rejected. CSV and JSON have the status of the API.
func payoutStatus(p *api.Payout) string {
	if p.Rejected {
		return "rejected"
	}
	return p.Status
}

// payoutProgress returns payoutStatus with what blocks the payout.
func payoutProgress(p *api.Payout) string {
	switch {
	case p.Attention == payout.Recheck:
		return payoutStatus(p) + ", on hold"
	case p.Attention != "":
		return payoutStatus(p) + ", " + strings.ReplaceAll(p.Attention, "_", " ")
	case p.SendingStopped:
		return payoutStatus(p) + ", stopped"
	}
	return payoutStatus(p)
}

// attentionText returns why a payout needs attention, and what to do.
func attentionText(p *api.Payout) string {
	resolve := "then run 'bursar payouts resolve " + p.ID + "'"
	switch p.Attention {
	case payout.OutcomeUnknown:
		return "whether it was paid is not known (outcome_unknown). Ask the bank, " + resolve
	case payout.Contradicted:
		return "its records contradict each other (contradicted). Read its history, ask the bank, " + resolve
	case payout.Recheck:
		text := "a limit or a rule became stricter, or its request or approval came through a compromised API key (recheck). "
		if p.RecheckApprovalID != "" {
			return text + "It waits for approval " + p.RecheckApprovalID
		}
		return text + "Release it with 'bursar payouts confirm " + p.ID + "'"
	}
	return p.Attention
}

// payoutState is a state of payouts.
type payoutState string

func (*payoutState) words() []string { return api.PayoutStates() }

func newPayoutList(r *remote) *cobra.Command {
	var in struct {
		Status     payoutState  `flag:"status" usage:"only those in this state, such as pending or failed; cancelled has the rejected ones, too"`
		From       *api.Account `flag:"from" usage:"only those from this account"`
		To         *api.Entry   `flag:"to" usage:"only those to this entry of the directory"`
		Batch      string       `flag:"batch" usage:"only those of this batch"`
		Rail       railName     `flag:"rail" usage:"only those over this rail"`
		ExternalID string       `flag:"external-id" usage:"only the one with your own id"`
		Search     string       `flag:"search" usage:"only those to an account whose name begins with this"`
		period
	}
	return newList(r, inWorkspace, &in, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List payouts, newest first",
		Example: `  bursar payouts list
  bursar payouts list --status failed --since 7d
  bursar payouts list --to "Ada Lovelace" --all --csv`,
	}, list[api.Payout]{
		noun: "payouts",
		rows: func(c *call, limit int) (iter.Seq2[api.Payout, error], error) {
			want := client.PayoutListParams{WorkspaceID: c.workspace.ID, Status: string(in.Status), BatchID: in.Batch,
				Rail:       string(in.Rail),
				ExternalID: in.ExternalID, Query: in.Search, Since: in.period.from, Until: in.period.to, Limit: limit}
			if in.From != nil {
				want.WorkspaceID, want.SourceAccountID = in.From.WorkspaceID, in.From.ID
			}
			if in.To != nil {
				want.EntryID = in.To.ID
			}
			return c.Payouts.All(c, want), nil
		},
		table: &term.Table{Columns: []string{"created", "amount", "currency", "to", "rail", "status", "mode", "external id", "id"},
			Detail: []string{"currency", "external id", "mode", "rail"}, Empty: "There are no such payouts."},
		cells: func(c *call, p api.Payout) []string {
			status := payoutProgress(&p)
			if c.format.CSV {
				status = p.Status
			}
			return []string{c.time(p.CreatedAt), amountText(c.format, p.AmountCents, p.Currency), p.Currency,
				p.SettlementAccount.BankAccountName,
				p.SettlementRail, status, p.Mode, p.ExternalID, p.ID}
		},
	})
}

func newPayoutShow(r *remote) *cobra.Command {
	var in struct {
		Payout  api.Payout
		Numbers bool `flag:"show-numbers" usage:"show the account number in full"`
	}
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "show PAYOUT", Aliases: []string{"get"}, Short: "Show a payout and its whole story",
		Long: `Show a payout: where it goes, how it stands, how often it was sent and what
the rail said of it, and who did what to it. The story needs the permission to
read the audit log. The number of the account is masked; --show-numbers shows
it in full, which the audit log tells.`,
		Example: `  bursar payouts show wages-2026-11-ada
  bursar payouts show po_01jd3a1b2c3d4e5f6g7h8j9k0m --jq .failure`,
	}, func(c *call) error {
		p := &in.Payout
		if in.Numbers {
			var err error
			if p, err = c.Payouts.Reveal(c, p.ID); err != nil {
				return err
			}
		}
		return c.write(p, func(w io.Writer) error {
			story, err := collect(c.Audit.All(c, client.AuditListParams{WorkspaceID: p.WorkspaceID, ResourceID: p.ID}))
			if err != nil && !client.IsForbidden(err) {
				return fmt.Errorf("read the story of the payout: %w", err)
			}
			stopped := ""
			if p.SendingStopped {
				sending, err := c.Payouts.Sending(c, p.WorkspaceID)
				if err != nil {
					return fmt.Errorf("read why sending is stopped: %w", err)
				}
				if stopped = stopText(sending.Live); p.Mode == api.ModeSandbox {
					stopped = stopText(sending.Sandbox)
				}
			}
			return term.WritePairs(r.terminal, w, payoutPairs(p, stopped, story)...)
		})
	})
}

// payoutPairs returns the lines that show a payout. stopped is why it is not sent, or "". The story is newest first.
func payoutPairs(p *api.Payout, stopped string, story []api.AuditEntry) []string {
	because, sent, expected := "Cancelled because", localTime(p.SendAt), localTime(p.ExpectedAt)
	if p.SendingStopped || p.Attention == payout.Recheck {
		sent, expected = "", ""
	}
	if p.Rejected {
		because = "Rejected because"
	}
	pairs := []string{"Payout", p.ID, "Status", marked(p.Mode, payoutStatus(p)), "Amount", api.FormatAmount(p.AmountCents, p.Currency),
		"To", payeeText(p),
		"Rail", p.SettlementRail + ": " + p.RailReason}
	pairs = append(pairs, filled("External id", p.ExternalID, "Description", p.Description, "Batch", p.BatchID,
		"Approval", strings.TrimSpace(p.ApprovalReason+" "+p.ApprovalID), "Attention", attentionText(p), "Sending", stopped,
		because, p.CancelReason, "Sent at", sent, "Expected", expected, "Ended", localTime(p.EndedAt))...)
	if p.Failure != nil {
		pairs = append(pairs, "Failure", failureText(p.Failure))
	}
	for _, a := range p.Attempts {
		text := localTime(a.CreatedAt) + " " + a.State + " " + a.EndToEndID
		if a.Submission > 1 {
			text += fmt.Sprintf(", submission %d", a.Submission)
		}
		if a.Resolved != "" {
			text += ", resolved as " + strings.ReplaceAll(a.Resolved, "_", " ")
		}
		if words := strings.TrimSpace(a.Reason + " " + a.Message); words != "" {
			text += ": " + words
		}
		pairs = append(pairs, fmt.Sprintf("Attempt %d", a.Number), text)
	}
	for i := len(story) - 1; i >= 0; i-- {
		row := story[i]
		text := row.Description + " (" + row.ActorName + ")"
		if row.Outcome != client.OutcomeSuccess {
			text += ", " + row.Outcome
		}
		pairs = append(pairs, localTime(row.Timestamp), text)
	}
	return pairs
}

// payeeText describes the account that is paid, as far as it is known. After a restore it may be unknown.
func payeeText(p *api.Payout) string {
	to := p.SettlementAccount
	if p.BankName == "" {
		return to.BankAccountName
	}
	return to.BankAccountName + ", " + to.BankAccountNumber + ", " + p.BankName + " (" + to.BankCode + ")"
}

// failureText returns why a payout failed: the code, and the rail's own code and message.
func failureText(f *api.PayoutFailure) string {
	if words := strings.TrimSpace(f.Reason + " " + f.Message); words != "" {
		return string(f.Code) + ": " + words
	}
	return string(f.Code)
}

func newPayoutReceipt(r *remote) *cobra.Command {
	var in struct{ Payout api.Payout }
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "receipt PAYOUT", Short: "Print the receipt of a completed payout",
		Example: `  bursar payouts receipt wages-2026-11-ada
  bursar payouts receipt po_01jd3a1b2c3d4e5f6g7h8j9k0m --json`,
	}, func(c *call) error {
		got, err := c.Payouts.Receipt(c, in.Payout.ID)
		if err != nil {
			return fmt.Errorf("print the receipt: %w", err)
		}
		to := got.SettlementAccount
		pairs := []string{"Receipt of", got.PayoutID, "Amount", api.FormatAmount(got.AmountCents, got.Currency),
			"From", got.SourceName + " (" + got.Mode + ")", "To", to.BankAccountName, "Account", to.BankAccountNumber,
			"Bank", got.BankName + " (" + to.BankCode + ")", "Rail", got.SettlementRail,
			"Completed", localTime(got.CompletedAt), "End-to-end id", got.EndToEndID}
		more := filled("Reference", got.Reference, "External id", got.ExternalID, "Description", got.Description)
		return c.writePairs(got, append(pairs, more...)...)
	})
}

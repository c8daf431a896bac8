package cli

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

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

// findPayout finds a payout by id, shortened id or external id.
func (r *remote) findPayout(ctx context.Context, s *session, ref string) (*api.Payout, error) {
	id := ref
	if term.IsShortID(ref) || !strings.HasPrefix(ref, payoutPrefix) {
		w, err := r.currentWorkspace(ctx, s)
		if err != nil {
			return nil, err
		}
		if id, err = s.payoutID(ctx, w.ID, ref); err != nil {
			return nil, err
		}
	}
	p, err := s.Payouts.Get(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read the payout %s: %w", term.Printable(ref), err)
	}
	return p, nil
}

// payoutID returns the id of the payout with a shortened or an external id. The API cannot search for a part of an id, so it searches the
// newest payouts, which are the ones shown in tables.
func (s *session) payoutID(ctx context.Context, workspaceID, ref string) (string, error) {
	want := client.PayoutListParams{WorkspaceID: workspaceID}
	if !term.IsShortID(ref) {
		want.ExternalID = ref
	}
	seen := 0
	for p, err := range s.Payouts.All(ctx, want) {
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

func (r *remote) completePayouts() cobra.CompletionFunc {
	return r.completeHere(func(ctx context.Context, s *session, workspaceID string) ([]string, error) {
		page, err := s.Payouts.List(ctx, client.PayoutListParams{WorkspaceID: workspaceID, Limit: 100})
		if err != nil {
			return nil, err
		}
		var words []string
		for _, p := range page.Items {
			words = append(words, described(p.ID, payoutText(&p)+", "+payoutProgress(&p)))
		}
		return words, nil
	})
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

// completeRails completes a flag with the names of rails.
func (r *remote) completeRails() cobra.CompletionFunc {
	return r.complete(func(ctx context.Context, s *session) ([]string, error) { return s.railNames(ctx) })
}

func newPayoutList(r *remote) *cobra.Command {
	var span period
	var want client.PayoutListParams
	var from, to string
	c := listCommand(r.terminal, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List payouts, newest first",
		Example: `  bursar payouts list
  bursar payouts list --status failed --since 7d
  bursar payouts list --to "Ada Lovelace" --all --csv`,
	}, list[api.Payout]{
		noun: "payouts",
		rows: func(ctx context.Context, limit int) (iter.Seq2[api.Payout, error], error) {
			err := oneOf("status", want.Status, api.PayoutStates())
			if err == nil {
				want.Since, want.Until, err = span.read(time.Now())
			}
			if err != nil {
				return nil, err
			}
			s, w, err := r.connectWorkspace(ctx)
			if err != nil {
				return nil, err
			}
			want.WorkspaceID, want.Limit = w.ID, limit
			if from != "" {
				a, err := r.findAccount(ctx, s, from)
				if err != nil {
					return nil, err
				}
				want.WorkspaceID, want.SourceAccountID = a.WorkspaceID, a.ID
			}
			if to != "" {
				e, err := r.findEntry(ctx, s, to)
				if err != nil {
					return nil, err
				}
				want.EntryID = e.ID
			}
			return s.Payouts.All(ctx, want), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"created", "amount", "currency", "to", "rail", "status", "mode", "external id", "id"},
				Detail: []string{"currency", "external id", "mode", "rail"}, Empty: "There are no such payouts."}
		},
		cells: func(f term.Format, p api.Payout) []string {
			at, status := localTime(p.CreatedAt), payoutProgress(&p)
			if f.CSV {
				at, status = exactTime(p.CreatedAt), p.Status
			}
			return []string{at, amountText(f, p.AmountCents, p.Currency), p.Currency, p.SettlementAccount.BankAccountName, p.SettlementRail, status, p.Mode, p.ExternalID, p.ID}
		},
	})
	c.Flags().StringVar(&want.Status, "status", "", "only those in this state, such as pending or failed; cancelled has the rejected ones, too")
	c.Flags().StringVar(&from, "from", "", "only those from this account")
	c.Flags().StringVar(&to, "to", "", "only those to this entry of the directory")
	c.Flags().StringVar(&want.BatchID, "batch", "", "only those of this batch")
	c.Flags().StringVar(&want.Rail, "rail", "", "only those over this rail")
	c.Flags().StringVar(&want.ExternalID, "external-id", "", "only the one with your own id")
	c.Flags().StringVar(&want.Query, "search", "", "only those to an account whose name begins with this")
	span.bind(c)
	completeWords(c, "status", api.PayoutStates())
	completeFlag(c, "from", r.completeAccounts())
	completeFlag(c, "to", r.completeEntry(true))
	completeFlag(c, "rail", r.completeRails())
	for _, flag := range []string{"batch", "external-id", "search"} {
		completeFlag(c, flag, cobra.NoFileCompletions)
	}
	return r.inWorkspace(c)
}

func newPayoutShow(r *remote) *cobra.Command {
	var f term.Format
	var numbers bool
	c := &cobra.Command{
		Use: "show PAYOUT", Aliases: []string{"get"}, Short: "Show a payout and its whole story",
		Long: `Show a payout: where it goes, how it stands, how often it was sent and what
the rail said of it, and who did what to it. The story needs the permission to
read the audit log. The number of the account is masked; --show-numbers shows
it in full, which the audit log tells.`,
		Example: `  bursar payouts show wages-2026-11-ada
  bursar payouts show po_01jd3a1b2c3d4e5f6g7h8j9k0m --jq .failure`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: byPosition(r.completePayouts()),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			p, err := r.findPayout(c.Context(), s, args[0])
			if err == nil && numbers {
				p, err = s.Payouts.Reveal(c.Context(), p.ID)
			}
			if err != nil {
				return err
			}
			return f.Write(r.terminal, p, func(w io.Writer) error {
				story, err := collect(s.Audit.All(c.Context(), client.AuditListParams{WorkspaceID: p.WorkspaceID, ResourceID: p.ID}))
				if err != nil && !client.IsForbidden(err) {
					return fmt.Errorf("read the story of the payout: %w", err)
				}
				stopped := ""
				if p.SendingStopped {
					sending, err := s.Payouts.Sending(c.Context(), p.WorkspaceID)
					if err != nil {
						return fmt.Errorf("read why sending is stopped: %w", err)
					}
					if stopped = stopText(sending.Live); p.Mode == api.ModeSandbox {
						stopped = stopText(sending.Sandbox)
					}
				}
				return term.WritePairs(r.terminal, w, payoutPairs(p, stopped, story)...)
			})
		},
	}
	c.Flags().BoolVar(&numbers, "show-numbers", false, "show the account number in full")
	f.Bind(c, false)
	return r.inWorkspace(c)
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
	for _, more := range [][2]string{
		{"External id", p.ExternalID}, {"Description", p.Description}, {"Batch", p.BatchID}, {"Approval", strings.TrimSpace(p.ApprovalReason + " " + p.ApprovalID)},
		{"Attention", attentionText(p)}, {"Sending", stopped}, {because, p.CancelReason}, {"Sent at", sent}, {"Expected", expected}, {"Ended", localTime(p.EndedAt)},
	} {
		if more[1] != "" {
			pairs = append(pairs, more[0], more[1])
		}
	}
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
	var f term.Format
	c := &cobra.Command{
		Use: "receipt PAYOUT", Short: "Print the receipt of a completed payout",
		Example: `  bursar payouts receipt wages-2026-11-ada
  bursar payouts receipt po_01jd3a1b2c3d4e5f6g7h8j9k0m --json`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: byPosition(r.completePayouts()),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			p, err := r.findPayout(c.Context(), s, args[0])
			if err != nil {
				return err
			}
			got, err := s.Payouts.Receipt(c.Context(), p.ID)
			if err != nil {
				return fmt.Errorf("print the receipt: %w", err)
			}
			return f.Write(r.terminal, got, func(w io.Writer) error {
				to := got.SettlementAccount
				pairs := []string{"Receipt of", got.PayoutID, "Amount", api.FormatAmount(got.AmountCents, got.Currency), "From", got.SourceName + " (" + got.Mode + ")",
					"To", to.BankAccountName, "Account", to.BankAccountNumber, "Bank", got.BankName + " (" + to.BankCode + ")", "Rail", got.SettlementRail,
					"Completed", localTime(got.CompletedAt), "End-to-end id", got.EndToEndID}
				for _, more := range [][2]string{{"Reference", got.Reference}, {"External id", got.ExternalID}, {"Description", got.Description}} {
					if more[1] != "" {
						pairs = append(pairs, more[0], more[1])
					}
				}
				return term.WritePairs(r.terminal, w, pairs...)
			})
		},
	}
	f.Bind(c, false)
	return r.inWorkspace(c)
}

package cli

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
	"bursar/internal/payout/payfile"
)

func newPayoutBatch(r *remote) *cobra.Command {
	var in struct {
		File        string        `files:"true"`
		From        api.Account   `flag:"from" usage:"account that pays; default the only one of the workspace"`
		Description string        `flag:"description" usage:"what the batch is for"`
		Validate    bool          `flag:"validate" usage:"only rehearse, and pay nothing"`
		Wait        time.Duration `flag:"wait" usage:"how long to wait for a server that does not answer" default:"2m"`
	}
	return newTable(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "batch FILE|-", Aliases: []string{"pay-many"}, Short: "Pay everybody in a CSV or NDJSON file",
		Long: `Pay everybody in a file, or in standard input where FILE is "-". The first
line of a CSV file names its columns; a line of NDJSON has members of the same
names:

  amount               how much, such as 1500 or 1,500.00
  to                   PAYEE or PAYEE/METHOD, as --to of 'payouts create'
  receiving_method_id  or the id of a receiving method
  bank_code,           or an account that the directory need not know
  account_number,
  account_name
  rail                 rail that carries it; empty: by amount and time
  external_id          your own id of the payout
  description          what it is for

Before anything is paid, every line is rehearsed, and everything that speaks
against any of them is told at once; then nothing is paid. Otherwise they are
sent 1,000 at a time, and each such batch takes one approval where one is
needed.

The same file again pays nobody twice, so run it again after an interruption:
a line without an external_id gets one of the digest of the file and its
number. A file that was changed is another file, and one that was tried in the
sandbox can still be paid from a live account. Give every line an external_id
if you mean to mend a file and run it again.

The exit code is 1 where a payout was refused.`,
		Example: `  bursar payouts batch payroll.csv --from Payroll --validate
  bursar payouts batch payroll.csv --from Payroll --csv > paid.csv`,
	}, func(c *call) error {
		lines, err := readPayFile(c, in.File, in.From.Mode)
		if err != nil {
			return err
		}
		b := &payBatch{call: c, from: in.From, description: notEmpty(in.Description), lines: lines,
			retries: &retrier{wait: in.Wait, note: func(text string) { c.say("%s", text) }}}
		if err := b.rehearse(); err != nil {
			return err
		}
		if in.Validate {
			c.say("%s would be made. Nothing was paid.", counted(len(b.lines), "payout", "payouts"))
		} else {
			err = b.send()
		}
		return errors.Join(b.writeLines(), err, b.refusals())
	})
}

// payLine is a line of the file and its result.
type payLine struct {
	Line   int    `json:"line"`
	To     string `json:"to"`
	Amount int64  `json:"amount_cents"`
	api.PayoutBatchResult
	terms  api.PayoutTerms
	to     destination
	amount string // as in the file
}

// refuse adds an error to a line.
func (l *payLine) refuse(err error) {
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	if l.Error != nil {
		text = l.Error.Message + "; " + text
	}
	l.Result, l.Error = api.BatchRefused, &api.PayoutFault{Code: api.CodeValidation, Message: text}
}

// readPayFile reads a file and checks everything that needs no server.
func readPayFile(c *call, name, mode string) ([]*payLine, error) {
	in := io.Reader(newPatientReader(c, c.r.terminal.In))
	title := "standard input"
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in, title = file, name
	}
	read, err := payfile.ReadNamed(in, mode)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", title, err)
	}
	lines := make([]*payLine, len(read))
	for i, one := range read {
		cell := func(column string) *string { return notEmpty(one.Cells[column]) }
		l := &payLine{Line: one.Number, to: destination{
			To: payeeName(one.Cells[payfile.To]), BankCode: bankCode(one.Cells[payfile.BankCode]),
			Number: one.Cells[payfile.AccountNumber], Name: one.Cells[payfile.AccountName]}}
		l.terms = api.PayoutTerms{ExternalID: cell(payfile.ExternalID), Description: cell(payfile.Description), SettlementRail: cell(payfile.Rail), ReceivingMethodID: cell(payfile.MethodID)}
		l.ExternalID = one.Cells[payfile.ExternalID]
		l.To = strings.TrimSpace(string(l.to.To) + one.Cells[payfile.MethodID] + l.to.Name)
		lines[i] = l
		var problems []error
		if one.Fault != "" {
			problems = append(problems, errors.New(one.Fault))
		} else {
			if l.terms.ReceivingMethodID == nil {
				problems = append(problems, l.to.check())
			} else if l.to != (destination{}) {
				problems = append(problems, errors.New("either a receiving_method_id or another destination, not both"))
			}
			l.amount = one.Cells[payfile.Amount]
			_, _, err := parseAmount(l.amount, anyCurrency)
			problems = append(problems, err)
		}
		if err := errors.Join(problems...); err != nil {
			l.refuse(err)
		}
	}
	return lines, nil
}

// payBatch pays the lines of a file from an account.
type payBatch struct {
	*call
	from        api.Account
	description *string
	lines       []*payLine
	retries     *retrier
}

// open returns the lines without errors.
func (b *payBatch) open() (list []*payLine) {
	for _, l := range b.lines {
		if l.Result != api.BatchRefused {
			list = append(list, l)
		}
	}
	return list
}

// rehearse finds the payees and runs a dry run of the payouts, which returns all errors.
func (b *payBatch) rehearse() error {
	if err := b.findPayees(); err != nil {
		return err
	}
	if err := b.each("rehearsed", true); err != nil {
		return fmt.Errorf("rehearse the payouts: %w", err)
	}
	var total int64
	for _, l := range b.open() {
		if l.Result == api.BatchValid {
			total += l.Amount
		}
	}
	var problems []string
	for _, l := range b.lines {
		if l.Result == api.BatchRefused {
			problems = append(problems, fmt.Sprintf("line %d: %s: %s", l.Line, l.Error.Code, l.Error.Message))
		}
	}
	// The server checks 1,000 at a time, so the total is checked here.
	if total > b.from.AvailableBalance {
		problems = append(problems, fmt.Sprintf("the file pays %s, and %s has %s available", api.FormatAmount(total, b.from.Currency), b.from.Name,
			api.FormatAmount(b.from.AvailableBalance, b.from.Currency)))
	}
	if len(problems) == 0 {
		return nil
	}
	for _, problem := range problems {
		b.say("%s", problem)
	}
	return fmt.Errorf("%s. Nothing was paid", counted(len(problems), "problem", "problems"))
}

// findPayees finds the receiving methods of the payees. A payee who is in the file several times is searched once.
func (b *payBatch) findPayees() error {
	bar := term.NewProgress(b.r.terminal, "payees found", int64(len(b.lines)))
	defer bar.Close()
	known := map[string]string{}
	b.terminal.In = nil // an ambiguous name is an error of its line, not a question
	for i, l := range b.lines {
		bar.Set(i, int64(i), 0)
		if l.Error == nil { // otherwise the line already has an error
			var err error
			if l.Amount, err = amountIn(l.amount, b.from); err != nil {
				l.refuse(err)
			}
			l.terms.AmountCents = l.Amount
		}
		if l.terms.ReceivingMethodID != nil || l.to.check() != nil {
			continue
		}
		if id := known[string(l.to.To)]; id != "" {
			l.terms.ReceivingMethodID = &id
			continue
		}
		err := l.to.fill(b.call, &l.terms)
		var network *url.Error
		var refused *client.Error
		switch {
		case errors.As(err, &network), errors.As(err, &refused) && !client.IsNotFound(err):
			return fmt.Errorf("find the payee of line %d: %w", l.Line, err)
		case err != nil:
			l.refuse(err)
		case string(l.to.To) != "":
			known[string(l.to.To)] = *l.terms.ReceivingMethodID
		}
	}
	return nil
}

// each sends the lines without errors, or runs a dry run of them, and keeps the results.
func (b *payBatch) each(noun string, dry bool) error {
	list := b.open()
	bar := term.NewProgress(b.r.terminal, noun, int64(len(list)))
	defer bar.Close()
	b.retries.note = bar.Note
	done, refused := 0, 0
	for chunk := range slices.Chunk(list, api.MaxBatch) {
		p := client.PayoutBatchParams{SourceAccountID: b.from.ID, Currency: b.from.Currency, Description: b.description, DryRun: dry}
		for _, l := range chunk {
			p.Payouts = append(p.Payouts, l.terms)
		}
		var got *client.PayoutBatch
		err := b.retries.call(b, func() (err error) {
			got, err = b.Payouts.Batch(b, p)
			return err
		})
		if err != nil {
			return err
		}
		if len(got.Results) != len(chunk) {
			return fmt.Errorf("the server tells of %d payouts out of %d", len(got.Results), len(chunk))
		}
		for i, l := range chunk {
			external := l.ExternalID
			l.PayoutBatchResult = got.Results[i]
			l.ExternalID = external
			if l.Result == api.BatchRefused {
				refused++
			}
		}
		done += len(chunk)
		bar.Set(done, int64(done), refused)
		if got.ApprovalID != "" && !dry {
			bar.Note(fmt.Sprintf("%s of %s wait for approval %s: %s", counted(int(got.Payouts), "payout", "payouts"),
				api.FormatAmount(got.TotalCents, got.Currency), got.ApprovalID, got.ApprovalReason))
		}
	}
	return nil
}

func (b *payBatch) send() error {
	err := b.each("sent", false)
	created, existed, total := 0, 0, int64(0)
	for _, l := range b.lines {
		switch l.Result {
		case api.BatchCreated:
			created, total = created+1, total+l.Amount
		case api.BatchExisted:
			existed++
		}
	}
	text := fmt.Sprintf("Asked to pay %s in %s from %s", api.FormatAmount(total, b.from.Currency), counted(created, "payout", "payouts"), marked(b.from.Mode, b.from.Name))
	switch {
	case existed > 0 && created == 0:
		text = "Nothing is paid again: " + counted(existed, "payout was there already", "payouts were there already")
	case existed > 0:
		text += "; " + counted(existed, "payout was there already", "payouts were there already")
	}
	b.say("%s.", text)
	if err != nil {
		return fmt.Errorf("not all were sent: run the same file again, which pays nobody twice: %w", err)
	}
	return nil
}

func (b *payBatch) refusals() error {
	n := len(b.lines) - len(b.open())
	if n == 0 {
		return nil
	}
	return errors.New(counted(n, "payout was refused", "payouts were refused"))
}

// write writes the result of each line.
func (b *payBatch) writeLines() error {
	table := &term.Table{Columns: []string{"line", "result", "status", "amount", "to", "external id", "id", "error"}, Detail: []string{"external id"}}
	for _, l := range b.lines {
		problem := ""
		if l.Error != nil {
			problem = string(l.Error.Code) + ": " + l.Error.Message
		}
		table.Add(strconv.Itoa(l.Line), l.Result, l.Status, amountText(b.format, l.Amount, b.from.Currency), l.To, l.ExternalID,
			l.ID, problem)
	}
	return b.writeTable(b.lines, table)
}

package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
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
  to                   PAYEE or PAYEE/METHOD, as --to of 'payouts create';
                       a name that several entries have is refused
  receiving_method_id  or the id of a receiving method
  bank_code,           or an account that the directory need not know
  account_number,
  account_name
  rail                 rail that carries it; empty: by amount and time
  external_id          your own id of the payout
  description          what it is for

The server checks every line before anything is paid. If one is refused,
everything that is wrong with any line is printed, and nothing is paid.
Otherwise each 1,000 lines are a batch, which takes one approval where one is
needed. A file has at most 32 MiB and 100,000 payouts.

The same file again pays no one twice, so run it again after an interruption:
a line without an external_id gets one of the digest of the file and its
number. A file that was changed is another file, and one that was tried in the
sandbox can still be paid from a live account. Give every line an external_id
if you mean to mend a file and run it again.

The exit code is 1 where a payout was refused.`,
		Example: `  bursar payouts batch payroll.csv --from Payroll --validate
  bursar payouts batch payroll.csv --from Payroll --csv > paid.csv`,
	}, func(c *call) error {
		file, err := openImport(in.File, newPatientReader(c, c.r.terminal.In))
		if file.File != nil {
			defer file.Close()
		}
		if err != nil {
			return err
		}
		b := &payBatch{call: c, from: in.From, description: in.Description, file: file,
			retries: &retrier{wait: in.Wait, note: func(text string) { c.say("%s", text) }}}
		err = b.send(in.Validate)
		if refusesLines(err) {
			err = errors.Join(b.send(true), err) // it has all the lines, and what is wrong with each
		}
		if problems := b.problems(); len(problems) > 0 {
			for _, problem := range problems {
				c.say("%s", problem)
			}
			return fmt.Errorf("%s. Nothing was paid", counted(len(problems), "problem", "problems"))
		}
		if err != nil {
			return err
		}
		if in.Validate {
			c.say("%s would be made. Nothing was paid.", counted(len(b.lines), "payout", "payouts"))
		} else {
			b.saySent()
		}
		return errors.Join(b.writeLines(), b.refusals())
	})
}

// payBatch pays the lines of a file from an account.
type payBatch struct {
	*call
	from        api.Account
	description string
	file        *importSource
	retries     *retrier

	dry   bool // the lines are the results of a dry run
	lines []api.PayoutBatchResult
}

// send sends the file, and keeps the result of each line.
func (b *payBatch) send(dry bool) error {
	bar := term.NewProgress(b.r.terminal, "KiB sent", b.file.size)
	defer bar.Close()
	b.retries.note = bar.Note
	p := client.PayoutFileParams{SourceAccountID: b.from.ID, Currency: b.from.Currency, Description: b.description, DryRun: dry}
	ctx := client.WithIdempotencyKey(b, rand.Text())
	var batches []client.PayoutBatch
	err := b.retries.call(b, func() (err error) {
		batches, err = b.Payouts.BatchFile(ctx, p, &sending{ReadSeeker: b.file, show: func(sent int64) { bar.Set(int(sent>>10), sent, 0) }})
		return err
	})
	if err != nil {
		return b.explain(err)
	}
	b.dry, b.lines = dry, nil
	for _, one := range batches {
		b.lines = append(b.lines, one.Results...)
		if one.ApprovalID != "" {
			bar.Note(fmt.Sprintf("%s of %s wait for approval %s: %s", counted(int(one.Payouts), "payout", "payouts"),
				api.FormatAmount(one.TotalCents, one.Currency), one.ApprovalID, one.ApprovalReason))
		}
	}
	return nil
}

// explain adds to an error whether anything may have been paid.
func (b *payBatch) explain(err error) error {
	var refused *client.Error
	if !errors.As(err, &refused) || retryable(err) {
		return fmt.Errorf("perhaps not all were sent: run the same file again, which pays no one twice: %w", err)
	}
	for _, one := range refused.Fields() {
		if one.Field == "body" {
			return fmt.Errorf("read %s: %s", b.file.title, one.Constraint)
		}
	}
	return err
}

// refusesLines reports whether the server has refused lines of a file, and so all of it.
func refusesLines(err error) bool {
	var refused *client.Error
	if !errors.As(err, &refused) {
		return false
	}
	fields := refused.Fields()
	return len(fields) > 0 && strings.HasPrefix(fields[0].Field, "lines.")
}

// problems returns what a dry run found to be wrong. That the money does not suffice is one problem, however many lines it affects.
func (b *payBatch) problems() (list []string) {
	if !b.dry {
		return nil
	}
	var total int64
	for _, l := range b.lines {
		switch {
		case l.Result == api.BatchValid, l.Error != nil && l.Error.Code == api.CodeInsufficientFunds:
			total += l.AmountCents
		case l.Error != nil:
			list = append(list, fmt.Sprintf("line %d: %s: %s", l.Line, l.Error.Code, l.Error.Message))
		}
	}
	if total > b.from.AvailableBalance {
		list = append(list, fmt.Sprintf("the file pays %s, and %s has %s available", api.FormatAmount(total, b.from.Currency), b.from.Name,
			api.FormatAmount(b.from.AvailableBalance, b.from.Currency)))
	}
	return list
}

func (b *payBatch) saySent() {
	created, existed, total := 0, 0, int64(0)
	for _, l := range b.lines {
		switch l.Result {
		case api.BatchCreated:
			created, total = created+1, total+l.AmountCents
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
}

// refusals is an error if payouts were refused that could be made when the file was checked.
func (b *payBatch) refusals() error {
	refused := 0
	for _, l := range b.lines {
		if l.Result == api.BatchRefused {
			refused++
		}
	}
	if refused == 0 {
		return nil
	}
	return errors.New(counted(refused, "payout was refused", "payouts were refused"))
}

// writeLines writes the result of each line.
func (b *payBatch) writeLines() error {
	table := &term.Table{Columns: []string{"line", "result", "status", "amount", "to", "external id", "id", "error"}, Detail: []string{"external id"}}
	for _, l := range b.lines {
		problem := ""
		if l.Error != nil {
			problem = string(l.Error.Code) + ": " + l.Error.Message
		}
		table.Add(strconv.Itoa(l.Line), l.Result, l.Status, amountText(b.format, l.AmountCents, b.from.Currency), l.To, l.ExternalID,
			l.ID, problem)
	}
	return b.writeTable(b.lines, table)
}

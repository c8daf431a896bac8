package cli

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

const (
	pollInterval    = 2 * time.Second
	maxPollInterval = time.Minute // while the server cannot be reached

	// lookBack is how far before the newest entry each poll looks for others. An entry
	// gets its time when it is made but can be read only when it is committed, so it
	// may appear after a newer one.
	lookBack = 30 * time.Second
)

func newAuditTail(r *remote) *cobra.Command {
	var f term.Format
	var q auditQuery
	var n int
	var follow bool
	c := &cobra.Command{
		Use: "tail", Short: "Show the newest entries and follow the log",
		Long: "Show the newest entries of the audit log, the newest last. With --follow, new\nentries are shown as they appear, until you press Ctrl-C; if the server cannot\nbe reached, the command retries. A screen of fewer than 120 columns does not\nshow the actions. With --json each entry is a line, and --jq applies to each.\n" + auditFilters + ownActivity,
		Example: `  bursar audit tail
  bursar audit tail -f --outcome denied
  bursar audit tail -n 0 -f --json | while read -r entry; do notify "$entry"; done`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if n < 0 {
				return term.Usagef("--lines must be 0 or more, not %d", n)
			}
			a, err := q.source(c.Context(), r)
			if err != nil {
				return err
			}
			t := &tail{
				rows: func(ctx context.Context, from time.Time) iter.Seq2[api.AuditEntry, error] {
					return a.rows(ctx, from, 100)
				},
				print:  (&auditPrinter{terminal: r.terminal, format: f}).print,
				say:    func(text string) { fmt.Fprintln(r.terminal.Err, text) },
				every:  pollInterval,
				follow: follow,
			}
			return t.run(c.Context(), n)
		},
	}
	c.Flags().IntVarP(&n, "lines", "n", 20, "number of entries to start with")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "show new entries as they appear")
	q.bind(r, c)
	q.bindMine(c)
	f.Bind(c, false)
	return c
}

// tail shows the end of the log, each entry once.
type tail struct {
	rows   func(ctx context.Context, from time.Time) iter.Seq2[api.AuditEntry, error]
	print  func([]api.AuditEntry) error
	say    func(text string)
	every  time.Duration
	follow bool

	seen   map[string]int64 // the times of entries that a poll may return again, by id
	newest int64
}

func (t *tail) run(ctx context.Context, n int) error {
	t.seen = map[string]int64{}
	first, err := t.begin(ctx, n)
	switch {
	case err != nil && t.follow && ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("read the audit log: %w", err)
	case len(first) == 0 && n > 0 && !t.follow:
		t.say(noAuditEntries)
	}
	if err := t.print(first); err != nil || !t.follow {
		return err
	}
	return t.goOn(ctx)
}

// begin returns the newest n entries and remembers those that the first poll will
// return again.
func (t *tail) begin(ctx context.Context, n int) ([]api.AuditEntry, error) {
	var first []api.AuditEntry
	if n == 0 && !t.follow {
		return nil, nil
	}
	for row, err := range t.rows(ctx, time.Time{}) {
		if err != nil {
			return nil, err
		}
		t.newest = max(t.newest, row.Timestamp)
		met := t.follow && row.Timestamp >= t.newest-lookBack.Milliseconds()
		if len(first) >= n && !met {
			break
		}
		if met {
			t.seen[row.ID] = row.Timestamp
		}
		if len(first) < n {
			first = append(first, row)
		}
		if len(first) >= n && !t.follow {
			break
		}
	}
	slices.Reverse(first)
	return first, nil
}

// goOn polls until the context ends. While the server fails, it polls less and less
// often.
func (t *tail) goOn(ctx context.Context) error {
	wait, failing := t.every, false
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		fresh, err := t.poll(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !retryable(err):
			return fmt.Errorf("follow the audit log: %w", err)
		case err != nil:
			if !failing {
				t.say("Cannot read the log, retrying: " + explain(err))
			}
			wait, failing = min(2*wait, max(maxPollInterval, t.every)), true
			continue
		case failing:
			t.say("Reading the log again.")
		}
		wait, failing = t.every, false
		if err := t.print(fresh); err != nil {
			return err
		}
	}
}

// poll returns the entries that were not seen yet, the newest last. They count as seen
// only if all of them could be read.
func (t *tail) poll(ctx context.Context) ([]api.AuditEntry, error) {
	var from time.Time
	if t.newest > 0 {
		from = time.UnixMilli(t.newest).Add(-lookBack)
	}
	var fresh []api.AuditEntry
	for row, err := range t.rows(ctx, from) {
		if err != nil {
			return nil, err
		}
		if _, known := t.seen[row.ID]; !known {
			fresh = append(fresh, row)
		}
	}
	for _, row := range fresh {
		t.seen[row.ID] = row.Timestamp
		t.newest = max(t.newest, row.Timestamp)
	}
	for id, at := range t.seen {
		if at < t.newest-lookBack.Milliseconds() {
			delete(t.seen, id)
		}
	}
	slices.Reverse(fresh)
	return fresh, nil
}

// auditPrinter writes entries as they come, in columns of a fixed width.
type auditPrinter struct {
	terminal Terminal
	format   term.Format
	layout   *term.Layout
	brief    bool // leave out the action
}

// roomForActions is the width of a screen that shows actions beside descriptions that
// are not cut much. On a narrower one the description, which says more, comes first.
const roomForActions = 120

func (p *auditPrinter) print(rows []api.AuditEntry) error {
	encoder := term.NewEncoder(p.terminal.Out)
	for _, row := range rows {
		var err error
		switch {
		case p.format.JQ != nil:
			err = p.format.JQ.Write(p.terminal, row)
		case p.format.JSON:
			err = encoder.Encode(row)
		default:
			_, err = fmt.Fprintln(p.terminal.Out, p.line(rows, row))
		}
		if err != nil {
			return fmt.Errorf("write the entries: %w", err)
		}
	}
	return nil
}

// line writes an entry on one line. The columns are laid out for the first batch and
// for what entries usually need, because later entries are not known yet.
func (p *auditPrinter) line(batch []api.AuditEntry, row api.AuditEntry) string {
	if p.layout == nil {
		width := p.terminal.Width()
		p.brief = width > 0 && width < roomForActions
		usual := []string{localForm, strings.Repeat("x", 16), strings.Repeat("x", 26), strings.Repeat("x", 60), client.OutcomeSuccess}
		sample := [][]string{p.cells(usual)}
		for _, other := range batch {
			sample = append(sample, p.cells(auditCells(other)))
		}
		layout := p.terminal.Fit(sample)
		p.layout = &layout
	}
	cells := p.cells(auditCells(row))
	return p.layout.Line(cells, func(k int, cell string) string {
		if k == len(cells)-1 && row.Outcome != client.OutcomeSuccess && p.terminal.Colored(p.terminal.Out) {
			return "\x1b[31m" + cell + "\x1b[0m"
		}
		return cell
	})
}

// cells returns the cells of an entry as the screen shows them.
func (p *auditPrinter) cells(cells []string) []string {
	if p.brief {
		cells = slices.Delete(cells, auditAction, auditAction+1)
	}
	return p.terminal.Cells(cells...)
}

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
	// feedWait is how long the server waits for entries before it returns none.
	feedWait = 20 * time.Second
	// feedPause is the time between an empty response and the next request.
	feedPause = 200 * time.Millisecond

	retryInterval    = 2 * time.Second
	maxRetryInterval = time.Minute // while the server is unreachable
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
				newest: func(ctx context.Context) iter.Seq2[api.AuditEntry, error] { return a.rows(ctx, time.Time{}, 100) },
				all:    a.all,
				next: func(ctx context.Context, after int64) (*api.AuditFeed, error) {
					p := a.p
					p.Limit = 0
					return a.Audit.Feed(ctx, p, after, feedWait)
				},
				print:  (&auditPrinter{terminal: r.terminal, format: f}).print,
				say:    func(text string) { fmt.Fprintln(r.terminal.Err, text) },
				pause:  feedPause,
				retry:  retryInterval,
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
	newest func(ctx context.Context) iter.Seq2[api.AuditEntry, error] // the matching entries, newest first
	all    func(ctx context.Context) iter.Seq2[api.AuditEntry, error] // including entries that do not match
	next   func(ctx context.Context, after int64) (*api.AuditFeed, error)
	print  func([]api.AuditEntry) error
	say    func(text string)
	pause  time.Duration
	retry  time.Duration
	follow bool

	after int64           // the position of the last entry that was shown or skipped
	known map[string]bool // entries listed before they had a position, by id
}

func (t *tail) run(ctx context.Context, n int) error {
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

// begin returns the newest n entries and finds the position from which to follow the log. It remembers entries without a position, because
// the feed will return them.
func (t *tail) begin(ctx context.Context, n int) ([]api.AuditEntry, error) {
	t.known = map[string]bool{}
	if t.follow {
		for row, err := range t.all(ctx) {
			if err != nil {
				return nil, err
			}
			if t.after = row.Seq; t.after > 0 {
				break
			}
			t.known[row.ID] = true
		}
	}
	var first []api.AuditEntry
	if n == 0 {
		return nil, nil
	}
	for row, err := range t.newest(ctx) {
		if err != nil {
			return nil, err
		}
		if t.follow && (row.Seq == 0 || row.Seq > t.after) {
			t.known[row.ID] = true
		}
		if first = append(first, row); len(first) == n {
			break
		}
	}
	slices.Reverse(first)
	return first, nil
}

// goOn follows the log until the context ends. While the server fails, the interval between requests grows.
func (t *tail) goOn(ctx context.Context) error {
	failing := false
	for wait, retry := time.Duration(0), t.retry; ; {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		feed, err := t.next(ctx, t.after)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !retryable(err):
			return fmt.Errorf("follow the audit log: %w", err)
		case err != nil:
			if !failing {
				t.say("Cannot read the log, retrying: " + explain(err))
			}
			wait, failing = retry, true
			retry = min(2*retry, max(maxRetryInterval, t.retry))
			continue
		case failing:
			t.say("Reading the log again.")
		}
		wait, retry, failing = t.pause, t.retry, false
		if len(feed.Entries) > 0 || feed.HasMore {
			wait = 0
		}
		fresh := slices.DeleteFunc(feed.Entries, func(row api.AuditEntry) bool { return t.known[row.ID] })
		if err := t.print(fresh); err != nil {
			return err
		}
		t.after = feed.After
	}
}

// auditPrinter writes entries as they arrive, in columns of a fixed width.
type auditPrinter struct {
	terminal Terminal
	format   term.Format
	layout   *term.Layout
	brief    bool // omits the action
}

// roomForActions is the screen width at which actions fit beside readable descriptions. On a narrower screen the description comes first,
// because it is more informative.
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

// line formats an entry as one line. The layout is based on the first batch and on typical entries, because later entries are not known
// yet.
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

// cells returns the cells of an entry for the screen.
func (p *auditPrinter) cells(cells []string) []string {
	if p.brief {
		cells = slices.Delete(cells, auditAction, auditAction+1)
	}
	return p.terminal.Cells(cells...)
}

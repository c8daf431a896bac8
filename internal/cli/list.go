package cli

import (
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"bursar/client"
	"bursar/internal/cli/term"
)

// list contains what distinguishes one list command from another.
type list[T any] struct {
	noun  string                                                // name of the items in errors
	rows  func(c *call, limit int) (iter.Seq2[T, error], error) // limit is the size of a page
	table *term.Table                                           // the empty table, which rows may change
	cells func(c *call, item T) []string                        // one row of the table
}

// newList completes a command that lists something on the server. Its inputs are those of newCommand.
func newList[T any](r *remote, at place, in any, c *cobra.Command, l list[T]) *cobra.Command {
	return l.complete(r.terminal, c, bindInputs(r, at, in, c))
}

// newList completes a command that lists the items of the resource.
func (n *resource[T]) newList(r *remote, c *cobra.Command, table *term.Table, cells func(c *call, item T) []string) *cobra.Command {
	at := inWorkspace
	if n.anywhere {
		at = anywhere
	}
	return newList(r, at, nil, c, list[T]{noun: n.noun + "s", table: table, cells: cells,
		rows: func(c *call, limit int) (iter.Seq2[T, error], error) {
			return n.list(c, c.workspace.ID, client.ListParams{Limit: limit}), nil
		}})
}

// newLocalList completes a command that lists something without a server.
func newLocalList[T any](t Terminal, c *cobra.Command, l list[T]) *cobra.Command {
	c.Args = cobra.NoArgs
	return l.complete(t, c, func(c *cobra.Command, _ []string) (*call, error) { return &call{Context: c.Context()}, nil })
}

// complete adds the flags for how many rows to show and in which format.
func (l list[T]) complete(t Terminal, c *cobra.Command, start func(c *cobra.Command, args []string) (*call, error)) *cobra.Command {
	var format term.Format
	var rows span
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := rows.check(); err != nil {
			return err
		}
		on, err := start(c, args)
		if err != nil {
			return err
		}
		on.format = format
		all, err := l.rows(on, rows.page())
		if err != nil {
			return err
		}
		items, err := take(t, rows, all)
		if err != nil {
			return fmt.Errorf("list the %s: %w", l.noun, err)
		}
		for _, item := range items {
			l.table.Add(l.cells(on, item)...)
		}
		return format.WriteTable(t, items, l.table)
	}
	rows.bind(c)
	format.Bind(c, true)
	return c
}

// span is the number of rows of a list that the user requests.
type span struct {
	limit int
	all   bool
}

func (s *span) bind(c *cobra.Command) {
	c.Flags().IntVar(&s.limit, "limit", 50, "maximum number of rows")
	c.Flags().BoolVar(&s.all, "all", false, "show every row")
	c.MarkFlagsMutuallyExclusive("limit", "all")
}

func (s *span) check() error {
	if !s.all && s.limit < 1 {
		return term.Usagef("--limit must be 1 or more, not %d", s.limit)
	}
	return nil
}

// page returns the size of a page. One row above the limit shows whether there are more, without a second request.
func (s *span) page() int {
	if s.all || s.limit >= 100 {
		return 100
	}
	return s.limit + 1
}

// take reads the requested rows, and reports on standard error if there are more.
func take[T any](t Terminal, s span, all iter.Seq2[T, error]) ([]T, error) {
	rows := []T{}
	for row, err := range all {
		if err != nil {
			return nil, err
		}
		if !s.all && len(rows) == s.limit {
			fmt.Fprintf(t.Err, "Showing the first %d: use --limit N for more, or --all.\n", s.limit)
			break
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// collect reads a whole list.
func collect[T any](all iter.Seq2[T, error]) ([]T, error) {
	var rows []T
	for row, err := range all {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// errEnough stops a source of rows once enough were read.
var errEnough = errors.New("no more rows are wanted")

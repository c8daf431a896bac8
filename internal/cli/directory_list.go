package cli

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

// entryFilter selects the entries to list.
type entryFilter struct {
	kind, status, tag, words, sort string
}

func (f *entryFilter) bind(r *remote, c *cobra.Command) {
	c.Flags().StringVar(&f.kind, "type", "", "only entries of this type: person or organization")
	c.Flags().StringVar(&f.status, "status", "", "only entries with this status: active or inactive")
	c.Flags().StringVar(&f.tag, "tag", "", "only entries with this `tag`, by name or id")
	completeWords(c, "type", api.EntryTypes())
	completeWords(c, "status", api.EntryStatuses())
	completeFlag(c, "tag", r.completeTags())
	r.inWorkspace(c)
}

func newEntryList(r *remote) *cobra.Command {
	var f entryFilter
	c := r.listEntries(&cobra.Command{
		Use: "list", Aliases: []string{"ls"},
		Short: "List entries, newest first",
		Long: `List the entries of the workspace, newest first. Filters combine: an entry
must match all of them. --sort gives another order: created, updated or label,
each with a minus for the other way round. A search has no other order.

--search matches the start of words in the label and in the fields. An entry
must have all of the words.`,
		Example: `  bursar directory list
  bursar directory list --type organization --status active
  bursar directory list --tag speaker --search "love ada"
  bursar directory list --sort label
  bursar directory list --all --csv > people.csv
  bursar directory list --jq '.[].fields.email'`,
	}, &f)
	c.Flags().StringVarP(&f.words, "search", "q", "", "only entries with these `words`")
	bindSort(c, &f.sort)
	return c
}

func bindSort(c *cobra.Command, sort *string) {
	c.Flags().StringVar(sort, "sort", "", "`order`: created, updated or label, with a minus from the end (default -created)")
	completeWords(c, "sort", api.EntrySorts())
}

func newEntrySearch(r *remote) *cobra.Command {
	var f entryFilter
	c := r.listEntries(&cobra.Command{
		Use:   "search WORDS…",
		Short: "Find entries by words in their label and fields",
		Long: `Find the entries that have all of the words in their label or their fields.
Search matches the start of words and ignores case.`,
		Example: `  bursar directory search love
  bursar directory search ada example.com --type person
  bursar directory search +49 170 --json`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
	}, &f)
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		f.words = strings.Join(args, " ")
		return run(c, args)
	}
	return c
}

// listEntries completes a command that lists the entries of a filter.
func (r *remote) listEntries(c *cobra.Command, f *entryFilter) *cobra.Command {
	empty := ""
	listCommand(r.terminal, c, list[api.EntrySummary]{
		noun: "directory",
		rows: func(ctx context.Context, limit int) (iter.Seq2[api.EntrySummary, error], error) {
			if err := errors.Join(oneOf("type", f.kind, api.EntryTypes()), oneOf("status", f.status, api.EntryStatuses()), oneOf("sort", f.sort, api.EntrySorts())); err != nil {
				return nil, err
			}
			s, w, err := r.connectWorkspace(ctx)
			if err != nil {
				return nil, err
			}
			empty = "No matching entries in " + term.Printable(w.Name) + "."
			if *f == (entryFilter{sort: f.sort}) {
				empty = "The directory of " + term.Printable(w.Name) + " is empty. Add entries with 'bursar directory create' or 'bursar directory import'."
			}
			return s.Directory.All(ctx, client.DirectoryListParams{WorkspaceID: w.ID, Type: f.kind, Status: f.status, Tag: f.tag, Query: f.words, Sort: f.sort, Limit: limit}), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"label", "type", "status", "contact", "id"}, Empty: empty}
		},
		cells: func(_ term.Format, e api.EntrySummary) []string {
			return []string{e.Label, e.Type, e.Status, contact(e), e.ID}
		},
	})
	f.bind(r, c)
	return c
}

// contact returns the email address of an entry, or else its phone number.
func contact(e api.EntrySummary) string {
	return cmp.Or(e.Fields.Display(api.FieldEmail), e.Fields.Display(api.FieldPhone))
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

// entryFilter is which entries are listed, and how many.
type entryFilter struct {
	kind, status, tag, words string
	rows                     span
}

func (f *entryFilter) bind(r *remote, c *cobra.Command) {
	c.Flags().StringVar(&f.kind, "type", "", "only entries of this type: person or organization")
	c.Flags().StringVar(&f.status, "status", "", "only entries with this status: active or inactive")
	c.Flags().StringVar(&f.tag, "tag", "", "only entries that carry this `tag`, by name or id")
	f.rows.bind(c)
	completeWords(c, "type", api.EntryTypes())
	completeWords(c, "status", api.EntryStatuses())
	completeFlag(c, "tag", r.completeTags())
	r.inWorkspace(c)
}

func (f *entryFilter) check() error {
	return errors.Join(f.rows.check(), oneOf("type", f.kind, api.EntryTypes()), oneOf("status", f.status, api.EntryStatuses()))
}

func newEntryList(r *remote) *cobra.Command {
	var f entryFilter
	var out term.Format
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"},
		Short: "List entries, newest first",
		Long: `List the entries of the workspace, newest first. Filters narrow the list together.

--search takes words, or the beginnings of words, of the label and of the fields;
an entry must have all of them.`,
		Example: `  bursar directory list
  bursar directory list --type organization --status active
  bursar directory list --tag speaker --search "love ada"
  bursar directory list --all --csv > people.csv
  bursar directory list --jq '.[].fields.email'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return r.listEntries(c.Context(), f, out) },
	}
	c.Flags().StringVarP(&f.words, "search", "q", "", "only entries with these `words`")
	f.bind(r, c)
	out.Bind(c, true)
	return c
}

func newEntrySearch(r *remote) *cobra.Command {
	var f entryFilter
	var out term.Format
	c := &cobra.Command{
		Use:   "search WORDS…",
		Short: "Find entries by words of their label and fields",
		Long: `Find the entries that have all of the words in their label or their fields. The
beginning of a word is enough, and upper and lower case are the same.`,
		Example: `  bursar directory search love
  bursar directory search ada example.com --type person
  bursar directory search +49 170 --json`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			f.words = strings.Join(args, " ")
			return r.listEntries(c.Context(), f, out)
		},
	}
	f.bind(r, c)
	out.Bind(c, true)
	return c
}

func (r *remote) listEntries(ctx context.Context, f entryFilter, out term.Format) error {
	if err := f.check(); err != nil {
		return err
	}
	s, w, err := r.connectWorkspace(ctx)
	if err != nil {
		return err
	}
	want := client.DirectoryListParams{WorkspaceID: w.ID, Type: f.kind, Status: f.status, Tag: f.tag, Query: f.words, Limit: f.rows.page()}
	list, err := take(r.terminal, f.rows, s.Directory.All(ctx, want))
	if err != nil {
		return fmt.Errorf("list the directory of %s: %w", term.Printable(w.Name), err)
	}
	rows := &term.Table{Columns: []string{"label", "type", "status", "contact", "id"}, Empty: "No entries in " + term.Printable(w.Name) + " fit."}
	if want == (client.DirectoryListParams{WorkspaceID: w.ID, Limit: want.Limit}) {
		rows.Empty = "The directory of " + term.Printable(w.Name) + " is empty: see 'bursar directory create' and 'bursar directory import'."
	}
	for _, e := range list {
		rows.Add(e.Label, e.Type, e.Status, contact(e), e.ID)
	}
	return out.WriteTable(r.terminal, list, rows)
}

// contact is how somebody is reached: by email, else by phone.
func contact(e api.EntrySummary) string {
	return cmp.Or(e.Fields.Display(api.FieldEmail), e.Fields.Display(api.FieldPhone))
}

package cli

import (
	"cmp"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

// entryFilter selects the entries to list.
type entryFilter struct {
	Type   entryType   `flag:"type" usage:"only entries of this type: person or organization"`
	Status entryStatus `flag:"status" usage:"only entries with this status: active or inactive"`
	Tag    tagName     `flag:"tag" usage:"only entries with this {tag}, by name or id"`
}

// entryWords is the flag that selects entries by words.
type entryWords struct {
	Words string `flag:"search,q" usage:"only entries with these {words}"`
}

// entrySorting is the flag for the order of entries.
type entrySorting struct {
	Sort entrySort `flag:"sort" usage:"{order}: created, updated or label, with a minus from the end (default -created)"`
}

type (
	entryType   string
	entryStatus string
	entrySort   string
	tagName     string
)

func (*entryType) words() []string                         { return api.EntryTypes() }
func (*entryStatus) words() []string                       { return api.EntryStatuses() }
func (*entrySort) words() []string                         { return api.EntrySorts() }
func (*tagName) completion(r *remote) cobra.CompletionFunc { return tags().completion(r) }

func newEntryList(r *remote) *cobra.Command {
	var in struct {
		entryFilter
		entryWords
		entrySorting
	}
	return listEntries(r, &in, &cobra.Command{
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
	}, func() (entryFilter, string, entrySort) { return in.entryFilter, in.Words, in.Sort })
}

func newEntrySearch(r *remote) *cobra.Command {
	var in struct {
		Words []string
		entryFilter
	}
	return listEntries(r, &in, &cobra.Command{
		Use:   "search WORDS…",
		Short: "Find entries by words in their label and fields",
		Long: `Find the entries that have all of the words in their label or their fields.
Search matches the start of words and ignores case.`,
		Example: `  bursar directory search love
  bursar directory search ada example.com --type person
  bursar directory search +49 170 --json`,
	}, func() (entryFilter, string, entrySort) { return in.entryFilter, strings.Join(in.Words, " "), "" })
}

// listEntries completes a command that lists the entries of a query.
func listEntries(r *remote, in any, c *cobra.Command, query func() (f entryFilter, words string, sort entrySort)) *cobra.Command {
	table := &term.Table{Columns: []string{"label", "type", "status", "contact", "id"}}
	return newList(r, inWorkspace, in, c, list[api.EntrySummary]{
		noun: "directory",
		rows: func(c *call, limit int) (iter.Seq2[api.EntrySummary, error], error) {
			f, words, sort := query()
			name := term.Printable(c.workspace.Name)
			table.Empty = "No matching entries in " + name + "."
			if f == (entryFilter{}) && words == "" {
				table.Empty = "The directory of " + name + " is empty. Add entries with 'bursar directory create' or 'bursar directory import'."
			}
			return c.Directory.All(c, client.DirectoryListParams{WorkspaceID: c.workspace.ID, Type: string(f.Type),
				Status: string(f.Status),
				Tag:    string(f.Tag), Query: words, Sort: string(sort), Limit: limit}), nil
		},
		table: table,
		cells: func(_ *call, e api.EntrySummary) []string {
			return []string{e.Label, e.Type, e.Status, contact(e), e.ID}
		},
	})
}

// contact returns the email address of an entry, or else its phone number.
func contact(e api.EntrySummary) string {
	return cmp.Or(e.Fields.Display(api.FieldEmail), e.Fields.Display(api.FieldPhone))
}

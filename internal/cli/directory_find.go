package cli

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

const (
	entryPrefix = "entry_"
	// maxCandidates is the number of entries searched for a label.
	maxCandidates = 2000
)

// entries finds entries by id or label.
func entries() *resource[api.Entry] {
	return &resource[api.Entry]{
		noun: "entry",
		item: func(e api.Entry) item { return item{id: e.ID} },
		direct: func(c *call, ref string) (api.Entry, bool, error) {
			id, err := entryID(c, ref)
			if err != nil {
				return api.Entry{}, false, err
			}
			e, err := c.Directory.Get(c, id)
			if err != nil {
				return api.Entry{}, false, fmt.Errorf("read the entry %s: %w", term.Printable(id), err)
			}
			return *e, true, nil
		},
		words: completeEntries,
	}
}

// entryID returns the id of the entry with an id, a shortened one or a label.
func entryID(c *call, ref string) (string, error) {
	if strings.HasPrefix(ref, entryPrefix) && !term.IsShortID(ref) {
		return ref, nil
	}
	w, err := c.here()
	if err != nil {
		return "", err
	}
	find := labelled
	if term.IsShortID(ref) {
		find = shortened
	}
	all, err := find(c, w, ref)
	if err != nil {
		return "", err
	}
	return pick(c, c.terminal, "entry", ref, all)
}

// labelled returns the entries with a label, ignoring case.
func labelled(c *call, w api.Workspace, label string) ([]candidate[string], error) {
	words := searchWords(label)
	if words == "" {
		return nil, fmt.Errorf("%q has no letter to search for: use the id of the entry", label)
	}
	var found []candidate[string]
	seen := 0
	for e, err := range c.Directory.All(c, client.DirectoryListParams{WorkspaceID: w.ID, Query: words}) {
		if err != nil {
			return nil, fmt.Errorf("search the directory of %s: %w", term.Printable(w.Name), err)
		}
		if seen++; seen > maxCandidates {
			return nil, fmt.Errorf("too many entries contain the words of %q: use the id of the entry", label)
		}
		if strings.EqualFold(e.Label, label) {
			found = append(found, entryCandidate(e))
		}
	}
	return found, nil
}

// shortened returns the entries with a shortened id. The API cannot search for a part of an id, so it searches the newest entries, which
// are the ones shown in tables.
func shortened(c *call, w api.Workspace, ref string) ([]candidate[string], error) {
	var found []candidate[string]
	seen := 0
	for e, err := range c.Directory.All(c, client.DirectoryListParams{WorkspaceID: w.ID}) {
		if err != nil {
			return nil, fmt.Errorf("search the directory of %s: %w", term.Printable(w.Name), err)
		}
		if seen++; seen > maxCandidates {
			break
		}
		if term.ShortIDMatches(ref, e.ID) {
			found = append(found, entryCandidate(e))
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s is a shortened id, and none of the newest %d entries fits: use the whole id, which --wide shows", ref, maxCandidates)
	}
	return found, nil
}

func entryCandidate(e api.EntrySummary) candidate[string] {
	text := []string{e.Label, e.Type, e.Status, contact(e), e.ID}
	text = slices.DeleteFunc(text, func(part string) bool { return part == "" })
	return candidate[string]{e.ID, e.ID, []string{e.Label}, term.Printable(strings.Join(text, "  "))}
}

// searchWords returns the first words of a text, up to the maximum of a search.
func searchWords(text string) string {
	const most, longest, letters = 8, 200, 48
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	kept := ""
	for _, word := range words[:min(len(words), most)] {
		if runes := []rune(word); len(runes) > letters {
			word = string(runes[:letters]) // search matches the start of a word
		}
		if len(kept)+1+len(word) > longest {
			break
		}
		kept = strings.TrimSpace(kept + " " + word)
	}
	return kept
}

// completeEntries completes with the ids of entries or with the labels that begin with the word.
func completeEntries(c *call, args []string, begun string) (words []string, err error) {
	w, err := c.here()
	if err != nil {
		return nil, err
	}
	byID := strings.HasPrefix(entryPrefix, begun) || strings.HasPrefix(begun, entryPrefix)
	want := client.DirectoryListParams{WorkspaceID: w.ID, Limit: 100}
	if !byID {
		want.Query = searchWords(begun)
	}
	page, err := c.Directory.List(c, want)
	if err != nil {
		return nil, err
	}
	for _, e := range page.Items {
		word, about := e.ID, e.Label
		if !byID {
			word, about = e.Label, e.Type+" "+e.ID
		}
		if strings.HasPrefix(word, begun) && !slices.Contains(args, e.ID) && word == term.Printable(word) {
			words = append(words, described(word, about))
		}
	}
	return words, nil
}

// deletedEntries returns the entries that were deleted but not yet purged. It reads the audit log, because the directory does not list
// them.
func deletedEntries(c *call) ([]candidate[string], error) {
	const kept = 30 * 24 * time.Hour
	var found []candidate[string]
	w, err := c.here()
	if err != nil {
		return nil, err
	}
	want := client.AuditListParams{WorkspaceID: w.ID, Action: "directory.entry.deleted", Outcome: client.OutcomeSuccess,
		From: time.Now().Add(-kept)}
	for row, err := range c.Audit.All(c, want) {
		if err != nil {
			return nil, fmt.Errorf("search the audit log for deleted entries: %w", err)
		}
		if len(found) == maxCandidates {
			break
		}
		if !slices.ContainsFunc(found, func(c candidate[string]) bool { return c.id == row.ResourceID }) {
			label := labelOf(row.Description)
			found = append(found, candidate[string]{row.ResourceID, row.ResourceID, []string{label}, term.Printable(cmp.Or(label, row.Description) + "  deleted " + localTime(row.Timestamp) + "  " + row.ResourceID)})
		}
	}
	return found, nil
}

// labelOf returns the label from a description such as "Deleted person Ada Lovelace".
func labelOf(description string) string {
	_, rest, _ := strings.Cut(description, " ")
	_, label, _ := strings.Cut(rest, " ")
	return label
}

// entryKind selects entries by what they are.
type entryKind struct {
	Type   entryType   `flag:"type" usage:"only entries of this type: person or organization"`
	Status entryStatus `flag:"status" usage:"only entries with this status: active or inactive"`
}

// entryFilter selects the entries to list.
type entryFilter struct {
	entryKind
	Tag tagName `flag:"tag" usage:"only entries with this {tag}, by name or id"`
}

func (f entryFilter) params(c *call, words string, sort entrySort) client.DirectoryListParams {
	return client.DirectoryListParams{WorkspaceID: c.workspace.ID, Type: string(f.Type), Status: string(f.Status), Tag: string(f.Tag),
		Query: words, Sort: string(sort)}
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
			p := f.params(c, words, sort)
			p.Limit = limit
			return c.Directory.All(c, p), nil
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

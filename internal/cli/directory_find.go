package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

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

package cli

import (
	"cmp"
	"context"
	"fmt"
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

// findEntry finds an entry by id or label.
func (r *remote) findEntry(ctx context.Context, s *session, ref string) (*api.Entry, error) {
	if strings.HasPrefix(ref, entryPrefix) && !term.IsShortID(ref) {
		found, err := s.Directory.Get(ctx, ref)
		if err != nil {
			return nil, fmt.Errorf("read the entry %s: %w", term.Printable(ref), err)
		}
		return found, nil
	}
	w, err := r.currentWorkspace(ctx, s)
	if err != nil {
		return nil, err
	}
	find := s.labelled
	if term.IsShortID(ref) {
		find = s.shortened
	}
	all, err := find(ctx, w, ref)
	if err != nil {
		return nil, err
	}
	id, err := pick(ctx, s.terminal, "entry", ref, all)
	if err != nil {
		return nil, err
	}
	found, err := s.Directory.Get(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read the entry %s: %w", id, err)
	}
	return found, nil
}

// labelled returns the entries with a label, ignoring case.
func (s *session) labelled(ctx context.Context, w api.Workspace, label string) ([]candidate[string], error) {
	words := searchWords(label)
	if words == "" {
		return nil, fmt.Errorf("%q has no letter to search for: use the id of the entry", label)
	}
	var found []candidate[string]
	seen := 0
	for e, err := range s.Directory.All(ctx, client.DirectoryListParams{WorkspaceID: w.ID, Query: words}) {
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
func (s *session) shortened(ctx context.Context, w api.Workspace, ref string) ([]candidate[string], error) {
	var found []candidate[string]
	seen := 0
	for e, err := range s.Directory.All(ctx, client.DirectoryListParams{WorkspaceID: w.ID}) {
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

// findEntries finds entries by ids and labels, without duplicates.
func (r *remote) findEntries(ctx context.Context, s *session, refs []string) ([]*api.Entry, error) {
	var found []*api.Entry
	for _, ref := range refs {
		e, err := r.findEntry(ctx, s, ref)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(found, func(other *api.Entry) bool { return other.ID == e.ID }) {
			found = append(found, e)
		}
	}
	return found, nil
}

// completeEntry completes the first argument, or all arguments, with the ids of entries or with the labels that begin with the word.
func (r *remote) completeEntry(several bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && !several {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		byID := strings.HasPrefix(entryPrefix, begun) || strings.HasPrefix(begun, entryPrefix)
		return r.completeHere(func(ctx context.Context, s *session, workspaceID string) ([]string, error) {
			want := client.DirectoryListParams{WorkspaceID: workspaceID, Limit: 100}
			if !byID {
				want.Query = searchWords(begun)
			}
			page, err := s.Directory.List(ctx, want)
			if err != nil {
				return nil, err
			}
			var words []string
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
		})(c, args, begun)
	}
}

// deletedEntries returns the entries that were deleted but not yet purged. It reads the audit log, because the directory does not list
// them.
func (s *session) deletedEntries(ctx context.Context, workspaceID string) ([]candidate[string], error) {
	const kept = 30 * 24 * time.Hour
	var found []candidate[string]
	want := client.AuditListParams{WorkspaceID: workspaceID, Action: "directory.entry.deleted", Outcome: client.OutcomeSuccess, From: time.Now().Add(-kept)}
	for row, err := range s.Audit.All(ctx, want) {
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

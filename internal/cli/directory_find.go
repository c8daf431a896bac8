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
	// maxCandidates bounds how many entries are looked through for a label.
	maxCandidates = 2000
)

// findEntry is the entry that an id or a label means.
func (r *remote) findEntry(ctx context.Context, s *session, ref string) (*api.Entry, error) {
	if strings.HasPrefix(ref, entryPrefix) {
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
	all, err := s.labelled(ctx, w, ref)
	if err != nil {
		return nil, err
	}
	id, err := pick(s.terminal, "entry", ref, all)
	if err != nil {
		return nil, err
	}
	found, err := s.Directory.Get(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read the entry %s: %w", id, err)
	}
	return found, nil
}

// labelled are the entries whose label is a text, whatever its case.
func (s *session) labelled(ctx context.Context, w api.Workspace, label string) ([]candidate[string], error) {
	words := searchWords(label)
	if words == "" {
		return nil, fmt.Errorf("%q has no letter to search for: give the id of the entry", label)
	}
	var found []candidate[string]
	seen := 0
	for e, err := range s.Directory.All(ctx, client.DirectoryListParams{WorkspaceID: w.ID, Query: words}) {
		if err != nil {
			return nil, fmt.Errorf("search the directory of %s: %w", term.Printable(w.Name), err)
		}
		if seen++; seen > maxCandidates {
			return nil, fmt.Errorf("too many entries have the words of %q: give the id of the entry", label)
		}
		if strings.EqualFold(e.Label, label) {
			text := []string{e.Label, e.Type, e.Status, contact(e), e.ID}
			text = slices.DeleteFunc(text, func(part string) bool { return part == "" })
			found = append(found, candidate[string]{e.ID, e.ID, []string{e.Label}, term.Printable(strings.Join(text, "  "))})
		}
	}
	return found, nil
}

// searchWords are the first words of a text, as many as a search takes.
func searchWords(text string) string {
	const most, longest, letters = 8, 200, 48
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	kept := ""
	for _, word := range words[:min(len(words), most)] {
		if runes := []rune(word); len(runes) > letters {
			word = string(runes[:letters]) // the beginning of a word finds it
		}
		if len(kept)+1+len(word) > longest {
			break
		}
		kept = strings.TrimSpace(kept + " " + word)
	}
	return kept
}

// findEntries are the entries that several ids and labels mean, each once.
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

// completeEntry completes the first argument, or all arguments, with the ids of
// entries, or with the labels that begin as the word does.
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

// deletedEntries are the entries that were deleted and not yet purged, from the
// audit log: the directory does not show them any more.
func (s *session) deletedEntries(ctx context.Context, workspaceID string) ([]candidate[string], error) {
	const kept = 30 * 24 * time.Hour
	var found []candidate[string]
	want := client.AuditListParams{WorkspaceID: workspaceID, Action: "directory.entry.deleted", Outcome: client.OutcomeSuccess, From: time.Now().Add(-kept)}
	for row, err := range s.Audit.All(ctx, want) {
		if err != nil {
			return nil, fmt.Errorf("look for deleted entries in the audit log: %w", err)
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

// labelOf is the label in "Deleted person Ada Lovelace".
func labelOf(description string) string {
	_, rest, _ := strings.Cut(description, " ")
	_, label, _ := strings.Cut(rest, " ")
	return label
}

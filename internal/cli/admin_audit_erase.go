package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"bursar/internal/auditlog"
	"bursar/internal/cli/term"
)

func newAuditErase(t Terminal) *cobra.Command {
	var id string
	var yes bool
	c := adminCommand{
		use: "erase", short: "Erase what is personal in entries of the audit log",
		long: `Erase what is personal in an entry of the audit log (aud_…): names, addresses,
the description and what was changed. With the id of a directory entry
(entry_…), erase it in all audit entries about it and about its receiving
methods, also if the entry was purged.

What happened and when, the ids and a digest stay, so that the log can still
be verified. For each erased entry the log gets an entry audit.erased. It
cannot be undone. Backups keep what they have.`,
		example: `  bursar admin audit erase --entry aud_01jd2m8k3vq7w5x9y0z1a2b3c4
  bursar admin audit erase --entry entry_01jd2q4h6k8m0n2p4r6s8t0v2w --yes --json`,
		required: []string{"entry"},
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			ids, err := toErase(c.Context(), s, id)
			if err != nil {
				return nil, "", err
			}
			question := fmt.Sprintf("Erase what is personal in %s (%s)? It cannot be undone.", counted(len(ids), "audit entry", "audit entries"), id)
			if err := t.Confirm(c.Context(), question, yes); err != nil {
				return nil, "", err
			}
			if err := eraseAll(c.Context(), t, s, ids); err != nil {
				return nil, "", err
			}
			return map[string]any{"erased": ids}, "Erased what was personal in " + counted(len(ids), "audit entry", "audit entries"), nil
		},
	}.command(t)
	c.Flags().StringVar(&id, "entry", "", "id of an audit entry (aud_…) or of a directory entry (entry_…)")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

// toErase returns the ids of the audit entries that an id selects.
func toErase(ctx context.Context, s openedStore, id string) ([]string, error) {
	switch {
	case strings.HasPrefix(id, "aud_"):
		return []string{id}, nil
	case !strings.HasPrefix(id, entryPrefix):
		return nil, term.Usagef("--entry must be the id of an audit entry (aud_…) or of a directory entry (entry_…), not %q", id)
	}
	ids, erased, err := auditlog.RowsAbout(ctx, s.db, id)
	switch {
	case err != nil:
		return nil, fmt.Errorf("find the audit entries about %s: %w", id, err)
	case len(ids) == 0 && erased > 0:
		return nil, fmt.Errorf("the audit entries about %s are erased already", id)
	case len(ids) == 0:
		return nil, fmt.Errorf("the audit log has no entry about %s", id)
	}
	return ids, nil
}

// eraseAll erases audit entries one by one, so that an interrupted command keeps its progress. It then removes them from the files of the
// store.
func eraseAll(ctx context.Context, t Terminal, s openedStore, ids []string) error {
	progress := term.NewProgress(t, "audit entries", int64(len(ids)))
	defer progress.Close()
	for i, id := range ids {
		err := auditlog.Erase(ctx, s.db, operator(), id)
		if err != nil && !(len(ids) > 1 && errors.Is(err, auditlog.ErrErased)) { // by someone else meanwhile
			return fmt.Errorf("erase the audit entry %s: %w", id, err)
		}
		progress.Set(i+1, int64(i+1), 0)
	}
	if err := s.db.Shred(ctx); err != nil {
		return fmt.Errorf("the audit entries are erased, but the files of the store may still have what was in them; docs/operating.md says what to do: %w", err)
	}
	return nil
}

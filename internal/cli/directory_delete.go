package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/internal/cli/term"
)

func newEntryDelete(r *remote) *cobra.Command {
	var out term.Format
	c := &cobra.Command{
		Use: "delete ENTRY…", Aliases: []string{"rm"},
		Short: "Delete entries",
		Long: `Delete entries. They disappear from all lists immediately and can be restored
for 30 days. If one of them cannot be found, none is deleted. With --json,
each deleted entry is a line.`,
		Example: `  bursar directory delete "Ada Lovelace"
  bursar directory delete entry_01jd2q4h6k8m0n2p4r6s8t0v2w entry_01jd2q4h6k8m0n2p4r6s8t0v2x
  bursar directory list --tag duplicate --all --jq '.[].id' | xargs bursar directory delete`,
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: r.completeEntry(true),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			list, err := r.findEntries(c.Context(), s, args)
			if err != nil {
				return err
			}
			for _, e := range list {
				deleted, err := s.Directory.Delete(c.Context(), e.ID)
				if err != nil {
					return fmt.Errorf("delete %s: %w", term.Printable(named(e)), err)
				}
				if err := r.say("Deleted %s. You can restore it within 30 days with 'bursar directory restore %s'.", named(e), e.ID); err != nil {
					return err
				}
				if err := out.Write(r.terminal, deleted, nothing); err != nil {
					return err
				}
			}
			return nil
		},
	}
	out.Bind(c, false)
	return r.inWorkspace(c)
}

func newEntryRestore(r *remote) *cobra.Command {
	var out term.Format
	c := &cobra.Command{
		Use:   "restore ENTRY…",
		Short: "Restore deleted entries",
		Long: `Restore entries that were deleted in the last 30 days, with their tags and
receiving methods. To restore by label you need to be able to read the audit
log, in which deleted entries are found. With --json, each restored entry is a
line.`,
		Example: `  bursar directory restore entry_01jd2q4h6k8m0n2p4r6s8t0v2w
  bursar directory restore "Ada Lovelace"
  bursar audit list --action directory.entry.deleted`,
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: r.completeDeleted,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			ids, err := r.findDeleted(c.Context(), s, args)
			if err != nil {
				return err
			}
			for _, id := range ids {
				restored, err := s.Directory.Restore(c.Context(), id)
				if err != nil {
					return fmt.Errorf("restore %s: %w", term.Printable(id), err)
				}
				called := id
				if e, err := s.Directory.Get(c.Context(), id); err == nil {
					called = named(e)
				}
				if err := r.say("Restored %s.", called); err != nil {
					return err
				}
				if err := out.Write(r.terminal, restored, nothing); err != nil {
					return err
				}
			}
			return nil
		},
	}
	out.Bind(c, false)
	return r.inWorkspace(c)
}

// findDeleted returns the ids of deleted entries without duplicates.
func (r *remote) findDeleted(ctx context.Context, s *session, refs []string) ([]string, error) {
	var ids []string
	for _, ref := range refs {
		id := ref
		if !strings.HasPrefix(ref, entryPrefix) || term.IsShortID(ref) {
			w, err := r.currentWorkspace(ctx, s)
			if err != nil {
				return nil, err
			}
			all, err := s.deletedEntries(ctx, w.ID)
			if err != nil {
				return nil, err
			}
			if id, err = pick(ctx, s.terminal, "deleted entry", ref, all); err != nil {
				return nil, err
			}
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (r *remote) completeDeleted(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return r.completeHere(func(ctx context.Context, s *session, workspaceID string) ([]string, error) {
		all, err := s.deletedEntries(ctx, workspaceID)
		var words []string
		for _, one := range all {
			if !slices.Contains(args, one.id) && strings.HasPrefix(one.id, begun) {
				words = append(words, described(one.id, one.names[0]))
			}
		}
		return words, err
	})(c, args, begun)
}

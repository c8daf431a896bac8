package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/internal/cli/term"
)

func newEntryDelete(r *remote) *cobra.Command {
	var in struct {
		Entries []api.Entry
	}
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "delete ENTRY…", Aliases: []string{"rm"},
		Short: "Delete entries",
		Long: `Delete entries. They disappear from all lists immediately and can be restored
for 30 days. If one of them cannot be found, none is deleted. With --json,
each deleted entry is a line.`,
		Example: `  bursar directory delete "Ada Lovelace"
  bursar directory delete entry_01jd2q4h6k8m0n2p4r6s8t0v2w entry_01jd2q4h6k8m0n2p4r6s8t0v2x
  bursar directory list --tag duplicate --all --jq '.[].id' | xargs bursar directory delete`,
	}, func(c *call) error {
		for _, e := range in.Entries {
			deleted, err := c.Directory.Delete(c, e.ID)
			if err != nil {
				return fmt.Errorf("delete %s: %w", term.Printable(named(&e)), err)
			}
			c.say("Deleted %s. You can restore it within 30 days with 'bursar directory restore %s'.", named(&e), e.ID)
			if err := c.done(deleted); err != nil {
				return err
			}
		}
		return nil
	})
}

func newEntryRestore(r *remote) *cobra.Command {
	var in struct {
		Entries []deletedEntry
	}
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use:   "restore ENTRY…",
		Short: "Restore deleted entries",
		Long: `Restore entries that were deleted in the last 30 days, with their tags and
receiving methods. To restore by label you need to be able to read the audit
log, in which deleted entries are found. With --json, each restored entry is a
line.`,
		Example: `  bursar directory restore entry_01jd2q4h6k8m0n2p4r6s8t0v2w
  bursar directory restore "Ada Lovelace"
  bursar audit list --action directory.entry.deleted`,
	}, func(c *call) error {
		for _, one := range in.Entries {
			restored, err := c.Directory.Restore(c, one.ID)
			if err != nil {
				return fmt.Errorf("restore %s: %w", term.Printable(one.ID), err)
			}
			called := one.ID
			if e, err := c.Directory.Get(c, one.ID); err == nil {
				called = named(e)
			}
			c.say("Restored %s.", called)
			if err := c.done(restored); err != nil {
				return err
			}
		}
		return nil
	})
}

// deletedEntry is an entry that can be restored.
type deletedEntry struct{ ID string }

// deletedEntriesByName finds deleted entries by id or label.
func deletedEntriesByName() *resource[deletedEntry] {
	return &resource[deletedEntry]{
		noun: "deleted entry",
		item: func(e deletedEntry) item { return item{id: e.ID} },
		direct: func(c *call, ref string) (deletedEntry, bool, error) {
			if strings.HasPrefix(ref, entryPrefix) && !term.IsShortID(ref) {
				return deletedEntry{ref}, true, nil
			}
			all, err := deletedEntries(c)
			if err != nil {
				return deletedEntry{}, false, err
			}
			id, err := pick(c, c.terminal, "deleted entry", ref, all)
			return deletedEntry{id}, true, err
		},
		words: func(c *call, _ []string, begun string) (words []string, err error) {
			all, err := deletedEntries(c)
			for _, one := range all {
				if strings.HasPrefix(one.id, begun) {
					words = append(words, described(one.id, one.names[0]))
				}
			}
			return words, err
		},
	}
}

package cli

import (
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/auditlog"
	"bursar/internal/cli/term"
)

func newEntryHistory(r *remote) *cobra.Command {
	var in struct {
		Entry entryName
	}
	table := &term.Table{Columns: []string{"time", "actor", "description", "changes", "outcome"}, Empty: noAuditEntries}
	return newList(r, inWorkspace, &in, &cobra.Command{
		Use:   "history ENTRY",
		Short: "Show what happened to an entry, newest first",
		Long: `Show the entries of the audit log about an entry of the directory and about
every receiving method that it has or had, newest first, with what each one
changed. --csv writes every field, as 'bursar audit export' does. You need the
permission ws.audit.read.

The log outlives the directory: the id of an entry that was deleted for good
still has its history.`,
		Example: `  bursar directory history "Ada Lovelace"
  bursar directory history "Ada Lovelace" --all --json
  bursar directory history entry_01jd2q4h6k8m0n2p4r6s8t0v2w --jq '.[].changes'`,
	}, list[api.AuditEntry]{
		noun: "history",
		rows: func(c *call, limit int) (iter.Seq2[api.AuditEntry, error], error) {
			if c.format.CSV {
				table.Columns = auditlog.Columns()
			}
			id := string(in.Entry)
			if !term.IsID(id) { // the log can contain ids that no longer exist
				var err error
				if id, err = entryID(c, id); err != nil {
					return nil, err
				}
			}
			return c.Audit.All(c, client.AuditListParams{WorkspaceID: c.workspace.ID, EntryID: id, Limit: limit}), nil
		},
		table: table,
		cells: func(c *call, row api.AuditEntry) []string {
			if c.format.CSV {
				return auditlog.Cells(row)
			}
			var changes []string
			for _, one := range row.Changes {
				changes = append(changes, one.Field+": "+r.changeText(one))
			}
			return []string{localTime(row.Timestamp), auditActor(row), auditDescription(row), strings.Join(changes, "; "), row.Outcome}
		},
	})
}

// entryName names an entry, which may have been deleted.
type entryName string

func (*entryName) completion(r *remote) cobra.CompletionFunc { return entries().completion(r) }

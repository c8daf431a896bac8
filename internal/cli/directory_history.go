package cli

import (
	"context"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/auditlog"
	"bursar/internal/cli/term"
)

func newEntryHistory(r *remote) *cobra.Command {
	entry := ""
	c := listCommand(r.terminal, &cobra.Command{
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
		Args: cobra.ExactArgs(1), ValidArgsFunction: r.completeEntry(false),
	}, list[api.AuditEntry]{
		noun: "history",
		rows: func(ctx context.Context, limit int) (iter.Seq2[api.AuditEntry, error], error) {
			s, w, err := r.connectWorkspace(ctx)
			if err != nil {
				return nil, err
			}
			id := entry
			if !term.IsID(id) { // the log can contain ids that no longer exist
				e, err := r.findEntry(ctx, s, entry)
				if err != nil {
					return nil, err
				}
				id = e.ID
			}
			return s.Audit.All(ctx, client.AuditListParams{WorkspaceID: w.ID, EntryID: id, Limit: limit}), nil
		},
		table: func(f term.Format) *term.Table {
			table := &term.Table{Columns: []string{"time", "actor", "description", "changes", "outcome"}, Empty: noAuditEntries}
			if f.CSV {
				table.Columns = auditlog.Columns()
			}
			return table
		},
		cells: func(f term.Format, row api.AuditEntry) []string {
			if f.CSV {
				return auditlog.Cells(row)
			}
			var changes []string
			for _, c := range row.Changes {
				changes = append(changes, c.Field+": "+r.changeText(c))
			}
			return []string{localTime(row.Timestamp), auditActor(row), auditDescription(row), strings.Join(changes, "; "), row.Outcome}
		},
	})
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		entry = args[0]
		return run(c, args)
	}
	return r.inWorkspace(c)
}

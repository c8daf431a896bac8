package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"bursar/internal/auditlog"
	"bursar/internal/cli/term"
	"bursar/internal/config"
)

// newAuditRestart returns a command of two groups: it works on the store like the operator's commands, and belongs to the log.
func newAuditRestart(t Terminal, path string) *cobra.Command {
	var settings config.Audit
	var yes bool
	c := adminCommand{
		use: "restart", short: "Open a new log after a store has lost rows",
		long: `Open a new log after a store has lost rows that a checkpoint had, such as by
restoring a backup: servers do not sign the log of such a store. The new log
begins with that checkpoint, so that everybody sees where the old one was cut
off, and has all rows that the store has. Servers notice within a second.

The command works on the store, as 'bursar admin' does, and needs the key
that signs the log. It reads the checkpoint that the server keeps beside that
key; if there are several nodes, use the newest of theirs. Proofs that were
made before remain valid for the old checkpoints.`,
		example: "  " + path + "\n  " + path + " --audit-checkpoint /etc/bursar/audit.checkpoint --yes",
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			key, file := s.config.AuditKey(settings.Key), settings.Checkpoint
			if key == "" {
				return nil, "", term.Usagef("--audit-key is required with PostgreSQL")
			}
			if file == "" {
				file = auditlog.CheckpointFile(key)
			}
			if err := t.Confirm(c.Context(), "Open a new audit log that begins with the checkpoint in "+term.Printable(file)+"?", yes); err != nil {
				return nil, "", err
			}
			old, err := auditlog.Restart(c.Context(), s.db, operator(), key, file)
			return map[string]any{"old_origin": old.Origin, "old_size": old.Size},
				fmt.Sprintf("A new audit log begins. The old one, %s, ended with %d leaves.\nIf a proxy caches /audit-log/tile/, empty its cache.", old.Origin, old.Size), err
		},
	}.command(t)
	settings.BindKey(c.Flags())
	settings.BindCheckpoint(c.Flags())
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/internal/auditlog"
	"bursar/internal/cli/term"
	"bursar/internal/config"
)

func newAdminAudit(t Terminal) *cobra.Command {
	var store config.Store
	var q auditQuery
	var address string
	var c *cobra.Command
	table := &term.Table{Columns: slices.Insert(auditColumns(), 1, "address"),
		Detail: []string{"action", "actor", "outcome"}, Empty: noAuditEntries}
	c = newLocalList(t, &cobra.Command{
		Use: "audit", Short: "List what the audit log has about no workspace",
		Long: `List the entries of the audit log that belong to no workspace, newest first.
Owners read those of their organization; those of nobody can be read only
here: failed logins of accounts that do not exist, and requests of callers for
what they do not belong to, which were answered as not found
(iam.access.denied).

Filters combine: an entry must match all of them. --address is an address or a
network (203.0.113.0/24). --since and --until take a time
(2026-05-31T08:00:00Z), a local date (2026-05-31), which includes the whole
day, or a duration before now (2h, 7d).`,
		Example: `  bursar admin audit --since 24h --action auth.login.failed
  bursar admin audit --address 203.0.113.0/24 --all --json
  bursar admin audit erase --entry aud_01jd2m8k3vq7w5x9y0z1a2b3c4`,
	}, list[api.AuditEntry]{
		noun: "audit log",
		rows: func(ctx *call, _ int) (iter.Seq2[api.AuditEntry, error], error) {
			if ctx.format.CSV {
				table.Columns = auditlog.Columns()
			}
			p, err := q.check(time.Now())
			if err != nil {
				return nil, err
			}
			selected := auditlog.Outside{Action: notEmpty(p.Action), Outcome: notEmpty(p.Outcome)}
			if !p.From.IsZero() {
				selected.From = p.From.UnixMilli()
			}
			if !p.To.IsZero() {
				selected.To = max(p.To.UnixMilli(), 1)
			}
			if selected.Network, err = network(address); err != nil {
				return nil, err
			}
			return func(yield func(api.AuditEntry, error) bool) {
				err := withAdminStore(c, t, &store, nil, func(s openedStore) error {
					for row, err := range selected.Rows(ctx, s.db) {
						if err != nil {
							return err
						}
						if !yield(row, nil) {
							return errEnough
						}
					}
					return nil
				})
				if err != nil && !errors.Is(err, errEnough) {
					yield(api.AuditEntry{}, err)
				}
			}, nil
		},
		table: table,
		cells: func(c *call, row api.AuditEntry) []string {
			if c.format.CSV {
				return auditlog.Cells(row)
			}
			return slices.Insert(auditCells(row), 1, row.IP)
		},
	})
	q.bindCommon(c, "auth.login.failed")
	c.Flags().StringVar(&address, "address", "", "only entries from this address or network")
	store.BindStore(c.Flags())
	return commandGroup(c, newAuditErase(t), newAuditInit(t), newAuditKey(t), newAuditRestart(t, "bursar admin audit restart"))
}

func newAuditInit(t Terminal) *cobra.Command {
	var settings config.Audit
	c := adminCommand{
		use: "init", short: "Make the key that signs the audit log",
		long: `Make the key that signs the audit log of a store, in a file that only its
owner can read, and tell the store its public key: servers that have another
key refuse to start. Copy the file to every node and name it with --audit-key.
It is not in the database, so that whoever can change the log cannot sign it.
If the file is there already, its key is used.

Keep the public key, which is printed, where nobody who runs the servers can
change it. An embedded store gets its key by itself at its first start.`,
		example: `  bursar admin audit init --audit-key /etc/bursar/audit.key`,
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			file := s.config.AuditKey(settings.Key)
			if file == "" {
				return nil, "", term.Usagef("--audit-key is required with PostgreSQL")
			}
			key, err := auditlog.InitKey(c.Context(), s.db, file)
			if err != nil {
				return nil, "", err
			}
			return map[string]string{"file": file, "public_key": key.Verifier()}, "File        " + file + "\nPublic key  " + key.Verifier(), nil
		},
	}.command(t)
	settings.BindKey(c.Flags())
	return c
}

func newAuditKey(t Terminal) *cobra.Command {
	return adminCommand{
		use: "key", short: "Print the public key of the audit log",
		long: `Print the public key that verifies the checkpoints of the audit log. It comes
from the store: compare it with a copy that was kept elsewhere.`,
		example: `  bursar admin audit key`,
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			verifier, err := auditlog.Verifier(c.Context(), s.db)
			if err == nil && verifier == "" {
				err = errors.New("the audit log of this store has no key yet: the first start of a server makes it for an embedded store, and 'bursar admin audit init' for PostgreSQL")
			}
			return map[string]string{"public_key": verifier}, verifier, err
		},
	}.command(t)
}

// network parses an address or a network. An empty text stands for all of them.
func network(text string) (netip.Prefix, error) {
	if text == "" {
		return netip.Prefix{}, nil
	}
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return prefix, term.Usagef("--address must be an address or a network such as 203.0.113.0/24, not %q", text)
	}
	return prefix.Masked(), nil
}

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

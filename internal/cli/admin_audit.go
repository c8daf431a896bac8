package cli

import (
	"errors"
	"iter"
	"net/netip"
	"slices"
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

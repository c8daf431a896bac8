package cli

import (
	"context"
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
	c = listCommand(t, &cobra.Command{
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
		rows: func(ctx context.Context, _ int) (iter.Seq2[api.AuditEntry, error], error) {
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
				err := withAdminStore(c, t, store, nil, func(s openedStore) error {
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
		table: func(f term.Format) *term.Table {
			table := &term.Table{Columns: slices.Insert(auditColumns(), 1, "address"), Detail: []string{"action", "actor", "outcome"}, Empty: noAuditEntries}
			if f.CSV {
				table.Columns = auditlog.Columns()
			}
			return table
		},
		cells: func(f term.Format, row api.AuditEntry) []string {
			if f.CSV {
				return auditlog.Cells(row)
			}
			return slices.Insert(auditCells(row), 1, row.IP)
		},
	})
	q.bindCommon(c, "auth.login.failed")
	c.Flags().StringVar(&address, "address", "", "only entries from this address or network")
	store.BindStore(c.Flags())
	c.AddCommand(newAuditErase(t))
	return c
}

// network reads an address or a network; an empty text is all of them.
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

package auditlog

import (
	"context"
	"iter"
	"net/netip"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/web"
)

// Outside selects rows for the operator. Empty fields select all rows.
type Outside struct {
	Action   *string
	Outcome  *string
	Network  netip.Prefix // of the request's address
	From, To int64        // Unix milliseconds; a To of 0 is no bound
}

// Rows yields the rows that belong to no workspace, newest first: those of all
// organizations, and those of none, which only the operator can read. Access to the store
// is all that it requires.
func (o Outside) Rows(ctx context.Context, d *db.DB) iter.Seq2[api.AuditEntry, error] {
	f := filter{from: o.From, to: web.LastMillisecond}
	if o.To != 0 {
		f.to = o.To
	}
	f.equal(audit.ByAction, o.Action)
	f.equal(audit.ByOutcome, o.Outcome)
	return func(yield func(api.AuditEntry, error) bool) {
		for below := string(web.Descending); ; {
			var chunk []api.AuditEntry
			err := d.Read(ctx, func(q db.Q) (err error) {
				chunk, err = f.rows(q, below, exportChunk)
				return err
			})
			if err != nil {
				yield(api.AuditEntry{}, err)
				return
			}
			for _, row := range chunk {
				if o.from(row.IP) && !yield(row, nil) {
					return
				}
				below = row.ID
			}
			if len(chunk) < exportChunk {
				return
			}
		}
	}
}

func (o Outside) from(ip string) bool {
	if !o.Network.IsValid() {
		return true
	}
	address, err := netip.ParseAddr(ip)
	return err == nil && o.Network.Contains(address.Unmap())
}

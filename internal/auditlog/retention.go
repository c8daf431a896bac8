package auditlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
)

const (
	// retentionInterval is how often rows are looked for that have become too old. Age
	// counts in whole days, so that a log gets one row a day about what was erased in it.
	retentionInterval = time.Hour
	day               = 24 * time.Hour
)

// Retention erases what is personal in rows that are older than their organization keeps
// them. Every node runs one. They may all work at once: the store takes a batch only from who
// knows how far a log has been erased.
type Retention struct {
	db      *db.DB
	minDays int
}

// NewRetention returns the retention of a node. No log is kept for less than some days,
// whatever an organization has set: the operator may have allowed less once.
func NewRetention(d *db.DB, minDays int) *Retention { return &Retention{d, minDays} }

// Run erases until the context ends.
func (t *Retention) Run(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(retentionInterval)
	defer tick.Stop()
	for {
		if err := t.Turn(ctx); err != nil && ctx.Err() == nil {
			log.Error("the audit log cannot be erased where it is too old, which will be retried", "error", err.Error())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Turn erases all rows that are too old.
func (t *Retention) Turn(ctx context.Context) error {
	due, err := t.due(ctx)
	erased := 0
	for _, log := range due {
		for more := true; more && err == nil; {
			var n int
			n, more, err = t.batch(ctx, &log)
			erased += n
		}
	}
	if erased > 0 {
		err = errors.Join(err, t.db.Shred(ctx))
	}
	return err
}

// agedLog is the stream of a workspace or an organization that has rows that are too old.
type agedLog struct {
	number, erased, size        int64
	workspaceID, organizationID string
	days                        int
	keep                        string // the smallest id that a row can have that is kept
}

// due returns the logs whose next row is too old.
func (t *Retention) due(ctx context.Context) (due []agedLog, err error) {
	today := t.db.Now() / day.Milliseconds()
	err = t.db.Read(ctx, func(q db.Q) error {
		due = nil
		return q.Each(func(r db.Rows) error {
			log := agedLog{number: r.Int(0), erased: r.Int(1), size: r.Int(2), workspaceID: r.Text(3), organizationID: r.Text(4), days: max(int(r.Int(5)), t.minDays)}
			log.keep = db.FirstID("aud", max(0, today-int64(log.days))*day.Milliseconds())
			if !r.Null(6) && db.UnpackID("aud", r, 6) < log.keep {
				due = append(due, log)
			}
			return nil
		}, `SELECT s.number, s.erased_through, s.size, w.id, NULL, o.audit_retention_days,
				(SELECT p.audit_id FROM audit_place p WHERE p.stream = s.number AND p.seq = s.erased_through + 1)
			FROM organization o JOIN workspace w ON w.organization_id = o.id JOIN audit_stream s ON s.workspace_number = w.number WHERE o.audit_retention_days > 0
			UNION ALL SELECT s.number, s.erased_through, s.size, NULL, o.id, o.audit_retention_days,
				(SELECT p.audit_id FROM audit_place p WHERE p.stream = s.number AND p.seq = s.erased_through + 1)
			FROM organization o JOIN audit_stream s ON s.organization_id = o.id WHERE o.audit_retention_days > 0`)
	})
	return due, err
}

// batch erases the next rows of a log. It returns how many they were, and whether there may be more.
func (t *Retention) batch(ctx context.Context, log *agedLog) (erased int, more bool, err error) {
	var rows []erasable
	from, to := log.erased, log.erased // the places before the first row and of the last one
	err = t.db.Read(ctx, func(q db.Q) error {
		rows, to = nil, from
		young := false
		return q.Each(func(r db.Rows) error {
			row := erasable{id: db.UnpackID("aud", r, 1)}
			if young = young || row.id >= log.keep; young {
				return nil
			}
			to = r.Int(0)
			if row.read(r, 2); !row.kept && !row.erased {
				rows = append(rows, row)
			}
			return nil
		}, `SELECT p.seq, p.audit_id, (SELECT a.entry FROM audit_log a WHERE a.id = p.audit_id), (SELECT a.personal FROM audit_log a WHERE a.id = p.audit_id),
				(SELECT a.salt FROM audit_log a WHERE a.id = p.audit_id)
			FROM audit_place p WHERE p.stream = $1 AND p.seq > $2 AND p.seq <= $3 ORDER BY p.seq`, log.number, from, min(log.size, from+db.AuditBatch))
	})
	if err != nil || to == from {
		return 0, false, err
	}
	_, err = db.Write(ctx, t.db, db.Caller{Actor: audit.SystemActor("bursar")}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		event := audit.Event{
			Action: audit.AuditErased, WorkspaceID: log.workspaceID, OrganizationID: log.organizationID, ResourceID: fmt.Sprintf("seq %d-%d", from+1, to),
			Description: fmt.Sprintf("Erased what was personal in %d audit entries that are older than %d days", len(rows), log.days),
		}
		if len(rows) == 0 {
			event = audit.None("all of these rows were erased before, one by one")
		}
		first, err := tx.Row(`UPDATE audit_stream SET erased_through = $1 WHERE number = $2 AND erased_through = $3 RETURNING number`, to, log.number, from).Scan(new(int64))
		if err == nil && !first {
			err = errOvertaken
		}
		for _, row := range rows {
			if err != nil {
				break
			}
			err = tx.Exec(eraseRow, row.digest[:], db.PackID("aud", row.id))
		}
		return struct{}{}, event, err
	})
	if errors.Is(err, errOvertaken) {
		return 0, false, nil // the other node goes on
	}
	if err != nil {
		return 0, false, err
	}
	log.erased = to
	return len(rows), to == from+db.AuditBatch, nil
}

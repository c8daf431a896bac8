package auditlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/work"
)

const (
	// retentionInterval is how often expired rows are looked up. Age counts in whole
	// days, so that a log gets one row a day about the erasures in it.
	retentionInterval = time.Hour
	day               = 24 * time.Hour
)

// Retention erases the personal part of rows that are older than the retention period of
// their organization. Every node runs one. They may all work at once: the store accepts a
// batch only from a node that knows how far a log has been erased.
type Retention struct {
	db      *db.DB
	minDays int
}

// NewRetention returns the retention of a node. minDays is the minimum for every log,
// even if an organization has set less: the operator may have allowed less before.
func NewRetention(d *db.DB, minDays int) *Retention { return &Retention{d, minDays} }

// Run erases until the context ends.
func (t *Retention) Run(ctx context.Context, log *slog.Logger) {
	work.Every(ctx, retentionInterval, func() {
		if err := t.Turn(ctx); err != nil && ctx.Err() == nil {
			log.Error("the audit log cannot be erased where it is too old, which will be retried", "error", err.Error())
		}
	})
}

// Turn erases all expired rows.
func (t *Retention) Turn(ctx context.Context) error {
	erased, err := t.everywhere(ctx)
	if erased > 0 {
		err = errors.Join(err, t.db.Shred(ctx))
	}
	return err
}

// everywhere erases expired rows in the logs of all organizations, and returns their number.
func (t *Retention) everywhere(ctx context.Context) (erased int, err error) {
	for after := ""; ; {
		var some []keeper
		err := t.db.Read(ctx, func(q db.Q) (err error) {
			some, err = db.Collect(q, func(r db.Rows) keeper { return keeper{r.Text(0), max(int(r.Int(1)), t.minDays)} },
				`SELECT id, audit_retention_days FROM organization WHERE audit_retention_days > 0 AND id > $1 ORDER BY id LIMIT 100`, after)
			return err
		})
		if err != nil || len(some) == 0 {
			return erased, err
		}
		for _, by := range some {
			after = by.organizationID
			n, err := t.within(ctx, by)
			if erased += n; err != nil {
				return erased, err
			}
		}
	}
}

// keeper is an organization with a retention period.
type keeper struct {
	organizationID string
	days           int
}

// within erases expired rows in the logs of an organization, and returns their number.
func (t *Retention) within(ctx context.Context, by keeper) (erased int, err error) {
	due, err := t.due(ctx, by)
	for _, log := range due {
		for more := true; more && err == nil; {
			var n int
			n, more, err = t.batch(ctx, &log)
			erased += n
		}
	}
	return erased, err
}

// agedLog is a log whose next row has expired.
type agedLog struct {
	ownLog
	number, erased, size int64
	days                 int
	keep                 string // the smallest id of a row that is kept
}

// due returns the logs of an organization whose next row has expired.
func (t *Retention) due(ctx context.Context, by keeper) (due []agedLog, err error) {
	today := t.db.Now() / day.Milliseconds()
	keep := db.FirstID("aud", max(0, today-int64(by.days))*day.Milliseconds())
	err = t.db.Read(ctx, func(q db.Q) error {
		due = nil
		add := func(r db.Rows) error {
			log := agedLog{number: r.Int(0), erased: r.Int(1), size: r.Int(2), days: by.days, keep: keep}
			if log.workspace, log.workspaceID = r.Int(4), r.Text(5); log.workspace == 0 {
				log.organization = by.organizationID
			}
			if !r.Null(3) && db.UnpackID("aud", r, 3) < keep {
				due = append(due, log)
			}
			return nil
		}
		if err := q.Each(add, `SELECT number, erased_through, size, (SELECT p.audit_id FROM audit_place p WHERE p.stream = number AND p.seq = erased_through + 1), NULL, NULL
			FROM audit_stream WHERE organization_id = $1`, by.organizationID); err != nil {
			return err
		}
		return q.Each(add, `SELECT s.number, s.erased_through, s.size, (SELECT p.audit_id FROM audit_place p WHERE p.stream = s.number AND p.seq = s.erased_through + 1), w.number, w.id
			FROM workspace w JOIN audit_stream s ON s.workspace_number = w.number WHERE w.organization_id = $1`, by.organizationID)
	})
	return due, err
}

// batch erases the next rows of a log. It returns their number, and whether there may be more.
func (t *Retention) batch(ctx context.Context, log *agedLog) (erased int, more bool, err error) {
	var rows []erasable
	from, to := log.erased, log.erased // the places before the first row and of the last row
	err = t.db.Read(ctx, func(q db.Q) error {
		rows, to = nil, from
		young := false
		return q.EachOf(log.next(), func(r db.Rows) error {
			row := erasable{id: db.UnpackID("aud", r, 1)}
			if young = young || row.id >= log.keep; young {
				return nil
			}
			to = r.Int(0)
			if row.read(r, 2); !row.kept && !row.erased {
				rows = append(rows, row)
			}
			return nil
		})
	})
	if err != nil || to == from {
		return 0, false, err
	}
	_, err = db.Write(ctx, t.db, db.SystemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		event := audit.Event{
			Action: audit.AuditErased, WorkspaceID: log.workspaceID, OrganizationID: log.organization, ResourceID: fmt.Sprintf("seq %d-%d", from+1, to),
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
			err = tx.ExecOf(log.erase(row))
		}
		return struct{}{}, event, err
	})
	if errors.Is(err, errOvertaken) {
		return 0, false, nil // another node continues
	}
	if err != nil {
		return 0, false, err
	}
	log.erased = to
	return len(rows), to == from+db.AuditBatch, nil
}

// next selects the rows of the next batch. The inner queries find each row separately. For
// a join, PostgreSQL would read the whole log.
func (l *agedLog) next() *db.Statement {
	sql := db.NewStatement(`SELECT p.seq, p.audit_id`)
	for _, column := range []string{"entry", "personal", "salt"} {
		sql.Add(`, (SELECT `)
		sql.Add(column)
		sql.Add(` FROM audit_log WHERE id = p.audit_id`)
		l.narrow(sql)
		sql.Add(`)`)
	}
	sql.Add(` FROM audit_place p WHERE p.stream = `, l.number)
	sql.Add(` AND p.seq > `, l.erased)
	sql.Add(` AND p.seq <= `, min(l.size, l.erased+db.AuditBatch))
	sql.Add(` ORDER BY p.seq`)
	return sql
}

package transfer

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/work"
)

const (
	// importSlots is how many imports a node works on concurrently, each of another organization.
	importSlots = 2
	// importTurn is how many transactions an import has a slot for before the next organization has its turn.
	importTurn = 8
	// importInterval is how often a node looks for imports that another one has abandoned.
	importInterval = time.Second
	// importLease is how long other nodes leave an import to the one that works on it.
	importLease = 5 * time.Second
)

// RunImports works on imports until ctx ends.
func (s *Service) RunImports(ctx context.Context, log *slog.Logger) {
	var slots sync.WaitGroup
	for range importSlots {
		slots.Go(func() {
			work.Loop{
				Step: s.ImportTurn, Interval: importInterval, Wake: s.queued,
				Log: log, Failure: "an import has stopped and will go on",
			}.Run(ctx)
		})
	}
	slots.Wait()
}

// ImportTurn works on one import until it ends or its turn is over, and reports whether there was one.
func (s *Service) ImportTurn(ctx context.Context) (worked bool, err error) {
	i, err := s.claimImport(ctx)
	if err != nil || i.ID == "" {
		return false, err
	}
	if err = s.runImport(ctx, i); errors.Is(err, errNotMine) || errors.Is(err, errTurnOver) {
		err = nil
	}
	return true, err
}

// waiting finds the import that has waited longest for a slot, of the organization that has waited longest. An organization has one slot at
// a time. Imports of a workspace are run in their order.
const waiting = `SELECT i.id, w.organization_id FROM directory_import i JOIN workspace w ON w.id = i.workspace_id
	WHERE i.ended_at = 0 AND i.status IN ('queued', 'running') AND i.lease_until <= $1
	AND i.id = (SELECT o.id FROM directory_import o WHERE o.workspace_number = i.workspace_number AND o.ended_at = 0
		AND o.status IN ('queued', 'running') ORDER BY o.id LIMIT 1)
	AND COALESCE((SELECT r.lease_until FROM directory_import_turn t JOIN directory_import r ON r.id = t.import_id
		WHERE t.organization_id = w.organization_id AND r.ended_at = 0 AND r.status = 'running'), 0) <= $1
	ORDER BY COALESCE((SELECT t.taken_at FROM directory_import_turn t WHERE t.organization_id = w.organization_id), 0), i.lease_until, i.id LIMIT 1`

// claimImport takes the lease of an import that no slot works on; its id is empty if there is none. Each claim has its own token. If a
// transaction outlasts the lease, another slot of the same node can claim the import as well. The first slot must then detect that before
// it writes again.
func (s *Service) claimImport(ctx context.Context) (job, error) {
	var id, organizationID string
	err := s.db.Read(ctx, func(q db.Q) error {
		_, err := q.Row(waiting, s.db.Now()).Scan(&id, &organizationID)
		return err
	})
	if err != nil || id == "" {
		return job{}, err
	}
	defer s.own.Add(1)
	return db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (job, audit.Event, error) {
		claim := rand.Text()
		if free, err := lockTurn(tx, organizationID); err != nil || !free {
			return job{}, audit.None("another slot was faster"), err
		}
		if err := tx.Exec(`UPDATE directory_import_turn SET import_id = $2, taken_at = $3 WHERE organization_id = $1`, organizationID, id, tx.Now()); err != nil {
			return job{}, audit.Event{}, err
		}
		i, err := oneJob(tx.Q, `UPDATE directory_import SET status = 'running', node = $2, lease_until = $3,
				started_at = CASE WHEN started_at = 0 THEN $4 ELSE started_at END
			WHERE id = $1 AND ended_at = 0 AND status IN ('queued', 'running') AND lease_until <= $4 RETURNING `+jobColumns,
			id, claim, tx.Now()+importLease.Milliseconds(), tx.Now())
		return i, audit.None("a lease is no change that the log tells of"), err
	})
}

// lockTurn locks the turn of an organization, so that two slots do not claim two of its imports concurrently. It reports whether no slot
// works for it. It ends the claim of a slot whose lease has ended. That slot would otherwise renew the lease, beside the next one.
func lockTurn(tx *db.Tx, organizationID string) (free bool, err error) {
	var last string
	if _, err := tx.Row(`INSERT INTO directory_import_turn (organization_id, import_id, taken_at) VALUES ($1, '', 0)
		ON CONFLICT (organization_id) DO UPDATE SET organization_id = excluded.organization_id RETURNING import_id`, organizationID).Scan(&last); err != nil {
		return false, err
	}
	if err := tx.Exec(`UPDATE directory_import SET node = '' WHERE id = $1 AND ended_at = 0 AND status = 'running' AND lease_until <= $2`, last, tx.Now()); err != nil {
		return false, err
	}
	taken, err := tx.Row(`SELECT id FROM directory_import WHERE id = $1 AND ended_at = 0 AND status = 'running' AND lease_until > $2`,
		last, tx.Now()).Scan(new(string))
	return !taken, err
}

// errNotMine means that the import was cancelled, or that another slot or node has claimed it since.
var errNotMine = errors.New("the import was cancelled or taken over")

// errTurnOver means that the import has released its claim, because others have their turn.
var errTurnOver = errors.New("the turn of the import is over")

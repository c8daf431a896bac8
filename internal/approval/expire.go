package approval

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
)

// expireBatch is how many approvals are read at a time.
const expireBatch = 100

// Expire ends approvals that were not decided in time.
func (s *Service) Expire(ctx context.Context) error {
	by := db.SystemCaller()
	failed := map[string]error{} // by the approvals' ids: one that cannot be read does not keep the others from expiring
	for {
		var due []row
		err := s.db.Read(ctx, func(q db.Q) (err error) {
			due, err = db.Collect(q, readRow, `SELECT `+columns+` WHERE a.state = 'pending' AND a.expires_at <= $1 ORDER BY a.expires_at LIMIT $2`, s.db.Now(), expireBatch+len(failed))
			return err
		})
		if err != nil {
			return err
		}
		due = slices.DeleteFunc(due, func(r row) bool { return failed[r.ID] != nil })
		if len(due) == 0 {
			return errors.Join(slices.Collect(maps.Values(failed))...)
		}
		for _, sealed := range due {
			a, err := s.open(sealed)
			if err == nil {
				err = s.expire(ctx, by, a)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				failed[sealed.ID] = fmt.Errorf("expire approval %s: %w", sealed.ID, err)
			}
		}
	}
}

func (s *Service) expire(ctx context.Context, by db.Caller, a Approval) error {
	if err := s.vault.Ready(ctx, a.Number); err != nil {
		return err
	}
	_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		kind, d := s.kinds[a.Kind], decision{state: api.ApprovalExpired}
		if err := kind.Lock(tx, a); err != nil {
			return struct{}{}, audit.Event{}, err
		}
		swapped, err := swap(tx, a, d, "")
		if err == nil && !swapped {
			return struct{}{}, audit.None("somebody has decided meanwhile"), nil
		}
		if err != nil {
			return struct{}{}, audit.Event{}, err
		}
		event, err := s.carryOut(tx, by.Actor, a, d, 0)
		return struct{}{}, event, err
	})
	return err
}

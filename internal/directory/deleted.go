package directory

import (
	"context"

	"bursar/internal/access"
	"bursar/internal/db"
	"bursar/internal/web"
)

// DeletedEntry is an entry that was deleted and can still be restored.
type DeletedEntry struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Label     string `json:"label"`
	DeletedAt int64  `json:"deleted_at"`
	PurgedAt  int64  `json:"purged_at"` // when it can no longer be restored
}

// Deleted returns a page of the deleted entries of a workspace that can be restored,
// newest first.
func (s *Service) Deleted(ctx context.Context, by db.Caller, in DeletedInput) (web.Page[DeletedEntry], error) {
	workspace, err := s.authority.Enter(ctx, by.Actor, in.WorkspaceID, access.DirectoryDelete)
	if err != nil {
		return web.Page[DeletedEntry]{}, err
	}
	window, err := s.cursors.Paged(in.PageParams, web.Descending, "deleted", in.WorkspaceID)
	if err != nil {
		return web.Page[DeletedEntry]{}, err
	}
	var rows []DeletedEntry
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		rows, err = restorable(q, workspace, s.db.Now(), window)
		return err
	})
	if err != nil {
		return web.Page[DeletedEntry]{}, err
	}
	return web.NewPage(window, rows, func(e DeletedEntry) string { return e.ID }), nil
}

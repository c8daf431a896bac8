package directory

import (
	"context"
	"errors"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
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
	err = s.db.ReadList(ctx, func(q db.Q) (err error) {
		rows, err = restorable(q, workspace, s.db.Now(), window)
		return err
	})
	if err != nil {
		return web.Page[DeletedEntry]{}, err
	}
	return web.NewPage(window, rows, func(e DeletedEntry) string { return e.ID }), nil
}

// Delete hides an entry. It can be restored for 30 days.
func (s *Service) Delete(ctx context.Context, by db.Caller, in EntryInput) (api.Deleted, error) {
	at, _, err := s.authorize(ctx, by, in.ID, access.DirectoryDelete)
	if err != nil {
		return api.Deleted{}, entryNotFound(err)
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Deleted, audit.Event, error) {
		e, err := lock(tx, at)
		if err != nil {
			return api.Deleted{}, audit.Event{}, err
		}
		event, err := s.remove(tx, by, e, tx.Now())
		return api.Deleted{ID: in.ID, Deleted: true}, event, err
	})
}

// remove hides a locked entry, as deleted at a given moment, and ends what waits about it. Every deletion calls it.
func (s *Service) remove(tx *db.Tx, by db.Caller, e entry, at int64) (audit.Event, error) {
	err := access.RequireModeOfPayee(tx.Q, by.Actor, e.WorkspaceID, e.ID, false)
	if err == nil {
		err = hide(tx, e, at)
	}
	if err == nil {
		err = s.endPending(tx, by, e, "the entry was deleted")
	}
	return e.moved(audit.EntryDeleted, "Deleted", e.Status, statusDeleted), err
}

// bringBack restores an entry that was deleted after the cutoff; its id is empty if there is none. makePayable decides about its methods,
// so every restoration must call bringBack.
func (s *Service) bringBack(tx *db.Tx, by db.Caller, at entryRef, cutoff int64) (entry, audit.Event, error) {
	gets, err := tx.Row(`SELECT id FROM receiving_method WHERE entry_id = $1 AND status = 'pending' LIMIT 1`, stored(at.id)).Scan(new(string))
	if err == nil {
		err = access.RequireModeOfPayee(tx.Q, by.Actor, at.workspaceID, at.id, gets) // before any change: a bulk keeps changes made before a refusal
	}
	if err != nil {
		return entry{}, audit.Event{}, err
	}
	e, err := unhide(tx, at, cutoff)
	if err == nil && e.ID != "" {
		err = notHeld(tx.Q, e.workspace, e.ExternalID, e.ID)
	}
	if err != nil || e.ID == "" {
		return e, audit.Event{}, err
	}
	event := e.moved(audit.EntryRestored, "Restored", statusDeleted, e.Status)
	noted, err := s.payAgain(tx, by, e)
	event.Changes = append(event.Changes, noted...)
	return e, event, err
}

// Restore restores a deleted entry.
func (s *Service) Restore(ctx context.Context, by db.Caller, in EntryInput) (api.Restored, error) {
	at, _, err := s.authorize(ctx, by, in.ID, access.DirectoryDelete)
	if err != nil {
		return api.Restored{}, partNotFound(err)
	}
	if err := s.vault.Ready(ctx, at.workspace); err != nil {
		return api.Restored{}, err
	}
	restored, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Restored, audit.Event, error) {
		answer := api.Restored{ID: in.ID, Restored: true}
		e, event, err := s.bringBack(tx, by, at, tx.Now()-keepDeleted.Milliseconds())
		if err == nil && e.ID == "" {
			if e, err = find(tx.Q, at); err == nil {
				err = fault.Replace(e.live(), api.CodeEntryNotFound, fault.Missing("directory entry"))
			}
			return answer, audit.None("the entry is not deleted"), err
		}
		return answer, event, err
	})
	return restored, externalIDTaken(err)
}

// RestoreIn restores a deleted entry if it belongs to the workspace.
func (s *Service) RestoreIn(ctx context.Context, by db.Caller, in RestoreInput) (api.Restored, error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, in.WorkspaceID, access.DirectoryDelete); err != nil {
		return api.Restored{}, err
	}
	at, err := s.locate(ctx, in.ID)
	if err == nil && at.workspaceID != in.WorkspaceID {
		err = fault.Missing("directory entry")
	}
	if err != nil {
		return api.Restored{}, err
	}
	return s.Restore(ctx, by, EntryInput{ID: in.ID})
}

// Purge removes deleted entries that can no longer be restored.
func (s *Service) Purge(ctx context.Context) error {
	by := db.SystemCaller()
	cutoff := s.db.Now() - keepDeleted.Milliseconds()
	for {
		var due []string
		err := s.db.Read(ctx, func(q db.Q) (err error) {
			due, err = deletedBefore(q, cutoff)
			return err
		})
		if err != nil || len(due) == 0 {
			return err
		}
		for _, id := range due {
			_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (string, audit.Event, error) {
				gone, err := purge(tx, id, cutoff)
				if err != nil || gone[0].ID == "" {
					return "", audit.None("another node purged the entry"), err
				}
				var events []audit.Event
				for _, e := range gone {
					if err := errors.Join(approval.Forget(tx, e.ID), forgetLines(tx, e.ID)); err != nil {
						return "", audit.Event{}, err
					}
					events = append(events, e.moved(audit.EntryPurged, "Purged", statusDeleted, ""))
				}
				return id, audit.All(events...), nil
			})
			if err != nil {
				return err
			}
		}
	}
}

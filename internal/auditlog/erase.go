package auditlog

import (
	"context"
	"errors"

	"bursar/internal/audit"
	"bursar/internal/auditlog/tree"
	"bursar/internal/db"
)

// ErrErased is returned by Erase for a row that is already erased.
var ErrErased = errors.New("it is erased already")

// Erase removes the personal part of a row of the log, for the operator. The row keeps its
// digest, so that it can still be proved. Another row of the same log records the erasure.
// The files of the store contain the data until db.Shred.
func Erase(ctx context.Context, d *db.DB, by db.Caller, id string) error {
	log, err := logOf(ctx, d, id)
	if err != nil {
		return err
	}
	_, err = db.Write(ctx, d, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		event := audit.Event{Action: audit.AuditErased, WorkspaceID: log.workspaceID, OrganizationID: log.organization, ResourceID: id,
			Description: "Erased what was personal in an audit entry"}
		row := erasable{id: id}
		sql := db.NewStatement(`SELECT entry, personal, salt FROM audit_log WHERE id = `, db.PackID("aud", id))
		log.narrow(sql)
		err := tx.EachOf(sql, func(r db.Rows) error {
			row.read(r, 0)
			return nil
		})
		if err == nil && row.kept {
			err = errors.New("it says that others were erased, and stays")
		}
		if err != nil {
			return struct{}{}, event, err
		}
		sql = log.erase(row)
		sql.Add(` RETURNING id`)
		found := false
		err = tx.EachOf(sql, func(db.Rows) error {
			found = true
			return nil
		})
		if err == nil && !found {
			err = ErrErased
		}
		return struct{}{}, event, err
	})
	return err
}

// erasable is a row of the log that may be erased.
type erasable struct {
	id     string
	digest [32]byte // of the personal part
	erased bool     // already
	kept   bool     // because it records erasures of others
}

// read reads a row from three columns: entry, personal and salt.
func (e *erasable) read(r db.Rows, column int) {
	e.kept = audit.TellsOfErasure(r.Raw(column))
	e.erased = r.Null(column + 1)
	e.digest = tree.PersonalDigest(r.Raw(column+2), r.Raw(column+1))
}

// ownLog is a stream and, for a workspace's stream, the id of the workspace.
type ownLog struct {
	streamKey
	workspaceID string
}

// logOf finds the log that contains a row.
func logOf(ctx context.Context, d *db.DB, id string) (log ownLog, err error) {
	err = d.Read(ctx, func(q db.Q) error {
		row, found, err := q.FindAuditRow(d, id)
		if err == nil && !found {
			err = errors.New("there is no such audit entry")
		}
		if err != nil {
			return err
		}
		log = ownLog{streamKey: streamKey{row.Workspace, row.OrganizationID}}
		_, err = q.Row(`SELECT id FROM workspace WHERE number = $1`, row.Workspace).Scan(&log.workspaceID)
		return err
	})
	return log, err
}

// narrow adds to a condition about a row what makes an index usable.
func (k streamKey) narrow(sql *db.Statement) {
	if k.workspace == 0 {
		sql.Add(` AND coalesce(workspace_number, 0) = 0`) // see the index audit_log_outside
	} else {
		sql.Add(` AND workspace_number = `, k.workspace)
	}
}

// erase returns the statement that erases a row, unless it is already erased.
func (k streamKey) erase(row erasable) *db.Statement {
	sql := db.NewStatement(`UPDATE audit_log SET personal = NULL, salt = NULL, erased = `, row.digest[:])
	sql.Add(` WHERE id = `, db.PackID("aud", row.id))
	k.narrow(sql)
	sql.Add(` AND erased IS NULL`)
	return sql
}

// RowsAbout returns the ids of the rows about a directory entry and about its current and former
// receiving methods. erased is how many others of them are already erased. The entry may have been
// purged.
func RowsAbout(ctx context.Context, d *db.DB, entryID string) (ids []string, erased int, err error) {
	packed := db.PackID("entry", entryID)
	var at workspace
	resources := []string{entryID}
	err = d.Read(ctx, func(q db.Q) error {
		if _, err := q.Row(`SELECT workspace_number FROM directory_entry WHERE id = $1`, packed).Scan(&at.number); err != nil {
			return err
		}
		if _, err := q.Row(`SELECT id FROM workspace WHERE number = $1`, at.number).Scan(&at.id); err != nil {
			return err
		}
		methods, err := db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT method_id FROM entry_method_log WHERE entry_id = $1`, packed)
		resources = append(resources, methods...)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	if at.id != "" {
		return rowsAbout(ctx, d, at, resources)
	}
	// A purged entry has no record of its workspace, and rows are found by numbers that
	// include the workspace. So all workspaces are searched.
	for {
		var some []workspace
		err := d.Read(ctx, func(q db.Q) (err error) {
			some, err = db.Collect(q, func(r db.Rows) workspace { return workspace{r.Text(0), r.Int(1)} },
				`SELECT id, number FROM workspace WHERE id > $1 ORDER BY id LIMIT 500`, at.id)
			return err
		})
		if err != nil || len(some) == 0 {
			return nil, 0, err
		}
		for _, at = range some {
			if ids, erased, err := rowsAbout(ctx, d, at, resources); err != nil || len(ids)+erased > 0 {
				return ids, erased, err
			}
		}
	}
}

type workspace struct {
	id     string
	number int64
}

// rowsAbout returns the rows of a workspace about some resources.
func rowsAbout(ctx context.Context, d *db.DB, at workspace, resources []string) (ids []string, erased int, err error) {
	err = d.Read(ctx, func(q db.Q) error {
		ids, erased = nil, 0
		for _, resource := range resources {
			err := q.Each(func(r db.Rows) error {
				id := db.UnpackID("aud", r, 0)
				row, err := audit.ReadStored(id, r.Raw(2), r.Raw(3), 0)
				switch {
				case r.Int(1) != at.number || row.ResourceID != resource: // see audit.FilterKey
				case row.Erased:
					erased++
				default:
					ids = append(ids, id)
				}
				return err
			}, `SELECT id, workspace_number, entry, personal FROM audit_log WHERE resource_id_key = $1 ORDER BY id`, audit.FilterKey(audit.ByResource, at.id, resource))
			if err != nil {
				return err
			}
		}
		return nil
	})
	return ids, erased, err
}

package auditlog

import (
	"context"
	"errors"

	"bursar/internal/audit"
	"bursar/internal/auditproof"
	"bursar/internal/db"
)

// Erase removes what is personal in a row of the log, for the operator. The row keeps its
// digest, so that it can still be proved, and another row of the same log says that it was
// erased. The files of the store have it until db.Shred.
func Erase(ctx context.Context, d *db.DB, by db.Caller, id string) error {
	_, err := db.Write(ctx, d, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		row := erasable{id: id}
		event := audit.Event{Action: audit.AuditErased, ResourceID: id, Description: "Erased what was personal in an audit entry"}
		found := false
		err := tx.Each(func(r db.Rows) error {
			found = true
			event.WorkspaceID, event.OrganizationID = r.Text(0), r.Text(1)
			row.read(r, 2)
			return nil
		}, `SELECT w.id, a.organization_id, a.entry, a.personal, a.salt FROM audit_log a
			LEFT JOIN workspace w ON w.number = a.workspace_number WHERE a.id = $1`, db.PackID("aud", id))
		switch {
		case err != nil:
		case !found:
			err = errors.New("there is no such audit entry")
		case row.kept:
			err = errors.New("it says that others were erased, and stays")
		default:
			found, err = tx.Row(eraseRow+` RETURNING id`, row.digest[:], db.PackID("aud", id)).Scan(new(string))
			if err == nil && !found {
				err = ErrErased
			}
		}
		return struct{}{}, event, err
	})
	return err
}

// ErrErased is the error of Erase for a row that was erased before.
var ErrErased = errors.New("it is erased already")

// eraseRow erases a row, unless it is erased already.
const eraseRow = `UPDATE audit_log SET personal = NULL, salt = NULL, erased = $1 WHERE id = $2 AND erased IS NULL`

// erasable is a row of the log that may be erased.
type erasable struct {
	id     string
	digest [32]byte // of what is personal
	erased bool     // already
	kept   bool     // because it says that others were erased
}

// read reads a row from three columns: entry, personal and salt.
func (e *erasable) read(r db.Rows, column int) {
	e.kept = audit.TellsOfErasure(r.Raw(column))
	e.erased = r.Null(column + 1)
	e.digest = auditproof.PersonalDigest(r.Raw(column+2), r.Raw(column+1))
}

// RowsAbout returns the ids of the rows about a directory entry, and about the receiving
// methods that it has or had, and how many others of them are erased already. The entry may have been
// purged.
func RowsAbout(ctx context.Context, d *db.DB, entryID string) (ids []string, erased int, err error) {
	packed := db.PackID("entry", entryID)
	var at workspace
	resources := []string{entryID}
	err = d.Read(ctx, func(q db.Q) error {
		if _, err := q.Row(`SELECT w.id, w.number FROM directory_entry e JOIN workspace w ON w.number = e.workspace_number WHERE e.id = $1`, packed).
			Scan(&at.id, &at.number); err != nil {
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
	// Nothing says in which workspace a purged entry was, and rows are found by numbers that
	// have the workspace in them, so all workspaces are tried.
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

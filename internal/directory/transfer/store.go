package transfer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/directory/entryfile"
	"bursar/internal/fault"
	"bursar/internal/vault"
)

// The parts of an import, as its chunks name them.
const (
	partFile    = "file"
	partRefused = "refused"
	partPlan    = "plan"    // of a rehearsal
	partChanged = "changed" // the entries that a bulk has changed
)

// uploading is the status of a job whose file has not arrived yet.
const uploading = "uploading"

// chunkSize is how much of a file one row holds. The place of a byte follows from it, so it must not change.
const chunkSize = 64 << 10

// importOptions are the options of an import.
type importOptions struct {
	Format    string            `json:"format,omitzero"`
	Delimiter string            `json:"delimiter,omitzero"`
	Raw       bool              `json:"raw,omitzero"`
	Mapping   map[string]string `json:"mapping,omitzero"`
	Type      string            `json:"type,omitzero"`
	Match     string            `json:"match"`
	OnMatch   string            `json:"on_match"`
	DryRun    bool              `json:"dry_run,omitzero"`

	OnDuplicate string `json:"on_duplicate,omitzero"` // empty for a bulk

	Bulk *bulkOptions `json:"bulk,omitzero"` // set for a bulk, which has no other options
	Hold bool         `json:"hold,omitzero"`
	Name string       `json:"name,omitzero"` // of the file
	// Behind are the accounts that sent a held file or rehearsed it before another person started it.
	Behind []string `json:"behind,omitzero"`
}

func (o importOptions) file(workspaceID string) entryfile.Options {
	return entryfile.Options{
		Format: o.Format, Delimiter: o.Delimiter, Raw: o.Raw, Mapping: o.Mapping, Type: o.Type,
		IDs: o.Match == entryfile.MatchID, WorkspaceID: workspaceID,
	}
}

// record is a row of the table of jobs.
type record struct {
	ID            string `db:"id"`
	WorkspaceID   string `db:"workspace_id"`
	Workspace     int64  `db:"workspace_number"`
	Status        string `db:"status"`
	Options       string `db:"options"`
	Actor         string `db:"actor"`
	Bytes         int64  `db:"bytes"`
	Position      int64  `db:"position"`
	PositionLines int64  `db:"position_lines"`
	Lines         int64  `db:"lines"`
	Created       int64  `db:"created"`
	Updated       int64  `db:"updated"`
	Unchanged     int64  `db:"unchanged"`
	Refused       int64  `db:"refused"`
	Reason        string `db:"reason"`
	Node          string `db:"node"` // the token of the newest claim
	LeaseUntil    int64  `db:"lease_until"`
	CreatedAt     int64  `db:"created_at"`
	StartedAt     int64  `db:"started_at"`
	EndedAt       int64  `db:"ended_at"`
}

// job is an import or a bulk.
type job struct {
	record
	options importOptions
	actor   audit.Actor

	approvalID string // of its lines
}

var (
	records    = db.Select[record]("directory_import", nil)
	jobColumns = records.Columns
	newRecord  = db.InsertInto[record]("directory_import")
)

func readJob(r db.Rows) (i job, err error) {
	i.record = records.Read(r)
	if err = json.Unmarshal([]byte(i.Options), &i.options); err == nil {
		err = json.Unmarshal([]byte(i.Actor), &i.actor)
	}
	if err != nil {
		err = fmt.Errorf("read %s: %w", i.ID, err)
	}
	return i, err
}

func (i job) at() entryfile.Position {
	return entryfile.Position{Offset: i.Position, Lines: int(i.PositionLines)}
}

// oneJob runs a query for at most one import; its id is empty if there is none.
func oneJob(q db.Q, sql string, args ...any) (found job, err error) {
	err = q.Each(func(r db.Rows) (err error) {
		found, err = readJob(r)
		return err
	}, sql, args...)
	return found, err
}

func findJob(q db.Q, id string) (job, error) {
	return oneJob(q, `SELECT `+jobColumns+` FROM directory_import WHERE id = $1 AND status <> 'uploading'`, id)
}

func (i job) wire(now int64) api.Import {
	out := api.Import{
		ID: i.ID, WorkspaceID: i.WorkspaceID, Name: i.options.Name, Status: i.Status, Format: i.options.Format, DryRun: i.options.DryRun,
		Bytes: i.Bytes, Position: i.Position, Lines: i.Lines,
		Created: i.Created, Updated: i.Updated, Unchanged: i.Unchanged, Refused: i.Refused, Reason: i.Reason,
		StartedBy: cmp.Or(i.actor.Name, i.actor.Email), CreatedAt: i.CreatedAt, StartedAt: i.StartedAt, EndedAt: i.EndedAt,
		ApprovalID: i.approvalID,
	}
	if i.Status == api.ImportHeld {
		out.HeldUntil = i.LeaseUntil
	}
	if i.StartedAt > 0 {
		end := now
		if i.EndedAt > 0 {
			end = i.EndedAt
		}
		out.Rate = i.Lines * 1000 / max(1, end-i.StartedAt)
	}
	return out
}

// insertJob stores a new job.
func insertJob(tx *db.Tx, i job) error {
	if err := i.encode(); err != nil {
		return err
	}
	i.CreatedAt = tx.Now()
	return newRecord.Insert(tx, &i.record)
}

// encode sets the options and the requester as they are stored.
func (i *job) encode() error {
	options, err := json.Marshal(i.options)
	if err != nil {
		return fmt.Errorf("store the options of an import: %w", err)
	}
	actor, err := json.Marshal(i.actor)
	if err != nil {
		return fmt.Errorf("store who asked for an import: %w", err)
	}
	i.Options, i.Actor = string(options), string(actor)
	return nil
}

// openImports counts the imports of a workspace that have not ended, and the bytes of their files.
func openImports(q db.Q, workspace int64) (count, bytes int64, err error) {
	_, err = q.Row(`SELECT count(*), CAST(COALESCE(sum(bytes), 0) AS BIGINT) FROM directory_import WHERE workspace_number = $1 AND ended_at = 0`, workspace).Scan(&count, &bytes)
	return count, bytes, err
}

func (s *Service) insertChunk(tx *db.Tx, i job, part string, number int64, body []byte) error {
	sealed, err := s.vault.Seal(i.Workspace, vault.ImportChunk(i.ID, part, number), body)
	if err != nil {
		return fmt.Errorf("seal a part of an import: %w", err)
	}
	return tx.Exec(`INSERT INTO directory_import_chunk (import_id, part, number, body_sealed, sealed_by) VALUES ($1, $2, $3, $4, $5)`,
		i.ID, part, number, sealed, vault.KeyOf(sealed))
}

// readChunk returns the first chunk of a part from a number on; found is false at the end of the part.
func (s *Service) readChunk(ctx context.Context, i job, part string, from int64) (number int64, body []byte, found bool, err error) {
	var sealed []byte
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		found, err = q.Row(`SELECT number, body_sealed FROM directory_import_chunk WHERE import_id = $1 AND part = $2 AND number >= $3 ORDER BY number LIMIT 1`,
			i.ID, part, from).Scan(&number, &sealed)
		return err
	})
	if err == nil && found {
		body, err = s.vault.Open(i.Workspace, vault.ImportChunk(i.ID, part, number), sealed)
	}
	if errors.Is(err, vault.ErrLost) || errors.Is(err, vault.ErrDamaged) {
		err = fault.New(api.CodeNotFound, "a part of the import cannot be opened any more, because its vault key is lost or it was damaged: send the file again")
	}
	return number, body, found, err
}

// endImport ends an import that has not ended, and deletes its file. The id of the returned import is empty if it had already ended.
func end(tx *db.Tx, id, claim, status, reason string) (job, error) {
	done, err := oneJob(tx.Q, `UPDATE directory_import SET status = $2, reason = $3, ended_at = $4, lease_until = 0
		WHERE id = $1 AND ended_at = 0 AND status <> 'uploading' AND ($5 = '' OR node = $5) RETURNING `+jobColumns, id, status, reason, tx.Now(), claim)
	if err != nil || done.ID == "" {
		return done, err
	}
	return done, tx.Exec(`DELETE FROM directory_import_chunk WHERE import_id = $1 AND part = $2`, id, partFile)
}

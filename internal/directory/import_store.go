package directory

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
		IDs: o.Match == matchID, WorkspaceID: workspaceID,
	}
}

// importRow is a row of the table of imports.
type importRow struct {
	id          string
	workspaceID string
	workspace   int64 // its number
	status      string
	options     importOptions
	actor       audit.Actor
	bytes       int64
	at          entryfile.Position
	lines       int64
	created     int64
	updated     int64
	unchanged   int64
	refused     int64
	reason      string
	leaseUntil  int64
	createdAt   int64
	startedAt   int64
	endedAt     int64

	approvalID string // of its lines
	claim      string // the token of the claim; the column node holds the newest one
}

const importColumns = `id, workspace_id, workspace_number, status, options, actor, bytes, position, position_lines, lines,
	created, updated, unchanged, refused, reason, lease_until, created_at, started_at, ended_at`

func scanImport(r db.Rows) (importRow, error) {
	i := importRow{
		id: r.Text(0), workspaceID: r.Text(1), workspace: r.Int(2), status: r.Text(3), bytes: r.Int(6),
		at: entryfile.Position{Offset: r.Int(7), Lines: int(r.Int(8))}, lines: r.Int(9),
		created: r.Int(10), updated: r.Int(11), unchanged: r.Int(12), refused: r.Int(13), reason: r.Text(14),
		leaseUntil: r.Int(15), createdAt: r.Int(16), startedAt: r.Int(17), endedAt: r.Int(18),
	}
	if err := json.Unmarshal([]byte(r.Text(4)), &i.options); err != nil {
		return i, fmt.Errorf("read the options of an import: %w", err)
	}
	if err := json.Unmarshal([]byte(r.Text(5)), &i.actor); err != nil {
		return i, fmt.Errorf("read who asked for an import: %w", err)
	}
	return i, nil
}

// oneImport runs a query for at most one import; its id is empty if there is none.
func oneImport(q db.Q, sql string, args ...any) (found importRow, err error) {
	err = q.Each(func(r db.Rows) (err error) {
		found, err = scanImport(r)
		return err
	}, sql, args...)
	return found, err
}

func findImport(q db.Q, id string) (importRow, error) {
	return oneImport(q, `SELECT `+importColumns+` FROM directory_import WHERE id = $1 AND status <> 'uploading'`, id)
}

func (i importRow) wire(now int64) api.Import {
	out := api.Import{
		ID: i.id, WorkspaceID: i.workspaceID, Name: i.options.Name, Status: i.status, Format: i.options.Format, DryRun: i.options.DryRun,
		Bytes: i.bytes, Position: i.at.Offset, Lines: i.lines,
		Created: i.created, Updated: i.updated, Unchanged: i.unchanged, Refused: i.refused, Reason: i.reason,
		StartedBy: cmp.Or(i.actor.Name, i.actor.Email), CreatedAt: i.createdAt, StartedAt: i.startedAt, EndedAt: i.endedAt,
		ApprovalID: i.approvalID,
	}
	if i.status == api.ImportHeld {
		out.HeldUntil = i.leaseUntil
	}
	if i.startedAt > 0 {
		end := now
		if i.endedAt > 0 {
			end = i.endedAt
		}
		out.Rate = i.lines * 1000 / max(1, end-i.startedAt)
	}
	return out
}

func (i importRow) event(action audit.Action, verb string) audit.Event {
	if i.options.Bulk != nil {
		return i.bulkEvent(action)
	}
	what := "an import"
	if i.options.DryRun {
		what = "a rehearsal of an import"
	}
	return audit.Event{Action: action, WorkspaceID: i.workspaceID, ResourceID: i.id, Description: verb + " " + what + " into the directory"}
}

// insertUpload stores an import whose file is still to come.
func insertUpload(tx *db.Tx, i importRow, leaseUntil int64) error {
	options, actor, err := i.encoded()
	if err != nil {
		return err
	}
	return tx.Exec(`INSERT INTO directory_import (id, workspace_id, workspace_number, status, options, actor, bytes, position, position_lines, lines,
			created, updated, unchanged, refused, reason, node, lease_until, created_at, started_at, ended_at)
		VALUES ($1, $2, $3, 'uploading', $4, $5, 0, 0, 0, 0, 0, 0, 0, 0, '', '', $6, $7, 0, 0)`,
		i.id, i.workspaceID, i.workspace, options, actor, leaseUntil, tx.Now())
}

// encoded returns the options and the requester as they are stored.
func (i importRow) encoded() (options, actor string, err error) {
	text, err := json.Marshal(i.options)
	if err != nil {
		return "", "", fmt.Errorf("store the options of an import: %w", err)
	}
	who, err := json.Marshal(i.actor)
	if err != nil {
		return "", "", fmt.Errorf("store who asked for an import: %w", err)
	}
	return string(text), string(who), nil
}

// openImports counts the imports of a workspace that have not ended, and the bytes of their files.
func openImports(q db.Q, workspace int64) (count, bytes int64, err error) {
	_, err = q.Row(`SELECT count(*), CAST(COALESCE(sum(bytes), 0) AS BIGINT) FROM directory_import WHERE workspace_number = $1 AND ended_at = 0`, workspace).Scan(&count, &bytes)
	return count, bytes, err
}

func (s *Service) insertChunk(tx *db.Tx, i importRow, part string, number int64, body []byte) error {
	sealed, err := s.vault.Seal(i.workspace, vault.ImportChunk(i.id, part, number), body)
	if err != nil {
		return fmt.Errorf("seal a part of an import: %w", err)
	}
	return tx.Exec(`INSERT INTO directory_import_chunk (import_id, part, number, body_sealed, sealed_by) VALUES ($1, $2, $3, $4, $5)`,
		i.id, part, number, sealed, vault.KeyOf(sealed))
}

// readChunk returns the first chunk of a part from a number on; found is false at the end of the part.
func (s *Service) readChunk(ctx context.Context, i importRow, part string, from int64) (number int64, body []byte, found bool, err error) {
	var sealed []byte
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		found, err = q.Row(`SELECT number, body_sealed FROM directory_import_chunk WHERE import_id = $1 AND part = $2 AND number >= $3 ORDER BY number LIMIT 1`,
			i.id, part, from).Scan(&number, &sealed)
		return err
	})
	if err == nil && found {
		body, err = s.vault.Open(i.workspace, vault.ImportChunk(i.id, part, number), sealed)
	}
	if errors.Is(err, vault.ErrLost) || errors.Is(err, vault.ErrDamaged) {
		err = fault.New(api.CodeNotFound, "a part of the import cannot be opened any more, because its vault key is lost or it was damaged: send the file again")
	}
	return number, body, found, err
}

// endImport ends an import that has not ended, and deletes its file. The id of the returned import is empty if it had already ended.
func endImport(tx *db.Tx, id, claim, status, reason string) (importRow, error) {
	done, err := oneImport(tx.Q, `UPDATE directory_import SET status = $2, reason = $3, ended_at = $4, lease_until = 0
		WHERE id = $1 AND ended_at = 0 AND status <> 'uploading' AND ($5 = '' OR node = $5) RETURNING `+importColumns, id, status, reason, tx.Now(), claim)
	if err != nil || done.id == "" {
		return done, err
	}
	return done, tx.Exec(`DELETE FROM directory_import_chunk WHERE import_id = $1 AND part = $2`, id, partFile)
}

package approval

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/vault"
)

const columns = `a.id, a.workspace_id, w.number, a.kind, a.subject_id, a.subject_version, a.about_id, a.digest, a.payload_sealed, a.maker, a.involved,
	a.state, d.id, d.email, d.name, a.decided_at, a.verification, a.reason, a.created_at, a.expires_at
	FROM approval a JOIN workspace w ON w.id = a.workspace_id LEFT JOIN account d ON d.id = a.decided_by`

// row is an approval whose payload is still sealed.
type row struct {
	Approval
	sealed []byte
	maker  string
}

func readRow(r db.Rows) row {
	a := row{Approval: Approval{
		ID: r.Text(0), WorkspaceID: r.Text(1), number: r.Int(2), Kind: r.Text(3), SubjectID: r.Text(4), Version: r.Int(5), AboutID: r.Text(6),
		digest: r.Text(7), involved: r.Text(10), State: r.Text(11), decidedAt: r.Int(15), verification: r.Text(16), reason: r.Text(17),
		CreatedAt: r.Int(18), ExpiresAt: r.Int(19),
	}, sealed: bytes.Clone(r.Raw(8)), maker: r.Text(9)}
	if !r.Null(12) {
		a.decider = &api.User{ID: r.Text(12), Email: r.Text(13), Name: r.Text(14)}
	}
	return a
}

// open opens the payload. It may read a key from the store, so call it after db.Read: readers
// that each wait for a second connection would wait for ever.
func (s *Service) open(a row) (Approval, error) {
	text, err := s.vault.Open(a.number, vault.ApprovalPayload(a.ID), a.sealed)
	if errors.Is(err, vault.ErrLost) {
		text, err = []byte(`{"of":{}}`), nil // it can be rejected, and asked for again
	}
	if err != nil {
		return a.Approval, err
	}
	a.payload = text
	return a.Approval, json.Unmarshal([]byte(a.maker), &a.Maker)
}

// findRow reads an approval; its id is empty if there is none.
func findRow(q db.Q, id string) (r row, err error) {
	rows, err := db.Collect(q, readRow, `SELECT `+columns+` WHERE a.id = $1`, id)
	if len(rows) > 0 {
		r = rows[0]
	}
	return r, err
}

// find is findRow with the payload, for a transaction.
func (s *Service) find(q db.Q, id string) (Approval, error) {
	r, err := findRow(q, id)
	if err != nil || r.ID == "" {
		return Approval{}, err
	}
	return s.open(r)
}

// newest lists approvals of a workspace below an id, newest first.
func newest(q db.Q, workspaceID string, state *string, below string, take int) ([]row, error) {
	if state == nil {
		return db.Collect(q, readRow, `SELECT `+columns+` WHERE a.workspace_id = $1 AND a.id < $2 ORDER BY a.id DESC LIMIT $3`, workspaceID, below, take)
	}
	return db.Collect(q, readRow, `SELECT `+columns+` WHERE a.workspace_id = $1 AND a.state = $2 AND a.id < $3 ORDER BY a.id DESC LIMIT $4`,
		workspaceID, *state, below, take)
}

// swap changes the state of a pending approval that is still what was shown. It reports
// whether it was that.
func swap(tx *db.Tx, a Approval, d decision, by string) (bool, error) {
	return tx.Row(`UPDATE approval SET state = $3, decided_by = $4, decided_at = $5, verification = $6, reason = $7,
			told = CASE WHEN maker_id = $8 THEN $3 ELSE told END
		WHERE id = $1 AND digest = $2 AND state = 'pending' AND (expires_at > $5 OR $3 = 'expired') RETURNING id`,
		a.ID, d.digest, d.state, db.NullText(by), tx.Now(), d.verification, d.reason, by).Scan(new(string))
}

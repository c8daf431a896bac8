package approval

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/vault"
)

// record is a row of the table approval.
type record struct {
	ID           string `db:"id"`
	WorkspaceID  string `db:"workspace_id"`
	Number       int64  `db:"number,computed"` // of the workspace
	Kind         string `db:"kind"`
	Mode         string `db:"mode"` // of the money that it is about
	SubjectID    string `db:"subject_id"`
	Version      int64  `db:"subject_version"` // of the subject
	AboutID      string `db:"about_id"`
	Digest       string `db:"digest"`
	Sealed       []byte `db:"payload_sealed"`
	SealedBy     int64  `db:"sealed_by"`
	MakerID      string `db:"maker_id"`
	MakerText    string `db:"maker"`
	Involved     string `db:"involved"`
	NeededVotes  int64  `db:"needed"`
	Role         string `db:"role"`
	KeysMay      bool   `db:"keys_may"`
	State        string `db:"state"`
	Told         string `db:"told"`
	Revision     int64  `db:"revision"` // how often lines were dropped
	DecidedAt    int64  `db:"decided_at,null"`
	Verification string `db:"verification"`
	Reason       string `db:"reason"`
	CreatedAt    int64  `db:"created_at"`
	ExpiresAt    int64  `db:"expires_at"`
}

var (
	selection = db.Select[record]("a", map[string]string{"number": "w.number"})
	insertion = db.InsertInto[record]("approval")
	columns   = selection.Columns + `, d.id, d.email, d.name
	FROM approval a JOIN workspace w ON w.id = a.workspace_id LEFT JOIN account d ON d.id = a.decided_by`
)

// row is an approval whose payload is still sealed.
type row struct{ Approval }

func readRow(r db.Rows) row {
	a := row{Approval{record: selection.Read(r)}}
	if d := selection.Count; !r.Null(d) {
		a.decider = &api.User{ID: r.Text(d), Email: r.Text(d + 1), Name: r.Text(d + 2)}
	}
	return a
}

// open opens the payload. It may read a key from the store, so call it after db.Read: readers that each wait for a second connection would
// deadlock.
func (s *Service) open(a row) (Approval, error) {
	text, err := s.vault.Open(a.Number, vault.ApprovalPayload(a.ID), a.Sealed)
	if errors.Is(err, vault.ErrLost) {
		text, err = []byte(`{"of":{}}`), nil // it can be rejected, and requested again
	} else if err == nil {
		a.changed = a.Digest != digestOf(a.Kind, a.WorkspaceID, a.SubjectID, a.Version, text)
	}
	if err != nil {
		return a.Approval, err
	}
	a.payload = text
	if err := json.Unmarshal([]byte(a.MakerText), &a.Maker); err != nil {
		return a.Approval, err
	}
	var sealed payload
	if err := json.Unmarshal(text, &sealed); err != nil {
		return a.Approval, fmt.Errorf("read what the approval %s is for: %w", a.ID, err)
	}
	if d := sealed.Demand; d != nil { // a payload sealed with a lost key has none
		a.NeededVotes, a.Role, a.KeysMay, a.Involved, a.Maker = d.Needed, d.Role, d.KeysMay, d.Involved, d.Maker
	}
	return a.Approval, nil
}

// findRow reads an approval with its votes; its id is empty if there is none.
func findRow(q db.Q, i *db.Integrity, id string) (r row, err error) {
	rows, err := db.Collect(q, readRow, `SELECT `+columns+` WHERE a.id = $1`, id)
	if err == nil {
		err = readVotes(q, i, rows)
	}
	if len(rows) > 0 {
		r = rows[0]
	}
	return r, err
}

// readVotes reads who has approved. A vote that was not written by the program, or was given with a compromised API key, does not count.
func readVotes(q db.Q, i *db.Integrity, rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	ids, at := make([]any, len(rows)), map[string]int{}
	for n, r := range rows {
		ids[n], at[r.ID] = r.ID, n
	}
	list := db.NewStatement(`SELECT v.approval_id, c.id, c.email, c.name, v.at, v.verification, v.session_id, v.key_id, v.mac, c.email_proof FROM approval_vote v JOIN account c ON c.id = v.account_id
		LEFT JOIN compromised_key k ON k.id = v.key_id WHERE k.id IS NULL AND v.approval_id IN (`, ids...)
	list.Add(`) ORDER BY v.at, v.account_id`)
	return q.EachOf(list, func(r db.Rows) error {
		one := &rows[at[r.Text(0)]]
		if !(ballot{r.Text(0), one.Digest, r.Text(1), r.Int(4), r.Text(5), r.Text(6), r.Text(7)}).isAuthentic(i, r.Raw(8)) {
			return nil
		}
		one.votes = append(one.votes, api.ApprovalVote{ID: r.Text(1), Email: r.Text(2), Name: r.Text(3), At: r.Int(4), Verification: r.Text(5), EmailProved: r.Text(9) == access.ProvedAddress})
		return nil
	})
}

// find is findRow with the payload, for a transaction.
func (s *Service) find(q db.Q, id string) (Approval, error) {
	r, err := findRow(q, s.db.Integrity(), id)
	if err != nil || r.ID == "" {
		return Approval{}, err
	}
	return s.open(r)
}

// newest lists approvals of some kinds of a workspace below an id, newest first.
func newest(q db.Q, i *db.Integrity, workspaceID string, kinds []any, state *string, mode, below string, take int) (rows []row, err error) {
	list := db.NewStatement(`SELECT `+columns+` WHERE a.workspace_id = `, workspaceID)
	if state != nil {
		list.Add(` AND a.state = `, *state)
	}
	list.Add(` AND a.id < `, below)
	if mode != "" {
		list.Add(` AND a.mode IN ('', `, mode)
		list.Add(`)`)
	}
	list.Add(` AND a.kind IN (`, kinds...)
	list.Add(`) ORDER BY a.id DESC`)
	list.Limit(take)
	err = q.EachOf(list, func(r db.Rows) error {
		if len(rows) < take {
			rows = append(rows, readRow(r))
		}
		return nil
	})
	if err == nil {
		err = readVotes(q, i, rows)
	}
	return rows, err
}

// vote stores a person's vote for a pending approval if it is still what was shown, and locks the approval. It returns the number of all
// votes ever given, or 0 if the approval has changed.
func vote(tx *db.Tx, a Approval, d decision, by audit.Actor) (votes int64, first bool, err error) {
	if d.digest != a.shown() {
		return 0, false, nil
	}
	_, err = tx.Row(`UPDATE approval SET votes = votes + 1 WHERE id = $1 AND digest = $2 AND revision = $3 AND state = 'pending' AND expires_at > $4 RETURNING votes`,
		a.ID, a.Digest, a.Revision, tx.Now()).Scan(&votes)
	if err != nil || votes == 0 {
		return 0, false, err
	}
	origin, err := access.OriginOf(tx, a.WorkspaceID, by.ID)
	if err != nil {
		return 0, false, err
	}
	v := ballot{a.ID, a.Digest, by.ID, tx.Now(), d.verification, by.SessionID, by.KeyID}
	first, err = tx.Row(`INSERT INTO approval_vote (approval_id, account_id, at, verification, session_id, key_id, mac, origin_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (approval_id, account_id) DO NOTHING RETURNING account_id`,
		v.approvalID, v.userID, v.at, v.verification, v.sessionID, v.keyID, v.code(tx.Integrity()), origin).Scan(new(string))
	return votes, first, err
}

// swap changes the state of a pending approval if it is still what was shown. It reports whether it was.
func swap(tx *db.Tx, a Approval, d decision, by string) (bool, error) {
	return tx.Row(`UPDATE approval SET state = $3, decided_by = $4, decided_at = $5, verification = $6, reason = $7,
			told = CASE WHEN maker_id = $8 THEN $3 ELSE told END
		WHERE id = $1 AND digest = $2 AND state = 'pending' AND (expires_at > $5 OR $3 = 'expired') RETURNING id`,
		a.ID, a.Digest, d.state, db.NullText(by), tx.Now(), d.verification, d.reason, by).Scan(new(string))
}

package approval

import (
	"crypto/hmac"

	"bursar/internal/db"
)

// ballot is what the code of a vote covers: what was approved, by whom, and with which session or API key.
type ballot struct {
	approvalID, digest, userID     string
	at                             int64
	verification, sessionID, keyID string
}

func (b ballot) code(i *db.Integrity) []byte {
	return i.MAC("approval vote", b.approvalID, b.digest, b.userID, b.at, b.verification, b.sessionID, b.keyID)
}

// isAuthentic reports whether the program has stored the vote. Without a key every vote counts as authentic.
func (b ballot) isAuthentic(i *db.Integrity, code []byte) bool {
	return b.userID != "" && (i == nil || hmac.Equal(code, b.code(i)))
}

// voteBatch is how many votes get their codes at a time.
const voteBatch = 1000

// AuthenticateVotes gives the votes of a store the code of a new key.
func AuthenticateVotes(tx *db.Tx, i *db.Integrity) error {
	for after := (ballot{}); ; {
		list, err := db.Collect(tx.Q, func(r db.Rows) ballot {
			return ballot{r.Text(0), r.Text(1), r.Text(2), r.Int(3), r.Text(4), r.Text(5), r.Text(6)}
		}, `SELECT v.approval_id, a.digest, v.account_id, v.at, v.verification, v.session_id, v.key_id FROM approval_vote v JOIN approval a ON a.id = v.approval_id
			WHERE (v.approval_id, v.account_id) > ($1, $2) ORDER BY v.approval_id, v.account_id LIMIT $3`, after.approvalID, after.userID, voteBatch)
		if err != nil {
			return err
		}
		for _, v := range list {
			if err := tx.Exec(`UPDATE approval_vote SET mac = $3 WHERE approval_id = $1 AND account_id = $2`, v.approvalID, v.userID, v.code(i)); err != nil {
				return err
			}
		}
		if len(list) < voteBatch {
			return nil
		}
		after = list[len(list)-1]
	}
}

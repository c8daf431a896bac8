package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"bursar/internal/db"
)

// shown returns the digest that an approver sends. It differs from the stored one once a line was dropped.
func (a Approval) shown() string {
	if a.Revision == 0 {
		return a.Digest
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "bursar approval revision\n%s\n%d\n", a.Digest, a.Revision))
	return hex.EncodeToString(sum[:])
}

// Workspace returns the number of the workspace.
func (a Approval) Workspace() int64 { return a.Number }

// Shrink records that a line of the pending approval of a subject was dropped. What an approver was shown before is not what they would
// approve. Without any line left the approval is void. The caller has locked what the line is about.
func Shrink(tx *db.Tx, subjectID string, anyLeft func() (bool, error)) error {
	found, err := tx.Row(`UPDATE approval SET revision = revision + 1 WHERE subject_id = $1 AND state = 'pending' RETURNING id`, subjectID).Scan(new(string))
	if err != nil || !found {
		return err
	}
	left, err := anyLeft()
	if err == nil && !left {
		_, err = void(tx, db.Caller{}, "subject_id", subjectID, "all that it was for has changed")
	}
	return err
}

// Of returns the newest approval about a subject, or "".
func Of(q db.Q, subjectID string) (id string, err error) {
	_, err = q.Row(`SELECT COALESCE(max(id), '') FROM approval WHERE subject_id = $1`, subjectID).Scan(&id)
	return id, err
}

// InvolvedAbout lists the users that have a part in the approvals of a subject.
func InvolvedAbout(q db.Q, subjectID string) (users []string, err error) {
	err = q.Each(func(r db.Rows) error {
		users = append(users, strings.Fields(r.Text(0))...)
		return nil
	}, `SELECT involved FROM approval WHERE subject_id = $1`, subjectID)
	return users, err
}

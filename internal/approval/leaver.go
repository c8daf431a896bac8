package approval

import (
	"encoding/json"
	"fmt"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/db"
)

// WaitsFor is a pending approval that waits for a person.
type WaitsFor struct {
	ID, Kind string
	Made     bool // they requested it
	Decides  bool // it cannot be approved without them
}

// waitsForMost bounds how many pending approvals of a workspace WaitsFor reads.
const waitsForMost = 500

// WaitsFor lists the pending approvals of a workspace that a person requested, and those that cannot be approved without them. It opens no
// payload: the columns suffice for a list that decides nothing.
func (s *Service) WaitsFor(q db.Q, workspaceID, userID string) (list []WaitsFor, err error) {
	rows, err := db.Collect(q, readRow, `SELECT `+columns+` WHERE a.workspace_id = $1 AND a.state = 'pending' AND a.expires_at > $2 ORDER BY a.id LIMIT $3`,
		workspaceID, s.db.Now(), waitsForMost)
	if err == nil {
		err = readVotes(q, s.db.Integrity(), rows)
	}
	if err != nil {
		return nil, err
	}
	people := map[access.Pair]access.SecondPerson{}
	for _, pair := range access.Pairs() {
		if people[pair], err = access.FindSecondPerson(q, pair, workspaceID, s.db.Now()); err != nil {
			return nil, err
		}
	}
	for _, r := range rows {
		var maker api.ApprovalMaker
		if err := json.Unmarshal([]byte(r.MakerText), &maker); err != nil {
			return nil, fmt.Errorf("read who asked for the approval %s: %w", r.ID, err)
		}
		one := WaitsFor{ID: r.ID, Kind: r.Kind, Made: maker.ID == userID}
		able := s.approversOf(r.Approval, people)
		one.Decides = slices.Contains(able, userID) && int64(len(able)-1) < r.NeededVotes
		if one.Made || one.Decides {
			list = append(list, one)
		}
	}
	return list, nil
}

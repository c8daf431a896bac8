package payout

import "bursar/internal/db"

// leaked is an API key that was reported as compromised.
type leaked struct{ id, name string }

// obstacle is what holds a payout that was approved with the key.
func (k leaked) obstacle() obstacle {
	return obstacle{Name: "key:" + k.id, Text: "it was approved with the API key " + k.name + ", which is compromised", Approvals: 1}
}

// leakedVotes returns the approvals of a workspace that got a vote with a compromised API key.
func leakedVotes(q db.Q, workspaceID string) (map[string]leaked, error) {
	keys, err := db.Collect(q, func(r db.Rows) leaked { return leaked{r.Text(0), r.Text(1)} },
		`SELECT c.id, k.name FROM compromised_key c JOIN api_key k ON k.id = c.id`)
	votes := map[string]leaked{}
	for _, key := range keys {
		if err == nil {
			err = q.Each(func(r db.Rows) error {
				votes[r.Text(0)] = key
				return nil
			}, `SELECT v.approval_id FROM approval_vote v JOIN approval a ON a.id = v.approval_id
				WHERE v.key_id = $1 AND v.key_id <> '' AND a.workspace_id = $2`, key.id, workspaceID)
		}
	}
	return votes, err
}

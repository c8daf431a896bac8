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
	votes := map[string]leaked{}
	err := q.Each(func(r db.Rows) error {
		votes[r.Text(0)] = leaked{r.Text(1), r.Text(2)}
		return nil
	}, `SELECT v.approval_id, k.id, k.name FROM api_key k JOIN approval_vote v ON v.key_id = k.id JOIN approval a ON a.id = v.approval_id
		WHERE k.compromised_at IS NOT NULL AND v.key_id <> '' AND a.workspace_id = $1`, workspaceID)
	return votes, err
}

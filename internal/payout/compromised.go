package payout

import "bursar/internal/db"

// leaked is an API key reported as compromised.
type leaked struct{ id, name string }

// obstacle returns what holds a payout that was approved with the key.
func (k leaked) obstacle() obstacle {
	return obstacle{Name: "key:" + k.id, Text: "it was approved with the API key " + k.name + ", which is compromised", Approvals: 1}
}

// anyLeaked reports whether any key was ever reported. If none was, payouts are sent without a search for votes.
func anyLeaked(q db.Q) (bool, error) {
	return q.Row(`SELECT id FROM compromised_key LIMIT 1`).Scan(new(string))
}

// leakedVote returns a compromised API key that gave a vote for an approval; its id is empty if there is none.
func (c *comparison) leakedVote(approvalID string) (key leaked, err error) {
	if !c.leaks || approvalID == "" {
		return leaked{}, nil
	}
	if known, found := c.leaked[approvalID]; found {
		return known, nil
	}
	_, err = c.q.Row(`SELECT k.id, k.name FROM approval_vote v JOIN compromised_key c ON c.id = v.key_id JOIN api_key k ON k.id = c.id
		WHERE v.approval_id = $1 LIMIT 1`, approvalID).Scan(&key.id, &key.name)
	c.leaked[approvalID] = key
	return key, err
}

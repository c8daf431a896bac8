package payout

import "bursar/internal/db"

// leaked is an API key reported as compromised, through which a vote came.
type leaked struct {
	id, name string
	through  bool // the voter's access came through the key; otherwise the vote was given with it
}

// obstacle returns what holds a payout with such a vote.
func (k leaked) obstacle() obstacle {
	text := "it was approved with the API key " + k.name + ", which is compromised"
	if k.through {
		text = "it was approved by someone whose access came through the API key " + k.name + ", which is compromised"
	}
	return obstacle{Name: "key:" + k.id, Text: text, Approvals: 1}
}

// anyLeaked reports whether any key was ever reported. If none was, payouts are sent without a search for votes.
func anyLeaked(q db.Q) (bool, error) {
	return q.Row(`SELECT id FROM compromised_key LIMIT 1`).Scan(new(string))
}

// leakedVote returns a compromised API key through which a vote for an approval came; its id is empty if there is none. Access that came
// through the key was suspended when the key was reported, unless an admin has confirmed it since.
func (c *comparison) leakedVote(approvalID string) (key leaked, err error) {
	if !c.leaks || approvalID == "" {
		return leaked{}, nil
	}
	if known, found := c.leaked[approvalID]; found {
		return known, nil
	}
	found, err := c.q.Row(`SELECT k.id, k.name FROM approval_vote v JOIN compromised_key c ON c.id = v.key_id JOIN api_key k ON k.id = c.id
		WHERE v.approval_id = $1 LIMIT 1`, approvalID).Scan(&key.id, &key.name)
	if err == nil && !found {
		key.through, err = c.q.Row(`SELECT k.id, k.name FROM approval_vote v JOIN approval a ON a.id = v.approval_id
			JOIN suspended_access s ON s.account_id = v.account_id AND s.workspace_id = a.workspace_id JOIN api_key k ON k.id = s.key_id
			WHERE v.approval_id = $1 AND s.state <> 'confirmed' AND s.suspended_at >= v.at ORDER BY s.id LIMIT 1`, approvalID).
			Scan(&key.id, &key.name)
	}
	c.leaked[approvalID] = key
	return key, err
}

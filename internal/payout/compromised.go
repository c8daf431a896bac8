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
// through the key holds nothing after an admin has confirmed it. Votes of 1.0.0-rc.1 have no origin: for them, the voter is among those who
// were suspended when the key was reported, and not among those who had left before.
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
		key.through, err = c.q.Row(`WITH vote AS (SELECT v.account_id, v.at, v.origin_id, a.workspace_id
				FROM approval_vote v JOIN approval a ON a.id = v.approval_id WHERE v.approval_id = $1)
			SELECT k.id, k.name FROM api_key k WHERE k.id IN (
				SELECT c.id FROM vote v JOIN access_origin o ON o.id = v.origin_id JOIN compromised_key c ON c.id = o.key_id
				WHERE NOT EXISTS (SELECT 1 FROM suspended_access s WHERE s.account_id = v.account_id AND s.workspace_id = v.workspace_id
					AND s.state = 'confirmed' AND s.suspended_at >= c.reported_at)
				UNION SELECT s.key_id FROM vote v JOIN suspended_access s ON s.account_id = v.account_id AND s.workspace_id = v.workspace_id
				WHERE s.state <> 'confirmed' AND s.suspended_at >= v.at) ORDER BY k.id LIMIT 1`, approvalID).Scan(&key.id, &key.name)
	}
	c.leaked[approvalID] = key
	return key, err
}

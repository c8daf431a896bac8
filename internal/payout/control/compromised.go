package control

import "bursar/internal/db"

// leaked is an API key reported as compromised, through which a request or a vote came.
type leaked struct {
	id, name string
	done     string // requested or approved
	through  bool   // by someone whose access came through the key; otherwise with the key
}

// obstacles returns what holds such a payout.
func (k leaked) obstacles() []Obstacle {
	if k.id == "" {
		return nil
	}
	how := "with"
	if k.through {
		how = "by someone whose access came through"
	}
	return []Obstacle{{Name: "key:" + k.id, Text: "it was " + k.done + " " + how + " the API key " + k.name + ", which is compromised", Approvals: 1}}
}

// anyLeaked reports whether any key was ever reported. If none was, payouts are sent without a search for votes.
func anyLeaked(q db.Q) (bool, error) {
	return q.Row(`SELECT id FROM compromised_key LIMIT 1`).Scan(new(string))
}

// leakedVote returns a compromised API key through which a vote for a payout came. Access that came
// through the key holds nothing after an admin has confirmed it. Votes of 1.0.0-rc.1 have no origin: for them, the voter is among those who
// were suspended when the key was reported, and not among those who had left before.
func (c *comparison) leakedVote(p Reserved, _ func(string) bool) ([]Obstacle, error) {
	if !c.leaks || p.ApprovalID == "" {
		return nil, nil
	}
	if known, found := c.leaked[p.ApprovalID]; found {
		return known.obstacles(), nil
	}
	key := leaked{done: "approved"}
	found, err := c.q.Row(`SELECT k.id, k.name FROM approval_vote v JOIN compromised_key c ON c.id = v.key_id JOIN api_key k ON k.id = c.id
		WHERE v.approval_id = $1 LIMIT 1`, p.ApprovalID).Scan(&key.id, &key.name)
	if err == nil && !found {
		key.through, err = c.q.Row(`WITH vote AS (SELECT v.account_id, v.at, v.origin_id, a.workspace_id
				FROM approval_vote v JOIN approval a ON a.id = v.approval_id WHERE v.approval_id = $1)
			SELECT k.id, k.name FROM api_key k WHERE k.id IN (
				SELECT c.id FROM vote v JOIN access_origin o ON o.id = v.origin_id JOIN compromised_key c ON c.id = o.key_id
				WHERE NOT EXISTS (SELECT 1 FROM suspended_access s WHERE s.account_id = v.account_id AND s.workspace_id = v.workspace_id
					AND s.state = 'confirmed' AND s.suspended_at >= c.reported_at)
				UNION SELECT s.key_id FROM vote v JOIN suspended_access s ON s.account_id = v.account_id AND s.workspace_id = v.workspace_id
				WHERE s.state <> 'confirmed' AND s.suspended_at >= v.at) ORDER BY k.id LIMIT 1`, p.ApprovalID).Scan(&key.id, &key.name)
	}
	c.leaked[p.ApprovalID] = key
	return key.obstacles(), err
}

// leakedRequest returns a compromised API key through which the request of a payout that needed no approval came. Of
// those who came through a key, only the suspended are found: who left before the report is not.
func (c *comparison) leakedRequest(p Reserved, _ func(string) bool) ([]Obstacle, error) {
	if !c.leaks || p.ApprovalsNeeded > 0 {
		return nil, nil
	}
	key := leaked{done: "requested"}
	found, err := c.q.Row(`SELECT k.id, k.name FROM compromised_key c JOIN api_key k ON k.id = c.id WHERE c.id = $1`, p.KeyID).Scan(&key.id, &key.name)
	if err != nil || found {
		return key.obstacles(), err
	}
	sql := db.NewStatement(`SELECT k.id, k.name FROM suspended_access s JOIN api_key k ON k.id = s.key_id WHERE s.workspace_id = `, p.WorkspaceID)
	sql.Add(` AND s.state <> 'confirmed' AND s.suspended_at >= `, p.At)
	sql.Add(` AND s.account_id IN (`, db.Args(p.Makers)...)
	sql.Add(`) ORDER BY s.id LIMIT 1`)
	err = c.q.EachOf(sql, func(r db.Rows) error {
		key.id, key.name, key.through = r.Text(0), r.Text(1), true
		return nil
	})
	return key.obstacles(), err
}

package control

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
)

// Obstacle is a limit or a rule that holds a payout.
type Obstacle struct {
	Name      string `json:"name"` // of the limit, with its version, or of the rule
	Text      string `json:"text"`
	Approvals int    `json:"approvals"`
	Role      string `json:"role,omitzero"`
}

// ruleLag bounds the time from determining the approvals that a payout needs to reserving its money. The payout is screened in between, and
// another node may not have learned of a new rule yet.
const ruleLag = 2 * time.Minute

// comparison compares payouts of one batch, or a single one, with the current rules and limits of their workspace.
type comparison struct {
	service   *Service
	q         db.Q
	limits    []limit            // per payout
	demanding []rule             // rules that demand approvals
	freed     []rule             // suspended rules by which payouts needed no approval
	sums      map[batchSum]int64 // of the whole batch
	demands   map[string]demand  // of approvals, by their ids
	leaks     bool               // an API key was reported as compromised
	leaked    map[string]leaked  // by approval
}

// compare returns a comparison, or nil if nothing in the workspace could hold a payout.
func (s *Service) compare(q db.Q, g guard) *comparison {
	c := &comparison{service: s, q: q, demands: map[string]demand{}, leaks: g.leaks, leaked: map[string]leaked{}}
	for _, l := range g.limits {
		if l.Per == api.LimitPerPayout {
			c.limits = append(c.limits, l)
		}
	}
	for _, u := range g.rules {
		if u.Approvals > 0 {
			c.demanding = append(c.demanding, u)
		}
	}
	for _, u := range g.alone {
		if u.Approvals == 0 {
			c.freed = append(c.freed, u)
		}
	}
	if len(c.limits) == 0 && len(c.demanding) == 0 && len(c.freed) == 0 && !c.leaks {
		return nil
	}
	return c
}

// checkedBatch is a batch of which no waiting payout was held, at an epoch of the store.
type checkedBatch struct {
	epoch uint64
	sums  map[batchSum]int64
}

// maxBatches bounds how many batches are cached.
const maxBatches = 1000

// Reserved is a payout whose money is reserved: Spending.At is when.
type Reserved struct {
	Spending
	WorkspaceNumber int64
	Batch           string
	Waits           bool // to be sent
	MakerID         string
	KeyID           string // the API key of its request
	ApprovalID      string
	ApprovalsNeeded int64
	Overrides       string // names of obstacles that do not hold it
	CreatedAt       int64
}

// maker returns the requester for rules, of which those for clients contain their id.
func (p Reserved) maker() db.Caller {
	return db.Caller{Actor: audit.Actor{ID: p.MakerID, Type: audit.Client}}
}

// Obstacles returns what holds payouts that are claimed or held, all of one batch or a single one. A batch is held if any of its waiting
// payouts is, even one that is not due yet. members reads its payouts, once, and again after a limit or rule may have changed: a large batch
// is claimed in many parts.
func (s *Service) Obstacles(q db.Q, list []Reserved, members func(batch string) ([]Reserved, error)) ([]Obstacle, error) {
	g, err := s.guard(q, list[0].WorkspaceID)
	if err != nil {
		return nil, err
	}
	c, batch := s.compare(q, g), list[0].Batch
	if c == nil || batch == "" {
		return c.obstacles(list)
	}
	if known, ok := s.batches.GetIfPresent(batch); ok && known.epoch == g.epoch {
		c.sums = known.sums
		return c.obstacles(list)
	}
	all, err := members(batch)
	if err != nil {
		return nil, err
	}
	byPayee := slices.ContainsFunc(c.demanding, func(u rule) bool { return u.Each == api.EachPayee })
	c.sums = map[batchSum]int64{}
	for _, p := range all {
		p.addTo(c.sums, byPayee)
	}
	waiting := slices.DeleteFunc(all, func(p Reserved) bool { return !p.Waits })
	found, err := c.obstacles(append(waiting, list...))
	if err == nil && len(found) == 0 {
		s.batches.Set(batch, checkedBatch{g.epoch, c.sums})
	}
	return found, err
}

// obstacles returns what became stricter since the money of payouts was reserved and was not overridden. These are limits per payout that
// they exceed, and rules that demand more approvals than they had, or approvals by another role. Limits by day have counted the
// payouts when their money was reserved. A rule is stricter if it was made after their approval was requested.
func (c *comparison) obstacles(list []Reserved) (found []Obstacle, err error) {
	if c == nil {
		return nil, nil
	}
	for _, p := range list {
		over := func(name string) bool {
			return slices.Contains(strings.Fields(p.Overrides), name) || slices.ContainsFunc(found, func(o Obstacle) bool { return o.Name == name })
		}
		for _, find := range []func(Reserved, func(string) bool) ([]Obstacle, error){c.leakedVote, c.leakedRequest, c.lowerLimits, c.suspended, c.stricterRules} {
			more, err := find(p, over)
			if err != nil {
				return nil, err
			}
			found = append(found, slices.DeleteFunc(more, func(o Obstacle) bool { return over(o.Name) })...)
		}
	}
	return found, nil
}

// lowerLimits returns the limits per payout that a payout exceeds.
func (c *comparison) lowerLimits(p Reserved, over func(string) bool) (found []Obstacle, err error) {
	var exceeded []limit
	for _, l := range c.limits {
		if p.Amount > l.AmountCents && !over(l.edition()) {
			exceeded = append(exceeded, l)
		}
	}
	if err := p.findPayees(c.q, exceeded); err != nil {
		return nil, err
	}
	for _, l := range matchingLimits(exceeded, p.Spending) {
		found = append(found, Obstacle{Name: l.edition(), Text: "the limit " + l.ID + ": " + limitText(l.PayoutLimit), Approvals: 1})
	}
	return found, nil
}

// stricterRules returns the rules by which a payout needs more than it had.
func (c *comparison) stricterRules(p Reserved, over func(string) bool) (found []Obstacle, err error) {
	decided := int64(0)
	for _, u := range c.demanding {
		if u.activeAt <= p.CreatedAt-ruleLag.Milliseconds() || over(u.ID) {
			continue
		}
		if decided == 0 {
			if decided, err = p.demandedAt(c.q); err != nil {
				return nil, err
			}
		}
		if u.activeAt <= decided-ruleLag.Milliseconds() {
			continue
		}
		stricter, err := c.stricter(u, p)
		if err != nil {
			return nil, err
		}
		if stricter {
			found = append(found, Obstacle{u.ID, "the rule " + u.ID + ": " + ruleText(u.ApprovalRuleTerms), int(u.Approvals), u.Role})
		}
	}
	return found, nil
}

// suspended returns the suspended rule that let a payout go without approval, if an approval is needed by now. One person alone made that
// rule, and a second person has joined since.
func (c *comparison) suspended(p Reserved, _ func(string) bool) ([]Obstacle, error) {
	if p.ApprovalsNeeded > 0 {
		return nil, nil
	}
	at := slices.IndexFunc(c.freed, func(u rule) bool { return u.matches(p.Spending, p.Rail, p.Amount, p.maker()) })
	if at < 0 {
		return nil, nil
	}
	need, err := c.service.Need(c.q, p.Spending, p.maker())
	if err != nil || need.Approvals == 0 {
		return nil, err
	}
	u := c.freed[at]
	return []Obstacle{{fmt.Sprintf("%s@%d", u.ID, u.activeAt), "the rule " + u.ID + " is suspended, because one person alone has made it: " +
		ruleText(u.ApprovalRuleTerms), need.Approvals, need.Role}}, nil
}

// edition names the current version of a limit.
func (l limit) edition() string { return fmt.Sprintf("%s@%d", l.ID, l.version) }

// demandedAt returns when it was determined how many approvals a payout needs. That is when the approval by which its money was reserved
// was requested. If the money was reserved by an earlier approval or none, it is when the money was reserved.
func (p Reserved) demandedAt(q db.Q) (at int64, err error) {
	if p.ApprovalID == "" {
		return p.At, nil
	}
	found, err := q.Row(`SELECT created_at FROM approval WHERE id = $1 AND decided_at = $2`, p.ApprovalID, p.At).Scan(&at)
	if !found {
		at = p.At
	}
	return at, err
}

// stricter reports whether a rule matches a payout, or its batch as in needsBatch, and demands more than when its money was reserved. A
// rule by sum matches if the payout, or its batch, is above the amount without others.
func (c *comparison) stricter(u rule, p Reserved) (bool, error) {
	sum, summed := c.sums[batchSum{u.Rail, ""}]
	if u.bySum() {
		if !u.about(p.Spending, p.Rail, p.maker()) || c.alone(u, p) <= *u.AboveCents {
			return false, nil
		}
	} else if !u.matches(p.Spending, p.Rail, p.Amount, p.maker()) && !(summed && u.matches(p.Spending, u.Rail, sum, p.maker())) {
		return false, nil
	}
	if u.Approvals > p.ApprovalsNeeded || u.Approvals == 0 || u.Role == "" && u.KeysMayApprove {
		return u.Approvals > p.ApprovalsNeeded, nil
	}
	had, err := c.demanded(p)
	return u.Role != "" && had.Role != u.Role || had.KeysMayApprove && !u.KeysMayApprove, err
}

// demanded returns which votes the approval of a payout needed.
func (c *comparison) demanded(p Reserved) (demand, error) {
	if had, known := c.demands[p.ApprovalID]; known {
		return had, nil
	}
	if !c.service.vault.Loaded(p.WorkspaceNumber) {
		return demand{}, &UnreadyError{p.WorkspaceNumber}
	}
	role, keysMay, err := c.service.approvals.Demanded(c.q, p.ApprovalID)
	had := demand{Role: role, KeysMayApprove: keysMay}
	c.demands[p.ApprovalID] = had
	return had, err
}

// UnreadyError reports that the vault must be made ready for a workspace before the transaction.
type UnreadyError struct{ Workspace int64 }

func (e *UnreadyError) Error() string {
	return fmt.Sprintf("the vault is not ready for workspace %d", e.Workspace)
}

// ObstacleTexts describes obstacles in one line.
func ObstacleTexts(list []Obstacle) string {
	texts := make([]string, len(list))
	for i, o := range list {
		texts[i] = o.Text
	}
	return strings.Join(texts, "; ")
}

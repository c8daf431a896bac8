package control

import (
	"context"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// rules describes the rules of workspaces.
func (s *Service) rules() guarded[rule, api.ApprovalRule] {
	return guarded[rule, api.ApprovalRule]{ruleNoun, s, func(u api.ApprovalRule) string { return u.ID }, findRule, s.rulesOf}
}

var ruleNoun = guardNoun{"rule", "approval rule", "payout_rule", audit.PayoutRuleRequested, "the rule was given up",
	`UPDATE payout_rule SET approval_id = $2 WHERE id = $1`}

func (u rule) shown() api.ApprovalRule { return u.ApprovalRule }

func (u rule) subject() subject { return subject{u.ID, u.WorkspaceID, u.Mode, 1, u.ApprovalID} }

// ListRules returns the rules of a workspace, oldest first.
func (s *Service) ListRules(ctx context.Context, by db.Caller, in ListInput) (web.Page[api.ApprovalRule], error) {
	return s.rules().list(ctx, by, in)
}

// CreateRule creates a rule that people can satisfy. It waits for approval if it demands less than would apply without it, or if it may
// replace a rule of another role.
func (s *Service) CreateRule(ctx context.Context, by db.Caller, in RuleInput) (web.Created[api.ApprovalRule], error) {
	return s.rules().create(ctx, by, in.WorkspaceID, in.Mode, func(e *edit[rule], out *web.Created[api.ApprovalRule]) (err error) {
		u := rule{ApprovalRule: api.ApprovalRule{ID: e.NewID("rul"), WorkspaceID: e.workspaceID, ApprovalRuleTerms: in.terms(),
			Status: api.RuleActive, CreatedAt: e.Now()}}
		if len(e.all) >= maxOfEach {
			return fault.New(api.CodeTooMany, "a workspace has at most %d approval rules", maxOfEach)
		}
		if u.Currency, err = s.checkRule(e.Q, u.ApprovalRule); err == nil {
			err = checkPeople(e.Q, u.ApprovalRule, e.all, e.people)
		}
		if err != nil {
			return err
		}
		own := demand(u.ApprovalRuleTerms)
		overrides := func(one rule) bool {
			return one.guards() && meet(one.Mode, u.Mode) && own.overrides(demand(one.ApprovalRuleTerms))
		}
		looser := own.weaker(byDefault(e.people)) || slices.ContainsFunc(e.all, overrides)
		created := wording{audit.PayoutRuleCreated, "Set the rule: ", "Asked for the rule: "}
		u.ApprovalID, err = e.request(u.subject(), created, ruleChange{Rule: u.ApprovalRule}, looser)
		if err != nil {
			return err
		}
		alone := u.ApprovalID == "" && own.weaker(ofTwo)
		if u.ApprovalID != "" {
			u.Status = api.RulePending
		}
		out.Value = u.ApprovalRule
		return e.Exec(`INSERT INTO payout_rule (`+ruleColumns+`, alone, client_holder)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14, $15, $16, $17, (SELECT secret_seen_by FROM account WHERE id = $18))`,
			u.ID, u.WorkspaceID, u.AccountID, u.Rail, u.ClientID, orNull(u.AboveCents), orNull(u.UpToCents), u.Approvals, u.Role, u.KeysMayApprove,
			u.Status, db.NullText(u.ApprovalID), u.CreatedAt, u.Mode, u.Per, u.Each, alone, u.ClientID)
	})
}

// ConfirmRule puts a suspended rule in force again, or requests that where another person could approve it. Without another person the rule
// stays in force until one joins.
func (s *Service) ConfirmRule(ctx context.Context, by db.Caller, in Input) (api.ApprovalRule, error) {
	return s.rules().change(ctx, by, in.ID, func(e *edit[rule], old rule) (u api.ApprovalRule, err error) {
		u = old.ApprovalRule
		if u.Status != api.RuleSuspended || u.ApprovalID != "" {
			e.event = audit.None("the rule is not suspended, or its confirmation waits already")
			return u, nil
		}
		if err := possible(checkPeople(e.Q, u, e.all, e.people), "confirm it once there are, or remove it"); err != nil {
			return u, err
		}
		confirmed := wording{audit.PayoutRuleApproved, "Confirmed the rule: ", "Asked to confirm the rule: "}
		u.ApprovalID, err = e.replace(old.subject(), confirmed, ruleChange{Rule: u, Confirm: true}, true)
		if err != nil || u.ApprovalID != "" {
			return u, err
		}
		u.Status, u.SuspendedBecause = api.RuleActive, ""
		return u, e.Exec(`UPDATE payout_rule SET active_at = $2, client_holder = `+holderNow+` WHERE id = $1`, u.ID, e.Now())
	})
}

// holderNow is a column: the person who has the secret of the client that a rule names.
const holderNow = `(SELECT c.secret_seen_by FROM account c WHERE c.id = client_id)`

// RemoveRule removes a rule, or requests approval if payouts would then need less. A rule that still waits for approval is withdrawn.
func (s *Service) RemoveRule(ctx context.Context, by db.Caller, in Input) (api.ApprovalRule, error) {
	return s.rules().change(ctx, by, in.ID, func(e *edit[rule], old rule) (u api.ApprovalRule, err error) {
		u = old.ApprovalRule
		if u.ApprovalID != "" {
			waits, err := s.approvals.FindSame(e.Q, e.kind, u.WorkspaceID, u.ID, removal(u))
			if err != nil || waits != "" {
				e.event = audit.None("its removal waits already")
				return u, err
			}
		}
		frees := old.guards() && loosened(e.all, old, e.people)
		if !frees {
			frees, err = old.holdsUnsent(e.Q)
		}
		if err == nil {
			removed := wording{audit.PayoutRuleRemoved, "Removed the rule: ", "Asked to remove the rule: "}
			u.ApprovalID, err = e.replace(old.subject(), removed, removal(u), frees)
		}
		if err != nil || u.ApprovalID != "" {
			return u, err
		}
		u.Status = api.RuleRemoved
		return u, e.Exec(`DELETE FROM payout_rule WHERE id = $1`, u.ID)
	})
}

// loosened reports whether payouts need less without a rule: another one may match some of them, or none.
func loosened(all []rule, old rule, people access.SecondPerson) bool {
	own := old.demand()
	return byDefault(people).weaker(own) || slices.ContainsFunc(all, func(other rule) bool {
		return other.ID != old.ID && other.guards() && meet(other.Mode, old.Mode) && other.demand().weaker(own)
	})
}

// holdsUnsent reports whether payouts may be held because a rule is suspended that let them through without approval. Without the rule
// nothing would hold them.
func (u rule) holdsUnsent(q db.Q) (bool, error) {
	if u.SuspendedBecause != api.RuleMadeAlone || u.Approvals > 0 {
		return false, nil
	}
	return q.Row(`SELECT id FROM payout WHERE workspace_id = $1 AND status = 'pending' AND approvals_needed = 0 LIMIT 1`, u.WorkspaceID).Scan(new(string))
}

// checkRule returns a fault unless everything that a rule names exists and belongs to its workspace. It returns the currency of the rule's
// amounts.
func (s *Service) checkRule(q db.Q, u api.ApprovalRule) (currency string, err error) {
	if currency, err = foundAccount(q, u.WorkspaceID, u.AccountID, u.Mode); err == nil {
		currency, err = s.meant(currency, u.Rail), s.foundRail(u.Rail)
	}
	if err != nil {
		return "", err
	}
	if err := found(q, "machine client", u.ClientID, `SELECT a.id FROM workspace_member m JOIN account a ON a.id = m.account_id
		WHERE m.workspace_id = $1 AND m.account_id = $2 AND a.kind = 'client'`, u.WorkspaceID, u.ClientID); err != nil {
		return "", err
	}
	if u.Role == "" {
		return currency, nil
	}
	role, is, err := access.FindRole(q, u.WorkspaceID, u.Role)
	if err == nil && (!is || !role.Permissions.Has(access.PayoutsApprove)) {
		err = fault.Invalid("role", "must be a role of the workspace with "+string(access.PayoutsApprove))
	}
	return currency, err
}

// stillPossible returns a fault unless people can satisfy a rule that is being approved, together with those that were made meanwhile.
func (s *Service) stillPossible(tx *db.Tx, u api.ApprovalRule) error {
	all, people, err := s.rules().locked(tx, u.WorkspaceID)
	if err == nil {
		err = possible(checkPeople(tx.Q, u, slices.DeleteFunc(all, func(one rule) bool { return one.ID == u.ID }), people), "reject it")
	}
	return err
}

// possible replaces the fault of checkPeople about a rule that exists.
func possible(err error, instead string) error {
	return fault.Replace(err, api.CodeValidation, fault.New(api.CodeApprovalChanged, "there are no longer enough people who could approve by this rule: %s", instead))
}

func orNull(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}

// ruleChange is what an approval of a rule is for: a new one, the confirmation of a suspended one, or the removal of one.
type ruleChange struct {
	Rule    api.ApprovalRule `json:"rule"`
	Remove  bool             `json:"remove"`
	Confirm bool             `json:"confirm,omitzero"`
}

// removal returns the change that removes a rule, whatever the rule waits for.
func removal(u api.ApprovalRule) ruleChange {
	u.ApprovalID, u.Status, u.SuspendedBecause = "", "", ""
	return ruleChange{Rule: u, Remove: true}
}

func (c ruleChange) texts() (before, after string) {
	if c.Remove {
		return ruleText(c.Rule.ApprovalRuleTerms), ""
	}
	return "", ruleText(c.Rule.ApprovalRuleTerms)
}

func (c ruleChange) title() string {
	switch {
	case c.Remove:
		return "The end of a rule for payouts"
	case c.Confirm && c.Rule.SuspendedBecause == api.RuleClientSecret:
		return "A rule for a machine client that has a new secret"
	case c.Confirm:
		return "A rule that one person alone has made"
	}
	return "A new rule that demands less of payouts"
}

func (s *Service) ruleKind() approval.Kind {
	drops := []string{
		`DELETE FROM payout_rule WHERE id = $1 AND approval_id = $2 AND status = 'pending'`,
		`UPDATE payout_rule SET approval_id = NULL WHERE id = $1 AND approval_id = $2`,
	}
	actions := approval.Actions(audit.PayoutRuleApproved, audit.PayoutRuleRejected, audit.PayoutRuleWithdrawn, audit.PayoutRuleExpired)
	return guardKind(ruleNoun, actions, "the rule is not there any more: ask again", drops,
		func(tx *db.Tx, a approval.Approval, c ruleChange) (bool, error) {
			if !c.Remove {
				if err := s.stillPossible(tx, c.Rule); err != nil {
					return false, err
				}
			}
			var change db.Row
			switch id := c.Rule.ID; { // it is empty if the key of the payload is lost
			case c.Remove:
				change = tx.Row(`DELETE FROM payout_rule WHERE id = $1 AND approval_id = $2 RETURNING id`, id, a.ID)
			case c.Confirm:
				change = tx.Row(`UPDATE payout_rule SET alone = FALSE, client_holder = `+holderNow+`, approval_id = NULL
					WHERE id = $1 AND approval_id = $2 RETURNING id`, id, a.ID)
			default:
				change = tx.Row(`UPDATE payout_rule SET status = 'active', approval_id = NULL, active_at = $3
					WHERE id = $1 AND approval_id = $2 RETURNING id`, id, a.ID, tx.Now())
			}
			return change.Scan(new(string))
		})
}

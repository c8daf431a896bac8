package payout

import (
	"context"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/mail"
	"bursar/internal/web"
)

// ListRules returns the rules of a workspace, oldest first.
func (r *Rules) ListRules(ctx context.Context, by db.Caller, in GuardsInput) (web.Page[api.ApprovalRule], error) {
	workspaceID, err := r.mayRead(ctx, by, in.WorkspaceID)
	if err != nil {
		return web.Page[api.ApprovalRule]{}, err
	}
	return web.ReadUnpaged(ctx, r.db, r.cursors, in.PageParams, func(u api.ApprovalRule) string { return u.ID },
		func(q db.Q, after string, take int) ([]api.ApprovalRule, error) {
			rows, err := r.rulesOf(q, workspaceID, access.ModeOf(by.Actor), after, take)
			list := make([]api.ApprovalRule, len(rows))
			for i, one := range rows {
				list[i] = one.ApprovalRule
			}
			return list, err
		}, "approval rules", workspaceID, access.ModeOf(by.Actor))
}

// CreateRule creates a rule that people can satisfy. It waits for approval if it demands less than would apply without it, or if it may
// replace a rule of another role.
func (r *Rules) CreateRule(ctx context.Context, by db.Caller, in CreateRuleInput) (web.Created[api.ApprovalRule], error) {
	var none web.Created[api.ApprovalRule]
	workspaceID, number, err := r.enterGiven(ctx, by, in.WorkspaceID)
	if err == nil {
		err = access.RequireMode(by.Actor, workspaceID, modesOf(guardMode(in.Mode))...)
	}
	if err != nil {
		return none, err
	}
	return db.Write(ctx, r.db, by, func(tx *db.Tx) (web.Created[api.ApprovalRule], audit.Event, error) {
		u := api.ApprovalRule{ID: tx.NewID("rul"), WorkspaceID: workspaceID, ApprovalRuleTerms: in.terms(), Status: api.RuleActive, CreatedAt: tx.Now()}
		all, people, err := r.rulesForChange(tx, by, workspaceID)
		if err == nil && len(all) >= maxOfEach {
			err = fault.New(api.CodeTooMany, "a workspace has at most %d approval rules", maxOfEach)
		}
		if err == nil {
			u.Currency, err = r.checkRule(tx.Q, u)
		}
		if err == nil {
			err = checkPeople(tx.Q, u, all, people)
		}
		event := audit.Event{Action: audit.PayoutRuleCreated, WorkspaceID: workspaceID, ResourceID: u.ID, Description: "Set the rule: " + ruleText(u.ApprovalRuleTerms)}
		own := demand(u.ApprovalRuleTerms)
		overrides := func(one rule) bool {
			return one.guards() && meet(one.Mode, u.Mode) && own.overrides(demand(one.ApprovalRuleTerms))
		}
		if err == nil && (own.weaker(byDefault(people)) || slices.ContainsFunc(all, overrides)) {
			u.ApprovalID, err = r.approvals.RequestRelaxation(tx, by, people, approval.Request{Kind: ruleKind, Mode: onlyMode(u.Mode), WorkspaceID: u.WorkspaceID, Workspace: number,
				SubjectID: u.ID, Version: 1, Payload: ruleChange{Rule: u}})
		}
		if err != nil {
			return none, event, err
		}
		event.Changes = ruleChange{Rule: u}.changes()
		alone := u.ApprovalID == "" && own.weaker(ofTwo)
		if u.ApprovalID != "" {
			u.Status = api.RulePending
			event.Action, event.Description = audit.PayoutRuleRequested, "Asked for the rule: "+ruleText(u.ApprovalRuleTerms)
			event.Changes.Add("approval_id", nil, u.ApprovalID)
		}
		return web.Created[api.ApprovalRule]{Value: u}, event, tx.Exec(`INSERT INTO payout_rule (`+ruleColumns+`, alone, client_holder)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14, $15, $16, $17, (SELECT secret_seen_by FROM account WHERE id = $18))`,
			u.ID, u.WorkspaceID, u.AccountID, u.Rail, u.ClientID, orNull(u.AboveCents), orNull(u.UpToCents), u.Approvals, u.Role, u.KeysMayApprove,
			u.Status, db.NullText(u.ApprovalID), u.CreatedAt, u.Mode, u.Per, u.Each, alone, u.ClientID)
	})
}

// ConfirmRule puts a suspended rule in force again, or requests that where another person could approve it. Without another person the rule
// stays in force until one joins.
func (r *Rules) ConfirmRule(ctx context.Context, by db.Caller, in GuardInput) (api.ApprovalRule, error) {
	found, number, err := r.enterRule(ctx, by, in.ID)
	if err != nil {
		return api.ApprovalRule{}, err
	}
	return db.Write(ctx, r.db, by, func(tx *db.Tx) (api.ApprovalRule, audit.Event, error) {
		all, people, err := r.rulesForChange(tx, by, found.WorkspaceID)
		at := slices.IndexFunc(all, func(one rule) bool { return one.ID == in.ID })
		if err == nil && at < 0 {
			err = fault.Missing("approval rule")
		}
		if err != nil {
			return api.ApprovalRule{}, audit.Event{}, err
		}
		u := all[at].ApprovalRule
		if u.Status != api.RuleSuspended || u.ApprovalID != "" {
			return u, audit.None("the rule is not suspended, or its confirmation waits already"), nil
		}
		if err := possible(checkPeople(tx.Q, u, all, people), "confirm it once there are, or remove it"); err != nil {
			return api.ApprovalRule{}, audit.Event{}, err
		}
		c := ruleChange{Rule: u, Confirm: true}
		event := audit.Event{Action: audit.PayoutRuleApproved, WorkspaceID: u.WorkspaceID, ResourceID: u.ID, Description: "Confirmed the rule: " + ruleText(u.ApprovalRuleTerms),
			Changes: c.changes()}
		u.ApprovalID, err = r.approvals.RequestRelaxation(tx, by, people, approval.Request{Kind: ruleKind, Mode: onlyMode(u.Mode), WorkspaceID: u.WorkspaceID, Workspace: number,
			SubjectID: u.ID, Version: 1, Payload: c})
		if err != nil {
			return u, event, err
		}
		if u.ApprovalID != "" {
			event.Action, event.Description = audit.PayoutRuleRequested, "Asked to confirm the rule: "+ruleText(u.ApprovalRuleTerms)
			event.Changes.Add("approval_id", nil, u.ApprovalID)
			return u, event, tx.Exec(`UPDATE payout_rule SET approval_id = $2 WHERE id = $1`, u.ID, u.ApprovalID)
		}
		u.Status, u.SuspendedBecause = api.RuleActive, ""
		return u, event, tx.Exec(`UPDATE payout_rule SET active_at = $2, client_holder = `+holderNow+` WHERE id = $1`, u.ID, tx.Now())
	})
}

// holderNow is a column: the person who has the secret of the client that a rule names.
const holderNow = `(SELECT c.secret_seen_by FROM account c WHERE c.id = client_id)`

// enterRule finds a rule that the caller may change.
func (r *Rules) enterRule(ctx context.Context, by db.Caller, id string) (u rule, number int64, err error) {
	err = r.db.Read(ctx, func(q db.Q) (err error) {
		u, err = findRule(q, id)
		return err
	})
	if err == nil {
		number, err = r.enterGuard(ctx, by, u.WorkspaceID, u.Mode)
	}
	return u, number, fault.Replace(err, api.CodeNotFound, fault.Missing("approval rule"))
}

// RemoveRule removes a rule, or requests approval if payouts would then need less. A rule that still waits for approval is withdrawn.
func (r *Rules) RemoveRule(ctx context.Context, by db.Caller, in GuardInput) (api.ApprovalRule, error) {
	u, number, err := r.enterRule(ctx, by, in.ID)
	if err != nil {
		return api.ApprovalRule{}, err
	}
	return db.Write(ctx, r.db, by, func(tx *db.Tx) (api.ApprovalRule, audit.Event, error) {
		all, people, err := r.rulesForChange(tx, by, u.WorkspaceID)
		if err != nil {
			return api.ApprovalRule{}, audit.Event{}, err
		}
		at := slices.IndexFunc(all, func(one rule) bool { return one.ID == in.ID })
		if at < 0 {
			return api.ApprovalRule{}, audit.Event{}, fault.Missing("approval rule")
		}
		u := all[at].ApprovalRule
		event := audit.Event{Action: audit.PayoutRuleRemoved, WorkspaceID: u.WorkspaceID, ResourceID: u.ID, Description: "Removed the rule: " + ruleText(u.ApprovalRuleTerms)}
		if u.ApprovalID != "" {
			waits, err := r.approvals.FindSame(tx.Q, ruleKind, u.WorkspaceID, u.ID, removal(u))
			if err != nil || waits != "" {
				return u, audit.None("its removal waits already"), err
			}
			if _, err := r.approvals.Void(tx, by, u.ID, "the rule was given up"); err != nil {
				return api.ApprovalRule{}, event, err
			}
		}
		event.Changes = removal(u).changes()
		frees := all[at].guards() && loosened(all, at, people)
		if !frees {
			frees, err = all[at].holdsUnsent(tx.Q)
		}
		if err != nil {
			return api.ApprovalRule{}, event, err
		}
		if u.ApprovalID = ""; frees {
			u.ApprovalID, err = r.approvals.RequestRelaxation(tx, by, people, approval.Request{Kind: ruleKind, Mode: onlyMode(u.Mode), WorkspaceID: u.WorkspaceID, Workspace: number,
				SubjectID: u.ID, Version: 1, Payload: removal(u)})
			if err != nil {
				return api.ApprovalRule{}, event, err
			}
		}
		if u.ApprovalID != "" {
			event.Action, event.Description = audit.PayoutRuleRequested, "Asked to remove the rule: "+ruleText(u.ApprovalRuleTerms)
			event.Changes.Add("approval_id", nil, u.ApprovalID)
			return u, event, tx.Exec(`UPDATE payout_rule SET approval_id = $2 WHERE id = $1`, u.ID, u.ApprovalID)
		}
		u.Status = api.RuleRemoved
		return u, event, tx.Exec(`DELETE FROM payout_rule WHERE id = $1`, u.ID)
	})
}

// loosened reports whether payouts need less without a rule: another one may match some of them, or none.
func loosened(all []rule, at int, people access.SecondPerson) bool {
	own := all[at].demand()
	less := byDefault(people).weaker(own)
	for i, other := range all {
		less = less || i != at && other.guards() && meet(other.Mode, all[at].Mode) && other.demand().weaker(own)
	}
	return less
}

// holdsUnsent reports whether payouts may be held because a rule is suspended that let them through without approval. Without the rule
// nothing would hold them.
func (u rule) holdsUnsent(q db.Q) (bool, error) {
	if u.SuspendedBecause != api.RuleMadeAlone || u.Approvals > 0 {
		return false, nil
	}
	return q.Row(`SELECT id FROM payout WHERE workspace_id = $1 AND status = 'pending' AND approvals_needed = 0 LIMIT 1`, u.WorkspaceID).Scan(new(string))
}

// mayRead returns the workspace of a request, if the caller may read its rules and limits.
func (r *Rules) mayRead(ctx context.Context, by db.Caller, given *string) (workspaceID string, err error) {
	if workspaceID, err = r.authority.Workspace(ctx, by.Actor, given); err == nil {
		err = r.authority.RequireInWorkspace(ctx, by.Actor, workspaceID, access.PayoutsRead)
	}
	return workspaceID, err
}

func (r *Rules) enterGiven(ctx context.Context, by db.Caller, given *string) (workspaceID string, number int64, err error) {
	if workspaceID, err = r.authority.Workspace(ctx, by.Actor, given); err == nil {
		number, err = r.enter(ctx, by, workspaceID)
	}
	return workspaceID, number, err
}

// enter requires that the caller may change rules and limits, and readies the vault for an approval.
func (r *Rules) enter(ctx context.Context, by db.Caller, workspaceID string) (number int64, err error) {
	if number, err = r.authority.Enter(ctx, by.Actor, workspaceID, access.WSWrite); err == nil {
		err = r.vault.Ready(ctx, number)
	}
	return number, err
}

// enterGuard is enter for an existing rule or limit. A rule or limit that does not apply in the caller's mode does not exist for the
// caller.
func (r *Rules) enterGuard(ctx context.Context, by db.Caller, workspaceID, mode string) (number int64, err error) {
	if number, err = r.enter(ctx, by, workspaceID); err == nil {
		err = access.RequireMode(by.Actor, workspaceID, modesOf(mode)...)
	}
	if err != nil && !slices.ContainsFunc(modesOf(mode), by.Scope.InMode) {
		err = fault.Missing("rule or limit") // the caller replaces it
	}
	return number, err
}

// rulesForChange is lockedRules for a caller, who must still be allowed to change them.
func (r *Rules) rulesForChange(tx *db.Tx, by db.Caller, workspaceID string) (all []rule, people access.SecondPerson, err error) {
	all, people, err = r.lockedRules(tx, workspaceID)
	if err == nil {
		_, err = identity.HeldNow(tx, by, workspaceID, access.WSWrite)
	}
	return all, people, err
}

// lockedRules reads all rules of a workspace and who could approve, for a change.
func (r *Rules) lockedRules(tx *db.Tx, workspaceID string) (all []rule, people access.SecondPerson, err error) {
	if err = lockGuard(tx, workspaceID); err == nil {
		people, err = access.ObserveSecondPerson(tx, access.Payouts, workspaceID)
	}
	if err == nil {
		all, err = r.rulesOf(tx.Q, workspaceID, "", "", maxOfEach)
	}
	return all, people, err
}

// checkRule returns a fault unless everything that a rule names exists and belongs to its workspace. It returns the currency of the rule's
// amounts.
func (r *Rules) checkRule(q db.Q, u api.ApprovalRule) (currency string, err error) {
	if currency, err = foundAccount(q, u.WorkspaceID, u.AccountID, u.Mode); err == nil {
		currency, err = r.meant(currency, u.Rail), r.foundRail(u.Rail)
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
func (r *Rules) stillPossible(tx *db.Tx, u api.ApprovalRule) error {
	all, people, err := r.lockedRules(tx, u.WorkspaceID)
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

// ruleKind is the kind of approvals of rules that demand less.
const ruleKind = "payout_rule"

// ruleChange is what such an approval is for: a new rule, the confirmation of a suspended one, or the removal of one.
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

func (c ruleChange) changes() audit.Changes {
	var changes audit.Changes
	if c.Remove {
		changes.Add("rule", ruleText(c.Rule.ApprovalRuleTerms), nil)
	} else {
		changes.Add("rule", nil, ruleText(c.Rule.ApprovalRuleTerms))
	}
	return changes
}

func (c ruleChange) String() string {
	if c.Remove {
		return "the end of the rule: " + ruleText(c.Rule.ApprovalRuleTerms)
	}
	return "the rule: " + ruleText(c.Rule.ApprovalRuleTerms)
}

func (r *Rules) ruleKind() approval.Kind {
	return approval.KindOf[ruleChange]{
		Kind: approval.Kind{
			Name: ruleKind, Read: access.PayoutsRead, Make: access.WSWrite, Pair: access.Payouts, Mail: mail.APayoutChange,
			Actions: map[string]audit.Action{
				api.ApprovalApproved: audit.PayoutRuleApproved, api.ApprovalRejected: audit.PayoutRuleRejected,
				api.ApprovalWithdrawn: audit.PayoutRuleWithdrawn, api.ApprovalExpired: audit.PayoutRuleExpired,
			},
			Lock: func(tx *db.Tx, a approval.Approval) error { return lockGuard(tx, a.WorkspaceID) },
		},
		Apply: func(tx *db.Tx, a approval.Approval, c ruleChange) (audit.Changes, string, error) {
			if !c.Remove {
				if err := r.stillPossible(tx, c.Rule); err != nil {
					return nil, "", err
				}
			}
			change := tx.Row(`UPDATE payout_rule SET status = 'active', approval_id = NULL, active_at = $3 WHERE id = $1 AND approval_id = $2 RETURNING id`, c.Rule.ID, a.ID, tx.Now())
			if c.Confirm {
				change = tx.Row(`UPDATE payout_rule SET alone = FALSE, client_holder = `+holderNow+`, approval_id = NULL WHERE id = $1 AND approval_id = $2 RETURNING id`, c.Rule.ID, a.ID)
			}
			if c.Remove {
				change = tx.Row(`DELETE FROM payout_rule WHERE id = $1 AND approval_id = $2 RETURNING id`, c.Rule.ID, a.ID)
			}
			done, err := change.Scan(new(string)) // it is empty if the key of the payload is lost
			if err == nil && !done {
				err = fault.New(api.CodeApprovalChanged, "the rule is not there any more: ask again")
			}
			return c.changes(), c.String(), err
		},
		Drop: func(tx *db.Tx, a approval.Approval, c ruleChange) (audit.Changes, string, error) {
			if err := tx.Exec(`DELETE FROM payout_rule WHERE id = $1 AND approval_id = $2 AND status = 'pending'`, a.SubjectID, a.ID); err != nil {
				return nil, "", err
			}
			return nil, c.String(), tx.Exec(`UPDATE payout_rule SET approval_id = NULL WHERE id = $1 AND approval_id = $2`, a.SubjectID, a.ID)
		},
		Show: func(c ruleChange, _ bool) (string, []api.ApprovalField) {
			field := api.ApprovalField{Field: "rule", After: ruleText(c.Rule.ApprovalRuleTerms)}
			title := "A new rule that demands less of payouts"
			if c.Confirm {
				title = "A rule that one person alone has made"
			}
			if c.Confirm && c.Rule.SuspendedBecause == api.RuleClientSecret {
				title = "A rule for a machine client that has a new secret"
			}
			if c.Remove {
				title, field.Before, field.After = "The end of a rule for payouts", field.After, ""
			}
			return title, []api.ApprovalField{field}
		},
	}.Decoding()
}

package approval

import (
	"context"
	"fmt"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/mail"
)

// The kinds of approvals of a looser policy: by the second person of receiving methods, of payouts, or of both.
const (
	policyKind       = "receiving_policy"
	payoutPolicyKind = "payout_policy"
	bothPolicyKind   = "second_person_policy"
)

// policyChange is what an approval of a looser policy is for.
type policyChange struct {
	ApprovalBefore string `json:"approval_before"`
	ApprovalAfter  string `json:"approval_after"`
	HoursBefore    *int64 `json:"hours_before"`
	HoursAfter     *int64 `json:"hours_after"`
	DemandBefore   *int64 `json:"demand_before,omitzero"`
	DemandAfter    *int64 `json:"demand_after,omitzero"`
}

func (c policyChange) after() access.Policy {
	return access.Policy{Approval: c.ApprovalAfter, Hours: c.HoursAfter, Demand: c.DemandAfter}
}

func (s *Service) registerPolicies() {
	for name, pairs := range map[string][2]access.Pair{
		policyKind: {access.Receiving}, payoutPolicyKind: {access.Payouts}, bothPolicyKind: {access.Receiving, access.Payouts},
	} {
		s.Register(policyKindOf(name, pairs))
	}
}

func policyKindOf(name string, pairs [2]access.Pair) Kind {
	return KindOf[policyChange]{
		Kind: Kind{
			Name: name, Read: readOf(pairs[0]), Make: access.WSWrite, Pair: pairs[0], Also: pairs[1], Mail: mail.BankDetailsChange,
			Actions: Actions(audit.ReceivingPolicyApproved, audit.ReceivingPolicyRejected,
				audit.ReceivingPolicyWithdrawn, audit.ReceivingPolicyExpired),
			Lock: func(*db.Tx, Approval) error { return nil }, // the version decides
		},
		Apply: func(tx *db.Tx, a Approval, c policyChange) (audit.Changes, string, error) {
			receiving, payouts, err := observePairs(tx, a.WorkspaceID)
			if err != nil {
				return nil, "", err
			}
			if now := relaxationKind(receiving, payouts, c.after()); now != "" && now != name && name != bothPolicyKind {
				return nil, "", fault.New(api.CodeApprovalChanged, "this takes the agreement of others by now: reject it, then ask again")
			}
			saved, err := access.SavePolicy(tx, a.WorkspaceID, a.Version, c.after(), false)
			if err == nil && !saved {
				err = fault.New(api.CodeApprovalChanged, "the policy has changed since this was asked for: ask again")
			}
			return c.changes(), policyOf, err
		},
		Drop: func(*db.Tx, Approval, policyChange) (audit.Changes, string, error) { return nil, policyOf, nil },
		Show: func(c policyChange, _ bool) (string, []api.ApprovalField) {
			return "Less protection of receiving methods", []api.ApprovalField{
				{Field: "receiving_approval", Before: c.ApprovalBefore, After: c.ApprovalAfter},
				{Field: "receiving_cooling_hours", Before: hoursText(c.HoursBefore), After: hoursText(c.HoursAfter)},
				{Field: "second_person_hours", Before: hoursText(c.DemandBefore), After: hoursText(c.DemandAfter)},
			}
		},
	}.Decoding()
}

// readOf returns the permission to see the objects of a pair.
func readOf(pair access.Pair) access.Permission {
	if pair == access.Payouts {
		return access.PayoutsRead
	}
	return access.ReceivingRead
}

const policyOf = "a looser policy for receiving methods"

func hoursText(hours *int64) string {
	if hours == nil {
		return "default"
	}
	return fmt.Sprint(*hours)
}

func (c policyChange) changes() audit.Changes {
	var changes audit.Changes
	changes.Add("receiving_approval", c.ApprovalBefore, c.ApprovalAfter)
	changes.Add("receiving_cooling_hours", c.HoursBefore, c.HoursAfter)
	changes.Add("second_person_hours", c.DemandBefore, c.DemandAfter)
	return changes
}

// loosens reports whether a policy protects receiving methods less than the current one.
func loosens(p access.SecondPerson, after access.Policy) bool {
	rank := map[string]int{access.OnePerson: 0, access.Automatic: 1, access.TwoPersons: 2}
	then := p
	then.Policy = after
	return rank[after.Approval] < rank[p.Approval] || then.CoolingHours() < p.CoolingHours() || after.Loosens(p.Policy)
}

// relaxationKind returns the kind of approval that a policy waits for: by the second person of each pair that it guards less. Only pairs
// that have one, or had one until recently, count. The second person of payouts also agrees to less protection of receiving methods that
// have none. It is "" if there is none.
func relaxationKind(receiving, payouts access.SecondPerson, after access.Policy) string {
	less := loosens(receiving, after)
	asksReceiving := less && (receiving.Demanded() || receiving.Available())
	asksPayouts := payouts.Available() && (after.Loosens(payouts.Policy) || less && !asksReceiving)
	switch {
	case asksReceiving && asksPayouts:
		return bothPolicyKind
	case asksReceiving:
		return policyKind
	case asksPayouts:
		return payoutPolicyKind
	}
	return ""
}

// observePairs reads and records who may approve in each pair.
func observePairs(tx *db.Tx, workspaceID string) (receiving, payouts access.SecondPerson, err error) {
	if receiving, err = access.ObserveSecondPerson(tx, access.Receiving, workspaceID); err == nil {
		payouts, err = access.ObserveSecondPerson(tx, access.Payouts, workspaceID)
	}
	return receiving, payouts, err
}

// Policy returns how a workspace guards the destinations of its payments.
func (s *Service) Policy(ctx context.Context, by db.Caller, in PolicyInput) (api.ReceivingPolicy, error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, in.ID, access.WSRead); err != nil {
		return api.ReceivingPolicy{}, err
	}
	var answer api.ReceivingPolicy
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		answer, err = policyAnswer(q, in.ID, s.db.Now())
		return err
	})
	return answer, err
}

func policyAnswer(q db.Q, workspaceID string, now int64) (api.ReceivingPolicy, error) {
	p, err := access.FindSecondPerson(q, access.Receiving, workspaceID, now)
	if err != nil {
		return api.ReceivingPolicy{}, err
	}
	answer := api.ReceivingPolicy{WorkspaceID: workspaceID, ReceivingApproval: p.Approval, ReceivingCoolingHours: p.Hours, SecondPersonHours: p.Demand,
		Persons: 1, CoolingHours: p.CoolingHours(), Approvers: []api.ReceivingApprover{}}
	if p.Demanded() {
		answer.Persons = 2
	}
	v, err := vacancyOf(q, workspaceID, now)
	if err != nil {
		return answer, err
	}
	answer.DemandedUntil, answer.Extendable = v.Until, v.Extendable
	if p.Suspended() {
		answer.Suspended = &api.SuspendedPolicy{ReceivingApproval: p.Stored.Approval, ReceivingCoolingHours: p.Stored.Hours, SecondPersonHours: p.Stored.Demand}
	}
	for _, id := range p.Approvers() {
		who := api.ReceivingApprover{ID: id, CountsFrom: p.CountsFrom(id)}
		var proof string
		if _, err := q.Row(`SELECT name, email, email_proof FROM account WHERE id = $1`, id).Scan(&who.Name, &who.Email, &proof); err != nil {
			return answer, err
		}
		who.EmailProved = proof == access.ProvedAddress
		answer.Approvers = append(answer.Approvers, who)
	}
	for _, kind := range []string{policyKind, payoutPolicyKind, bothPolicyKind} {
		if err == nil && answer.ApprovalID == "" {
			answer.ApprovalID, err = PendingOf(q, kind, workspaceID)
		}
	}
	return answer, err
}

// UpdatePolicy changes how a workspace guards the destinations of its payments. A stricter policy applies immediately, and so does one that
// no one else could approve. Otherwise it waits for the second person of each pair that it protects less. Any change voids one that waits.
func (s *Service) UpdatePolicy(ctx context.Context, by db.Caller, in UpdatePolicyInput) (api.ReceivingPolicy, error) {
	number, err := s.authority.Enter(ctx, by.Actor, in.ID, access.WSWrite)
	if err == nil {
		err = s.vault.Ready(ctx, number)
	}
	if err != nil {
		return api.ReceivingPolicy{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.ReceivingPolicy, audit.Event, error) {
		event, err := s.updatePolicy(tx, by, number, in)
		if err != nil {
			return api.ReceivingPolicy{}, event, err
		}
		answer, err := policyAnswer(tx.Q, in.ID, tx.Now())
		return answer, event, err
	})
}

func (s *Service) updatePolicy(tx *db.Tx, by db.Caller, number int64, in UpdatePolicyInput) (audit.Event, error) {
	event := audit.Event{Action: audit.ReceivingPolicyUpdated, WorkspaceID: in.ID, ResourceID: in.ID, Description: "Changed how receiving methods are guarded"}
	if err := access.RequireModeOfWorkspace(tx.Q, by.Actor, in.ID); err != nil {
		return event, err
	}
	p, payouts, err := observePairs(tx, in.ID)
	if err != nil {
		return event, err
	}
	if _, err := identity.HeldNow(tx, by, in.ID, access.WSWrite); err != nil {
		return event, err
	}
	c := policyChange{p.Approval, p.Approval, p.Hours, p.Hours, p.Demand, p.Demand}
	if in.ReceivingApproval != nil {
		c.ApprovalAfter = *in.ReceivingApproval
	}
	if in.ReceivingCoolingHours != nil {
		c.HoursAfter = in.ReceivingCoolingHours
	}
	if in.SecondPersonHours != nil {
		c.DemandAfter = in.SecondPersonHours
	}
	if event.Changes = c.changes(); len(event.Changes) == 0 && !p.Suspended() {
		return audit.None("nothing changed"), nil
	}
	for _, kind := range []string{policyKind, payoutPolicyKind, bothPolicyKind} {
		if _, err := VoidKind(tx, by, kind, in.ID, "the policy was changed again"); err != nil {
			return event, err
		}
	}
	if kind := relaxationKind(p, payouts, c.after()); kind != "" {
		waits, err := s.Make(tx, by, Request{Kind: kind, WorkspaceID: in.ID, Workspace: number, SubjectID: in.ID, Version: p.Version, Payload: c})
		event.Action, event.Description = audit.ReceivingPolicyRequested, "Asked for "+policyOf
		event.Changes.Add("approval_id", nil, waits)
		return event, err
	}
	alone := !p.Available() && !payouts.Available()
	saved, err := access.SavePolicy(tx, in.ID, p.Version, c.after(), alone)
	if err == nil && !saved {
		err = fault.New(api.CodeApprovalChanged, "the policy has just changed: look at it again")
	}
	if alone {
		event.Description += ", while there was no second person"
	}
	return event, err
}

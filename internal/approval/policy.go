package approval

import (
	"context"
	"fmt"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/mail"
)

// policyKind is the name of approvals of a looser policy.
const policyKind = "receiving_policy"

// policyChange is what an approval of a looser policy is for.
type policyChange struct {
	ApprovalBefore string `json:"approval_before"`
	ApprovalAfter  string `json:"approval_after"`
	HoursBefore    *int64 `json:"hours_before"`
	HoursAfter     *int64 `json:"hours_after"`
}

func (s *Service) policyKind() Kind {
	return Kind{
		Name: policyKind, Read: access.ReceivingRead, Make: access.WSWrite, Pair: access.Receiving, Mail: mail.AChangeOfWhereMoneyGoes,
		Actions: map[string]audit.Action{
			api.ApprovalApproved: audit.ReceivingPolicyApproved, api.ApprovalRejected: audit.ReceivingPolicyRejected,
			api.ApprovalWithdrawn: audit.ReceivingPolicyWithdrawn, api.ApprovalExpired: audit.ReceivingPolicyExpired,
		},
		Lock: func(*db.Tx, Approval) error { return nil }, // the version decides
		Apply: func(tx *db.Tx, a Approval) (audit.Changes, string, error) {
			var c policyChange
			if err := a.Payload(&c); err != nil {
				return nil, "", err
			}
			saved, err := access.SavePolicy(tx, a.WorkspaceID, a.Version, c.ApprovalAfter, c.HoursAfter)
			if err == nil && !saved {
				err = fault.New(fault.ApprovalChanged, "the policy has changed since this was asked for: ask again")
			}
			return c.changes(), policyOf, err
		},
		Drop: func(*db.Tx, Approval) (audit.Changes, string, error) { return nil, policyOf, nil },
		Show: func(a Approval, _ bool) (string, []api.ApprovalField, error) {
			var c policyChange
			err := a.Payload(&c)
			return "Less protection of receiving methods", []api.ApprovalField{
				{Field: "receiving_approval", Before: c.ApprovalBefore, After: c.ApprovalAfter},
				{Field: "receiving_cooling_hours", Before: hoursText(c.HoursBefore), After: hoursText(c.HoursAfter)},
			}, err
		},
	}
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
	return changes
}

// loosens reports whether a policy protects less than the present one does.
func loosens(p access.SecondPerson, after policyChange) bool {
	rank := map[string]int{access.OnePerson: 0, access.Automatic: 1, access.TwoPersons: 2}
	then := p
	then.Approval, then.Hours = after.ApprovalAfter, after.HoursAfter
	return rank[after.ApprovalAfter] < rank[p.Approval] || then.CoolingHours() < p.CoolingHours()
}

// Policy returns how a workspace guards where money goes.
func (s *Service) Policy(ctx context.Context, by db.Caller, in PolicyInput) (api.ReceivingPolicy, error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, in.ID, access.WSRead); err != nil {
		return api.ReceivingPolicy{}, err
	}
	var answer api.ReceivingPolicy
	err := s.db.Read(ctx, func(q db.Q) error {
		p, err := access.FindSecondPerson(q, access.Receiving, in.ID, s.db.Now())
		if err == nil {
			answer, err = policyAnswer(q, in.ID, p)
		}
		return err
	})
	return answer, err
}

func policyAnswer(q db.Q, workspaceID string, p access.SecondPerson) (api.ReceivingPolicy, error) {
	answer := api.ReceivingPolicy{WorkspaceID: workspaceID, ReceivingApproval: p.Approval, ReceivingCoolingHours: p.Hours,
		Persons: 1, CoolingHours: p.CoolingHours(), Approvers: []api.ReceivingApprover{}}
	if p.Demanded() {
		answer.Persons = 2
	}
	for _, id := range p.Approvers() {
		who := api.ReceivingApprover{ID: id, CountsFrom: p.CountsFrom(id)}
		if _, err := q.Row(`SELECT name, email FROM account WHERE id = $1`, id).Scan(&who.Name, &who.Email); err != nil {
			return answer, err
		}
		answer.Approvers = append(answer.Approvers, who)
	}
	var err error
	answer.ApprovalID, err = PendingOf(q, policyKind, workspaceID)
	return answer, err
}

// UpdatePolicy changes how a workspace guards where money goes: at once if that protects more,
// or if there is nobody else who could approve; otherwise it waits for the second person. Any
// change voids one that waits.
func (s *Service) UpdatePolicy(ctx context.Context, by db.Caller, in UpdatePolicyInput) (api.ReceivingPolicy, error) {
	number, err := s.authority.Enter(ctx, by.Actor, in.ID, access.WSWrite)
	if err == nil {
		err = s.vault.Ready(ctx, number)
	}
	if err != nil {
		return api.ReceivingPolicy{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.ReceivingPolicy, audit.Event, error) {
		event := audit.Event{Action: audit.ReceivingPolicyUpdated, WorkspaceID: in.ID, ResourceID: in.ID, Description: "Changed how receiving methods are guarded"}
		p, err := access.ObserveSecondPerson(tx, access.Receiving, in.ID)
		if err != nil {
			return api.ReceivingPolicy{}, event, err
		}
		c := policyChange{p.Approval, p.Approval, p.Hours, p.Hours}
		if in.ReceivingApproval != nil {
			c.ApprovalAfter = *in.ReceivingApproval
		}
		if in.ReceivingCoolingHours != nil {
			c.HoursAfter = in.ReceivingCoolingHours
		}
		if event.Changes = c.changes(); len(event.Changes) == 0 {
			answer, err := policyAnswer(tx.Q, in.ID, p)
			return answer, audit.None("nothing changed"), err
		}
		if _, err := VoidKind(tx, by, policyKind, in.ID, "the policy was changed again"); err != nil {
			return api.ReceivingPolicy{}, event, err
		}
		waits := ""
		if loosens(p, c) {
			waits, err = s.AskToLoosen(tx, by, p, Request{Kind: policyKind, WorkspaceID: in.ID, Workspace: number, SubjectID: in.ID, Version: p.Version, Payload: c})
			if err != nil {
				return api.ReceivingPolicy{}, event, err
			}
		}
		if waits != "" {
			event.Action, event.Description = audit.ReceivingPolicyRequested, "Asked for "+policyOf
			event.Changes.Add("approval_id", nil, waits)
			answer, err := policyAnswer(tx.Q, in.ID, p)
			return answer, event, err
		}
		saved, err := access.SavePolicy(tx, in.ID, p.Version, c.ApprovalAfter, c.HoursAfter)
		if err == nil && !saved {
			err = fault.New(fault.ApprovalChanged, "the policy has just changed: look at it again")
		}
		if err != nil {
			return api.ReceivingPolicy{}, event, err
		}
		if p, err = access.FindSecondPerson(tx.Q, access.Receiving, in.ID, tx.Now()); err != nil {
			return api.ReceivingPolicy{}, event, err
		}
		if !p.Demanded() {
			event.Description += ": one person suffices"
		}
		answer, err := policyAnswer(tx.Q, in.ID, p)
		return answer, event, err
	})
}

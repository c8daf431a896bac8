package approval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/budget"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/mail"
	"bursar/internal/vault"
)

// maxStranded bounds how many approvals are searched for those that no one can approve.
const maxStranded = 1000

// vacancyMails bounds how often a user is mailed that a workspace has no second person.
var vacancyMails = budget.Kind{Name: "mails about second people, by account and workspace", Burst: 5, Every: time.Hour}

// Ready prepares the vault for approvals of a workspace, before a transaction that makes some.
func (s *Service) Ready(ctx context.Context, workspace int64) error {
	return s.vault.Ready(ctx, workspace)
}

// FindSame returns the pending approval of a kind about a subject with exactly the same payload, or "".
func (s *Service) FindSame(q db.Q, kind, workspaceID, subjectID string, same any) (id string, err error) {
	text, err := json.Marshal(same, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("write what an approval is for: %w", err)
	}
	rows, err := db.Collect(q, readRow, `SELECT `+columns+` WHERE a.subject_id = $1 AND a.state = 'pending' AND a.kind = $2 AND a.workspace_id = $3 ORDER BY a.id`,
		subjectID, kind, workspaceID)
	for _, r := range rows {
		sealed, err := s.vault.Open(r.Number, vault.ApprovalPayload(r.ID), r.Sealed)
		if errors.Is(err, vault.ErrLost) || r.ExpiresAt <= s.db.Now() {
			continue
		}
		var of payload
		if err == nil {
			err = json.Unmarshal(sealed, &of)
		}
		if err != nil {
			return "", err
		}
		if bytes.Equal(of.Of, text) {
			return r.ID, nil
		}
	}
	return "", err
}

// Stranded counts the pending approvals of a workspace that cannot be approved, because too few people are left who may.
func (s *Service) Stranded(tx *db.Tx, workspaceID string) (n int, err error) {
	people := map[access.Pair]access.SecondPerson{}
	for _, pair := range access.Pairs() {
		if people[pair], err = access.FindSecondPerson(tx.Q, pair, workspaceID, tx.Now()); err != nil {
			return 0, err
		}
	}
	return n, tx.Each(func(r db.Rows) error {
		a := Approval{record: record{Kind: r.Text(0), Involved: r.Text(1), NeededVotes: r.Int(2), Role: r.Text(3), CreatedAt: r.Int(4)}}
		if int64(len(s.approversOf(a, people))) < a.NeededVotes {
			n++
		}
		return nil
	}, `SELECT kind, involved, needed, role, created_at FROM approval WHERE workspace_id = $1 AND state = 'pending' ORDER BY id LIMIT $2`, workspaceID, maxStranded)
}

// ExtendInput names a workspace.
type ExtendInput struct {
	ID string `path:"id"`
}

// Extend makes a workspace demand a second person for longer, once, after the last one has left. It also makes an approver whom one person
// has added count later, once. Those who may approve in the workspace may extend, and the owners of its organization, who need not be
// members.
func (s *Service) Extend(ctx context.Context, by db.Caller, in ExtendInput) (api.SecondPersonExtended, error) {
	if err := s.mayExtend(ctx, by, in.ID); err != nil {
		return api.SecondPersonExtended{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.SecondPersonExtended, audit.Event, error) {
		out := api.SecondPersonExtended{WorkspaceID: in.ID}
		event := audit.Event{Action: audit.SecondPersonExtended, WorkspaceID: in.ID, ResourceID: in.ID, Description: "Extended how long changes need a second person"}
		_, found, err := access.LockMembers(tx, in.ID)
		if err == nil && !found {
			err = fault.Missing("workspace")
		}
		if err == nil {
			out.DemandedUntil, err = access.ExtendDemand(tx, in.ID)
		}
		if err == nil && out.DemandedUntil == 0 {
			v, err := vacancyOf(tx.Q, in.ID, tx.Now())
			out.DemandedUntil = max(v.Until, v.CountsFrom)
			return out, audit.None("there was nothing to extend"), err
		}
		out.Extended = true
		event.Changes.Add("demanded_until", nil, out.DemandedUntil)
		return out, event, err
	})
}

func (s *Service) mayExtend(ctx context.Context, by db.Caller, workspaceID string) error {
	held, err := s.authority.Permissions(ctx, by.Actor, workspaceID)
	if err == nil && (held.Has(access.ReceivingApprove) || held.Has(access.PayoutsApprove)) {
		return nil
	}
	var organizationID string
	if err := s.db.Read(ctx, func(q db.Q) error {
		_, err := q.Row(`SELECT organization_id FROM workspace WHERE id = $1`, workspaceID).Scan(&organizationID)
		return err
	}); err != nil {
		return err
	}
	if owner := s.authority.RequireInOrganization(ctx, by.Actor, organizationID, access.OrgSettingsWrite); owner == nil {
		return nil
	}
	if err == nil {
		err = fault.Denied(string(access.PayoutsApprove), fault.Scope{WorkspaceID: workspaceID})
	}
	return err
}

// Vacancy is a workspace that demands a second person though the last one has left. It may also be one where one person has added an
// approver because no other person could agree.
type Vacancy struct {
	WorkspaceID, Workspace string
	Until                  int64 // when the demand ends; 0 if there is a second person
	CountsFrom             int64 // when the latest approver whom one person has added begins to count; 0 if there is none
	Extendable             bool  // by the caller
}

// maxVacancies bounds how many workspaces of an organization are read.
const maxVacancies = 500

// Vacancies returns a workspace of the caller if it is vacant, and for an owner all vacant ones of its organization.
func (s *Service) Vacancies(ctx context.Context, by db.Caller, workspaceID string) (list []Vacancy, err error) {
	held, err := s.authority.Permissions(ctx, by.Actor, workspaceID)
	if err != nil {
		return nil, err
	}
	var organizationID string
	if err := s.db.Read(ctx, func(q db.Q) error {
		_, err := q.Row(`SELECT organization_id FROM workspace WHERE id = $1`, workspaceID).Scan(&organizationID)
		return err
	}); err != nil {
		return nil, err
	}
	owner := s.authority.RequireInOrganization(ctx, by.Actor, organizationID, access.OrgSettingsWrite) == nil
	approves := held.Has(access.ReceivingApprove) || held.Has(access.PayoutsApprove)
	return list, s.db.Read(ctx, func(q db.Q) error {
		list = nil
		found, err := db.Collect(q, func(r db.Rows) Vacancy { return Vacancy{WorkspaceID: r.Text(0), Workspace: r.Text(1)} },
			`SELECT w.id, w.name FROM workspace w JOIN receiving_policy p ON p.workspace_id = w.id
			WHERE w.organization_id = $1 AND (p.two_seen_at > 0 OR p.payouts_seen_at > 0) ORDER BY w.organization_id, w.slug LIMIT $2`, organizationID, maxVacancies)
		for _, one := range found {
			if err != nil {
				return err
			}
			if here := one.WorkspaceID == workspaceID; !here && !owner || here && !held.Has(access.WSRead) && !owner {
				continue
			}
			var v Vacancy
			if v, err = vacancyOf(q, one.WorkspaceID, s.db.Now()); v.Until != 0 || v.CountsFrom != 0 {
				list = append(list, Vacancy{one.WorkspaceID, one.Workspace, v.Until, v.CountsFrom, v.Extendable && (owner || approves)})
			}
		}
		return err
	})
}

// TellVacancies mails the approvers and owners of workspaces whose last second person has left.
func (s *Service) TellVacancies(ctx context.Context) error {
	for {
		done, err := db.Write(ctx, s.db, db.Caller{}, func(tx *db.Tx) (done bool, event audit.Event, err error) {
			workspaceID, appointed, err := access.AfterChange(tx)
			if err != nil || workspaceID == "" {
				return true, audit.None("there is nothing to tell"), err
			}
			if appointed != "" {
				return false, audit.None("a mail changes nothing"), s.mailFormer(tx, workspaceID, func(m *mail.Vacancy) { m.Appointed = appointed })
			}
			v, err := vacancyOf(tx.Q, workspaceID, tx.Now())
			if err == nil && v.Until != 0 {
				err = s.mailFormer(tx, workspaceID, func(m *mail.Vacancy) { m.Until = time.UnixMilli(v.Until) })
			}
			return false, audit.None("a mail changes nothing"), err
		})
		if err != nil || done {
			return err
		}
	}
}

// vacancyOf returns whether a workspace lacks a second person, and whether that can be extended.
func vacancyOf(q db.Q, workspaceID string, now int64) (v Vacancy, err error) {
	var p access.SecondPerson
	for _, pair := range access.Pairs() {
		if p, err = access.FindSecondPerson(q, pair, workspaceID, now); err != nil {
			return v, err
		}
		if p.Vacant() {
			v.Until, v.Extendable = max(v.Until, p.DemandEnds()), v.Extendable || p.Extendable()
		}
	}
	from, extendable, err := access.GrantedAlone(q, workspaceID, p.DemandHours(), now)
	v.CountsFrom, v.Extendable = from, v.Extendable || extendable
	return v, err
}

// AnnounceGrant mails the approvers and owners of a workspace, including those who could approve until recently. The mail reports that
// someone was given something by which they can approve, without a second person, and until when it does not count.
func (s *Service) AnnounceGrant(tx *db.Tx, workspaceID, by, what string, until int64) error {
	return s.mailFormer(tx, workspaceID, func(m *mail.Vacancy) { m.Until, m.GrantedBy, m.Granted = time.UnixMilli(until), by, what })
}

// mailFormer mails everyone who could extend the demand of a workspace, or was removed from it.
func (s *Service) mailFormer(tx *db.Tx, workspaceID string, fill func(*mail.Vacancy)) error {
	people, err := access.Former(tx.Q, workspaceID)
	for _, id := range people {
		if err != nil {
			return err
		}
		var m mail.Vacancy
		var member bool
		if member, err = tx.Row(`SELECT workspace_id FROM live_member WHERE workspace_id = $1 AND account_id = $2`, workspaceID, id).Scan(new(string)); err != nil {
			return err
		}
		var found bool
		if found, err = tx.Row(`SELECT a.email, w.name, o.name FROM account a, workspace w JOIN organization o ON o.id = w.organization_id
			WHERE a.id = $2 AND w.id = $1 AND a.status = 'active' AND a.email <> ''`, workspaceID, id).Scan(&m.To, &m.Workspace, &m.Organization); err != nil {
			return err
		}
		if !found || !s.mail.Configured() {
			continue
		}
		m.Link = s.publicURL + "/"
		if member {
			m.Link = s.publicURL + "/w/" + workspaceID + "/approvals"
		}
		fill(&m)
		if err = s.budgets.Take(tx, vacancyMails.Of(id+" "+workspaceID)); err == nil {
			err = s.mail.Queue(tx, mail.Notices, m.Message())
		}
		var limited *fault.Fault
		if errors.As(err, &limited) || errors.Is(err, mail.ErrFull) {
			err = nil
		}
	}
	return err
}

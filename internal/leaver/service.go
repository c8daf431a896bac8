// Package leaver ends all access of a person to an organization at once: memberships, ownership, invitations, client secrets and API keys.
// It lists the tasks that wait for them, and who can take them over.
package leaver

import (
	"cmp"
	"context"
	"fmt"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/organization"
	"bursar/internal/web"
)

// Service removes leavers.
type Service struct {
	db        *db.DB
	authority *access.Authority
	approvals *approval.Service
}

// New returns the service.
func New(d *db.DB, a *access.Authority, p *approval.Service) *Service {
	return &Service{db: d, authority: a, approvals: p}
}

// RemoveInput identifies an organization and the person who leaves it.
type RemoveInput struct {
	ID string `path:"id"`
	api.LeaverRemove
}

// Validate checks that exactly one person is named.
func (in *RemoveInput) Validate(v *fault.Violations) {
	if in.Email != nil {
		web.CheckEmail(v, "email", *in.Email)
	}
	web.CheckOptionalText(v, "user_id", in.UserID, 1, 100)
	switch {
	case in.Email != nil && in.UserID != nil:
		v.Add("user_id", "must not be sent with email")
	case in.Email == nil && in.UserID == nil:
		v.Add("email", "is required, or user_id is")
	}
}

// Remove ends all access of a person to an organization, or none of it. It returns an error if a workspace would be left without an admin,
// or the organization without an owner. One owner is enough, as for every removal of access. A dry run returns the same checklist and what
// prevents the removal, and changes nothing.
func (s *Service) Remove(ctx context.Context, by db.Caller, in RemoveInput) (api.Leaver, error) {
	if err := s.authority.RequireInOrganization(ctx, by.Actor, in.ID, access.OrgSettingsWrite); err != nil {
		return api.Leaver{}, err
	}
	if err := access.RequireAdministration(by.Actor, s.db.Now()); err != nil {
		return api.Leaver{}, err
	}
	if in.DryRun {
		var list checklist
		err := s.db.Read(ctx, func(q db.Q) error {
			err := access.RequireModeOfOrganization(q, by.Actor, in.ID)
			if err != nil {
				return err
			}
			who, err := find(q, in)
			if err == nil {
				list, err = s.check(q, in.ID, who)
			}
			return err
		})
		return list.Leaver, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Leaver, audit.Event, error) {
		list, err := s.lock(tx, by, in)
		if err != nil {
			return api.Leaver{}, audit.Event{}, err
		}
		if err := list.blocked(); err != nil {
			return api.Leaver{}, audit.Event{}, err
		}
		event, err := s.carryOut(tx, list)
		list.Removed = true
		return list.Leaver, event, err
	})
}

// person is the person who leaves.
type person struct{ id, email, name string }

// find finds the person that the request names.
func find(q db.Q, in RemoveInput) (who person, err error) {
	column, value := "id", ""
	if in.UserID != nil {
		value = *in.UserID
	} else {
		column, value = "email", identity.NormalizeEmail(*in.Email)
	}
	found, err := q.Row(`SELECT id, email, name FROM account WHERE `+column+` = $1 AND email <> '' AND kind = 'person'`, value).Scan(&who.id, &who.email, &who.name)
	if err == nil && !found {
		err = errNotIn
	}
	return who, err
}

var errNotIn = fault.Missing("person in the organization")

// lock locks the organization, then the workspaces by id, then the users. It returns the checklist as of then.
func (s *Service) lock(tx *db.Tx, by db.Caller, in RemoveInput) (list checklist, err error) {
	who, err := find(tx.Q, in)
	if err == nil {
		err = organization.LockOwner(tx, in.ID, who.id)
	}
	if err != nil {
		return list, err
	}
	if owns, err := organization.Owns(tx.Q, in.ID, by.ID); err != nil || !owns { // another owner may have removed the caller meanwhile
		return list, cmp.Or(err, error(fault.Denied(string(access.OrgSettingsWrite), fault.Scope{OrganizationID: in.ID})))
	}
	if err := access.RequireModeOfOrganization(tx.Q, by.Actor, in.ID); err != nil {
		return list, err
	}
	if err := access.LockAllMembers(tx, in.ID); err != nil {
		return list, err
	}
	if err := identity.LockUser(tx, who.id); err != nil { // they may be creating a key
		return list, err
	}
	if err := identity.LockCaller(tx, by); err != nil {
		return list, err
	}
	return s.check(tx.Q, in.ID, who)
}

// blocked returns the error that prevents the removal.
func (l checklist) blocked() error {
	switch {
	case len(l.LastAdminOf) > 0:
		return &fault.Fault{Code: api.CodeLastAdmin, Details: api.LastAdminDetails{Workspaces: l.LastAdminOf},
			Message: "this person is the last admin of " + names(l.LastAdminOf) + ": make another member an admin first"}
	case l.LastOwner:
		return fault.New(api.CodeLastOwner, "the last owner of an organization cannot be removed")
	}
	return nil
}

// names lists workspaces for a message, up to five.
func names(list []api.NamedWorkspace) (text string) {
	const most = 5
	for i, w := range list[:min(len(list), most)] {
		if i > 0 {
			text += ", "
		}
		text += w.WorkspaceName
	}
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// carryOut ends everything in the checklist, and returns an audit row for each part.
func (s *Service) carryOut(tx *db.Tx, l checklist) (audit.Event, error) {
	summary := audit.Event{Action: audit.LeaverRemoved, OrganizationID: l.OrganizationID, ResourceID: l.OrganizationID,
		Description: "Removed " + l.Email + " from the organization and all its workspaces"}
	summary.Changes.Add("person", cmp.Or(l.UserID, l.Email), nil)
	events := []audit.Event{summary}
	add := func(event audit.Event, err error) error {
		events = append(events, event)
		return err
	}
	if l.Owner {
		if err := add(organization.EndOwnership(tx, l.OrganizationID, l.userID, l.Email)); err != nil {
			return audit.Event{}, err
		}
	}
	for _, m := range l.Memberships {
		event := audit.Event{Action: audit.MemberRemoved, WorkspaceID: m.WorkspaceID, ResourceID: l.members[m.WorkspaceID],
			Description: "Removed " + l.Email + ", who leaves the organization"}
		event.Changes.Add("status", m.Status, nil)
		event.Changes.AddItems("roles", m.Roles, nil)
		if err := add(event, identity.EndLinks(tx, l.userID, m.WorkspaceID)); err != nil {
			return audit.Event{}, err
		}
	}
	if err := access.LeaveAll(tx, l.OrganizationID, l.userID); err != nil {
		return audit.Event{}, err
	}
	for _, i := range l.sent {
		if err := add(i.Void(tx, l.Email)); err != nil {
			return audit.Event{}, err
		}
	}
	for _, c := range l.known {
		if c.Shown {
			if err := add(identity.EndSecret(tx, l.Email, c)); err != nil {
				return audit.Event{}, err
			}
		}
	}
	for _, k := range l.APIKeys {
		event, revoked, err := identity.RevokeFor(tx, l.OrganizationID, l.userID, k)
		if err != nil {
			return audit.Event{}, err
		}
		if revoked {
			events = append(events, event)
		}
	}
	return audit.All(events...), nil
}

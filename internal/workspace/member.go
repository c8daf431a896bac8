package workspace

import (
	"context"
	"maps"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/web"
)

// Members lists the members of a workspace: machine clients, invitations and people, each
// oldest first.
func (s *Service) Members(ctx context.Context, by db.Caller, in MembersInput) (web.Page[api.Member], error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, in.ID, access.MembersRead); err != nil {
		return web.Page[api.Member]{}, err
	}
	return web.ReadUnpaged(ctx, s.db, s.cursors, in.PageParams, func(m api.Member) string { return m.ID },
		func(q db.Q, after string, take int) ([]api.Member, error) { return members(q, in.ID, after, take) }, "members", in.ID)
}

// InvitationsExpire returns when invitations to a workspace expire, in Unix milliseconds.
func (s *Service) InvitationsExpire(ctx context.Context, by db.Caller, workspaceID string, ids []string) (map[string]int64, error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, workspaceID, access.MembersRead); err != nil {
		return nil, err
	}
	ends := map[string]int64{}
	err := s.db.Read(ctx, func(q db.Q) error {
		for _, id := range ids {
			at, err := invitationExpires(q, workspaceID, id)
			if err != nil {
				return err
			}
			ends[id] = at
		}
		return nil
	})
	return ends, err
}

// AddMember adds a person to a workspace with a role. A person whom the organization knows by a verified address joins at once. Anyone else
// is invited and gets a link, and the caller cannot see whether the address belongs to a user. A person who is already a member or invited
// gets the role in addition. A role that approves waits for a second person, if there is one: see secondPersonFor.
func (s *Service) AddMember(ctx context.Context, by db.Caller, in AddMemberInput) (api.MemberAdded, error) {
	number, err := s.mayGrant(ctx, by, in.ID, in.Role)
	if err != nil {
		return api.MemberAdded{}, err
	}
	in.Email = identity.NormalizeEmail(in.Email)
	out, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (out approval.Outcome[api.MemberAdded], event audit.Event, err error) {
		role, err := lockGrant(tx, by, in.ID, in.Role)
		if err != nil {
			return out, event, err
		}
		g := grant{Email: in.Email, Role: role.Key, RoleName: role.Name, Permissions: role.Permissions.String()}
		member, found, err := memberByEmail(tx.Q, in.ID, in.Email)
		if err != nil {
			return out, event, err
		}
		var held map[string]bool
		if found {
			g.MemberID = member.ID
			held, err = rolesOf(tx.Q, in.ID, member.UserID)
		}
		if err == nil && !held[in.Role] {
			out.ApprovalID, event, err = s.hold(tx, by, number, in.ID, role.Permissions, g)
		}
		if err != nil || out.ApprovalID != "" {
			return out, event, err
		}
		out.Answer, event, err = s.addMember(tx, by, in, true)
		return out, event, err
	})
	if err != nil {
		return api.MemberAdded{}, err
	}
	return out.Result()
}

// addMember is AddMember after the decision, with the members locked. link requests the link of an invitation.
func (s *Service) addMember(tx *db.Tx, by db.Caller, in AddMemberInput, link bool) (api.MemberAdded, audit.Event, error) {
	added := api.MemberAdded{WorkspaceID: in.ID, Email: in.Email, Role: in.Role}
	event := audit.Event{Action: audit.MemberAdded, WorkspaceID: in.ID}
	organizationID, err := organizationOf(tx.Q, in.ID)
	if err != nil {
		return added, event, err
	}
	userID, _, err := identity.EnsureUser(tx, identity.NewUser{Email: in.Email, Invited: true})
	if err != nil {
		return added, event, err
	}
	member, found, err := access.MemberOf(tx.Q, in.ID, userID)
	if err != nil {
		return added, event, err
	}
	if found {
		added.UserID, event.ResourceID = member.ID, member.ID
		roles, err := rolesOf(tx.Q, in.ID, userID)
		if err != nil || roles[in.Role] {
			return added, audit.None("the role is held already"), err
		}
		event.Action, event.Description = audit.MemberRoleAssigned, "Assigned role "+in.Role+" to "+in.Email
		event.Changes.Add("roles", nil, in.Role)
		return added, event, give(tx, by, in.ID, userID, in.Role)
	}
	known, err := access.Knows(tx.Q, organizationID, userID)
	if err != nil {
		return added, event, err
	}
	if known {
		added.UserID, event.ResourceID, event.Description = userID, userID, "Added "+in.Email+" as "+in.Role
		event.Changes = memberChanges("", access.MemberActive, nil, []string{in.Role})
		if err := access.Join(tx, in.ID, userID, in.Role); err != nil {
			return added, event, err
		}
		return added, event, access.NoteOrigin(tx, by.Actor, in.ID, userID)
	}
	added.UserID, err = access.Invite(tx, in.ID, userID, in.Role, by.Name)
	if err == nil {
		err = access.NoteOrigin(tx, by.Actor, in.ID, userID)
	}
	if err != nil {
		return added, event, err
	}
	event.ResourceID, event.Description = added.UserID, "Invited "+in.Email+" as "+in.Role
	event.Changes = memberChanges("", access.MemberInvited, nil, []string{in.Role})
	if !link {
		return added, event, nil
	}
	made, err := s.links.Invite(tx, by, userID, in.Email, in.ID)
	added.InvitationURL = made.URL
	return added, event, err
}

// Reinvite creates a new link for a member who has not accepted the invitation.
func (s *Service) Reinvite(ctx context.Context, by db.Caller, in MemberInput) (api.MemberAdded, error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, in.ID, access.MembersWrite); err != nil {
		return api.MemberAdded{}, err
	}
	if err := access.RequireRecentLogin(by.Actor, s.db.Now()); err != nil {
		return api.MemberAdded{}, err
	}
	// The link lets its holder act as the invited member, so the caller must hold all of the member's permissions.
	var promised access.Set
	err := s.db.Read(ctx, func(q db.Q) error {
		member, err := invitedMember(q, in)
		if err == nil {
			promised, err = access.HeldBy(q, in.ID, member.UserID)
		}
		return err
	})
	if err == nil {
		err = s.authority.RequireToGrant(ctx, by.Actor, in.ID, promised)
	}
	if err == nil {
		err = access.RequireAdministrationToGrant(by.Actor, s.db.Now(), promised)
	}
	if err != nil {
		return api.MemberAdded{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.MemberAdded, audit.Event, error) {
		again := api.MemberAdded{WorkspaceID: in.ID, UserID: in.UserID}
		if _, err := lockMembers(tx, in.ID); err != nil {
			return again, audit.Event{}, err
		}
		member, err := invitedMember(tx.Q, in)
		if err != nil {
			return again, audit.Event{}, err
		}
		if now, err := access.HeldBy(tx.Q, in.ID, member.UserID); err != nil || now != promised {
			if err == nil {
				err = fault.New(api.CodeRolesChanged, "the roles of this member have just changed; check them and try again")
			}
			return again, audit.Event{}, err
		}
		if err := mayGive(tx, by, in.ID, access.MembersWrite, promised); err != nil {
			return again, audit.Event{}, err
		}
		if again.Email, err = nameOf(tx.Q, member.UserID); err != nil {
			return again, audit.Event{}, err
		}
		event := audit.Event{Action: audit.MemberInvited, WorkspaceID: in.ID, ResourceID: in.UserID, Description: "Invited " + again.Email + " again"}
		before, err := invitationExpires(tx.Q, in.ID, member.ID)
		if err != nil {
			return again, event, err
		}
		end, err := access.Prolong(tx, in.ID, member.UserID, by.Name)
		if err != nil {
			return again, event, err
		}
		event.Changes.Add("invitation_expires_at", before, end)
		link, err := s.links.Invite(tx, by, member.UserID, again.Email, in.ID)
		again.InvitationURL = link.URL
		return again, event, err
	})
}

// invitedMember finds a member who has not accepted yet.
func invitedMember(q db.Q, in MemberInput) (access.Member, error) {
	member, found, err := access.FindMember(q, in.ID, in.UserID)
	if err == nil && (!found || !member.Invited) {
		err = fault.Missing("invited member")
	}
	return member, err
}

// RemoveMember removes a person from a workspace, with all their roles there. The caller must hold all of the member's permissions. Every
// person can remove themselves.
func (s *Service) RemoveMember(ctx context.Context, by db.Caller, in MemberInput) (api.MemberRemoved, error) {
	leaves := in.UserID == by.ID && by.Type != audit.Client
	var err error
	if leaves {
		err = s.authority.RequireToLeave(ctx, by.Actor, in.ID)
	} else {
		err = s.authority.RequireInWorkspace(ctx, by.Actor, in.ID, access.MembersWrite)
	}
	if err != nil {
		return api.MemberRemoved{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.MemberRemoved, audit.Event, error) {
		removed := api.MemberRemoved{WorkspaceID: in.ID}
		member, roles, err := lockMember(tx, in.ID, in.UserID)
		if err == nil && !leaves {
			err = mayTouch(tx, by, in.ID, member.UserID)
		}
		if err == nil && roles[access.Admin] {
			err = notLastAdmin(tx.Q, in.ID, member.UserID)
		}
		if err != nil {
			return removed, audit.Event{}, err
		}
		name, err := nameOf(tx.Q, member.UserID)
		if err != nil {
			return removed, audit.Event{}, err
		}
		removed.UserID = member.ID
		may, err := access.HeldBy(tx.Q, in.ID, member.UserID)
		if err != nil {
			return removed, audit.Event{}, err
		}
		if err := identity.LockUser(tx, member.UserID); err != nil { // so that nothing they decide is stored after the answer
			return removed, audit.Event{}, err
		}
		event := audit.Event{Action: audit.MemberRemoved, WorkspaceID: in.ID, ResourceID: member.ID, Description: "Removed " + name,
			Changes: memberChanges(member.Status(), "", slices.Sorted(maps.Keys(roles)), nil)}
		if leaves {
			event.Description = name + " left"
		}
		if err := leave(tx, in.ID, member.UserID); err != nil {
			return removed, event, err
		}
		removed.ApprovalsWaiting, err = s.stranded(tx, in.ID, may)
		return removed, event, err
	})
}

// stranded counts the approvals that no remaining member can decide, after an approver has gone.
func (s *Service) stranded(tx *db.Tx, workspaceID string, had access.Set) (int, error) {
	if !had.Has(access.ReceivingApprove) && !had.Has(access.PayoutsApprove) {
		return 0, nil
	}
	return s.approvals.Stranded(tx, workspaceID)
}

// give gives a member a role, and stores who did.
func give(tx *db.Tx, by db.Caller, workspaceID, userID, role string) error {
	if err := access.Grant(tx, workspaceID, userID, role); err != nil {
		return err
	}
	return access.NoteRoleOrigin(tx, by.Actor, workspaceID, userID, role)
}

// memberChanges returns the changes of a membership. The status is "" if there is none.
func memberChanges(before, after string, rolesBefore, rolesAfter []string) audit.Changes {
	var c audit.Changes
	c.Add("status", before, after)
	c.AddItems("roles", rolesBefore, rolesAfter)
	return c
}

// lockMember finds a member, by the id of the user or of the invitation, and their roles. It locks both until the end of the
// transaction.
func lockMember(tx *db.Tx, workspaceID, id string) (access.Member, map[string]bool, error) {
	if _, err := lockMembers(tx, workspaceID); err != nil {
		return access.Member{}, nil, err
	}
	member, found, err := access.FindMember(tx.Q, workspaceID, id)
	if err == nil && !found {
		err = fault.Missing("member")
	}
	if err != nil {
		return access.Member{}, nil, err
	}
	roles, err := rolesOf(tx.Q, workspaceID, member.UserID)
	return member, roles, err
}

// mayGrant requires the permission to change members, and every permission of the role, which must exist. It returns the number of the
// workspace, for which the vault is ready.
func (s *Service) mayGrant(ctx context.Context, by db.Caller, workspaceID, key string) (number int64, err error) {
	number, err = s.authority.Enter(ctx, by.Actor, workspaceID, access.MembersWrite)
	if err != nil {
		return 0, err
	}
	var role access.Role
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		role, err = knownRole(q, workspaceID, key)
		return err
	})
	if err != nil {
		return 0, err
	}
	if err := s.authority.RequireToGrant(ctx, by.Actor, workspaceID, role.Permissions); err != nil {
		return 0, err
	}
	if err := access.RequireAdministrationToGrant(by.Actor, s.db.Now(), role.Permissions); err != nil {
		return 0, err
	}
	return number, s.approvals.Ready(ctx, number)
}

// mayTouch returns an error if the member holds a permission that the caller does not. It runs in the transaction, because the roles of
// both may have just changed.
func mayTouch(tx *db.Tx, by db.Caller, workspaceID, userID string) error {
	held, err := identity.HeldNow(tx, by, workspaceID, access.MembersWrite)
	if err != nil {
		return err
	}
	target, err := access.HeldBy(tx.Q, workspaceID, userID)
	if err != nil {
		return err
	}
	return access.RequireToTouch(held, target, workspaceID)
}

func knownRole(q db.Q, workspaceID, key string) (access.Role, error) {
	role, found, err := access.FindRole(q, workspaceID, key)
	if err == nil && !found {
		err = fault.Invalid("role", "is not a role of this workspace")
	}
	return role, err
}

// lockGrant locks the members of a workspace and finds the granted role. The role may have been deleted, or may need more, since mayGrant
// found it.
func lockGrant(tx *db.Tx, by db.Caller, workspaceID, key string) (access.Role, error) {
	if _, err := lockMembers(tx, workspaceID); err != nil {
		return access.Role{}, err
	}
	role, err := knownRole(tx.Q, workspaceID, key)
	if err != nil {
		return role, err
	}
	return role, mayGive(tx, by, workspaceID, access.MembersWrite, role.Permissions)
}

// mayGive requires a permission, and that the caller may grant others. The members are locked. The caller may have lost their access or
// session after the request was authorized.
func mayGive(tx *db.Tx, by db.Caller, workspaceID string, need access.Permission, given access.Set) error {
	held, err := identity.HeldNow(tx, by, workspaceID, need)
	if err == nil {
		err = access.RequireToGive(held, given, workspaceID)
	}
	if err == nil {
		err = access.RequireAdministrationToGrant(by.Actor, tx.Now(), given)
	}
	if err == nil {
		err = access.RequireModeToGrant(tx.Q, by.Actor, workspaceID, given)
	}
	return err
}

// notLastAdmin returns an error if the workspace has no other admin. The caller must have
// locked the members of the workspace.
func notLastAdmin(q db.Q, workspaceID, userID string) error {
	last, err := access.IsLastAdmin(q, workspaceID, userID)
	if err == nil && last {
		err = fault.New(api.CodeLastAdmin, "the last admin of a workspace can neither leave nor lose the role")
	}
	return err
}

package workspace

import (
	"context"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/web"
)

const (
	defaultColor = "#475467"
	// maxRoles is the maximum number of roles that a workspace defines.
	maxRoles = 100
)

// Roles lists the built-in roles, then those of the workspace.
func (s *Service) Roles(ctx context.Context, by db.Caller, in MembersInput) (web.Page[api.Role], error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, in.ID, access.MembersRead); err != nil {
		return web.Page[api.Role]{}, err
	}
	window, err := s.cursors.Unpaged(in.PageParams, web.Ascending, "roles", in.ID)
	if err != nil {
		return web.Page[api.Role]{}, err
	}
	var defined []api.Role
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		defined, err = definedRoles(q, in.ID)
		return err
	})
	if err != nil {
		return web.Page[api.Role]{}, err
	}
	var list []api.Role
	for _, role := range access.BuiltInRoles() {
		list = append(list, wire(role))
	}
	list = after(append(list, defined...), window.After)
	return web.NewPage(window, list[:min(len(list), window.Limit)], func(r api.Role) string { return r.Key }), nil
}

func after(list []api.Role, key string) []api.Role {
	for i, role := range list {
		if role.Key == key {
			return list[i+1:]
		}
	}
	if key != string(web.Ascending) {
		// The role at the cursor was deleted: the next ones have greater keys.
		for i, role := range list {
			if !role.BuiltIn && role.Key > key {
				return list[i:]
			}
		}
		return nil
	}
	return list
}

func wire(r access.Role) api.Role {
	return api.Role{Key: r.Key, Name: r.Name, Color: r.Color, Permissions: r.Permissions.Names(), BuiltIn: r.BuiltIn}
}

// Assign gives a member a role. A role that approves waits for a second person, if there is one: see secondPersonFor.
func (s *Service) Assign(ctx context.Context, by db.Caller, in AssignInput) (api.RoleAssignment, error) {
	number, err := s.mayGrant(ctx, by, in.ID, in.Role)
	if err != nil {
		return api.RoleAssignment{}, err
	}
	out, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (out approval.Outcome[api.RoleAssignment], event audit.Event, err error) {
		member, held, err := lockMember(tx, in.ID, in.UserID)
		var role access.Role
		if err == nil {
			role, err = lockGrant(tx, by, in.ID, in.Role)
		}
		if err == nil && !held[in.Role] {
			var name string
			if name, err = nameOf(tx.Q, member.UserID); err == nil {
				out.ApprovalID, event, err = s.hold(tx, by, number, in.ID, role.Permissions,
					grant{MemberID: member.ID, Email: name, Role: role.Key, RoleName: role.Name, Permissions: role.Permissions.String()})
			}
		}
		if err != nil || out.ApprovalID != "" {
			return out, event, err
		}
		out.Answer, event, err = s.assign(tx, by, in)
		return out, event, err
	})
	if err != nil {
		return api.RoleAssignment{}, err
	}
	return out.Result()
}

// assign is Assign after the decision.
func (s *Service) assign(tx *db.Tx, by db.Caller, in AssignInput) (api.RoleAssignment, audit.Event, error) {
	given := api.RoleAssignment{WorkspaceID: in.ID, Role: in.Role}
	member, roles, err := lockMember(tx, in.ID, in.UserID)
	if err != nil {
		return given, audit.Event{}, err
	}
	given.UserID = member.ID
	if roles[in.Role] {
		return given, audit.None("the role is held already"), nil
	}
	name, err := nameOf(tx.Q, member.UserID)
	if err != nil {
		return given, audit.Event{}, err
	}
	event := audit.Event{
		Action:      audit.MemberRoleAssigned,
		WorkspaceID: in.ID,
		ResourceID:  member.ID,
		Description: "Assigned role " + in.Role + " to " + name,
	}
	event.Changes.Add("roles", nil, in.Role)
	return given, event, give(tx, by, in.ID, member.UserID, in.Role)
}

// Unassign removes a role from a member. The caller must hold all of the member's permissions.
func (s *Service) Unassign(ctx context.Context, by db.Caller, in UnassignInput) (api.RoleAssignment, error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, in.ID, access.MembersWrite); err != nil {
		return api.RoleAssignment{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.RoleAssignment, audit.Event, error) {
		taken := api.RoleAssignment{WorkspaceID: in.ID, Role: in.Role}
		member, roles, err := lockMember(tx, in.ID, in.UserID)
		if err == nil && !roles[in.Role] {
			err = fault.Missing("role assignment")
		}
		if err == nil {
			err = mayTouch(tx, by, in.ID, member.UserID)
		}
		if err == nil && in.Role == access.Admin {
			err = notLastAdmin(tx.Q, in.ID, member.UserID)
		}
		if err != nil {
			return taken, audit.Event{}, err
		}
		taken.UserID = member.ID
		name, err := nameOf(tx.Q, member.UserID)
		if err != nil {
			return taken, audit.Event{}, err
		}
		event := audit.Event{
			Action:      audit.MemberRoleRemoved,
			WorkspaceID: in.ID,
			ResourceID:  member.ID,
			Description: "Removed role " + in.Role + " from " + name,
		}
		event.Changes.Add("roles", in.Role, nil)
		may, err := access.HeldBy(tx.Q, in.ID, member.UserID)
		if err == nil {
			err = identity.LockUser(tx, member.UserID) // so that nothing they decide by the role is stored after the answer
		}
		if err == nil {
			err = access.RemoveRole(tx, in.ID, member.UserID, in.Role)
		}
		if err == nil {
			taken.ApprovalsWaiting, err = s.stranded(tx, in.ID, may)
		}
		return taken, event, err
	})
}

// roleChanges returns the changes between two versions of a role. An empty version stands for no role.
func roleChanges(before, after access.Role) audit.Changes {
	var c audit.Changes
	c.Add("name", before.Name, after.Name)
	c.Add("color", before.Color, after.Color)
	c.AddItems("permissions", before.Permissions.Names(), after.Permissions.Names())
	return c
}

// DefineRole creates or changes a role of the workspace. The caller must hold all permissions of the role, before and after. Adding a
// permission to approve to a role that members have waits for a second person, if there is one.
func (s *Service) DefineRole(ctx context.Context, by db.Caller, in DefineRoleInput) (api.Role, error) {
	number, err := s.authority.Enter(ctx, by.Actor, in.ID, access.RolesWrite)
	if err == nil {
		err = s.authority.RequireToGrant(ctx, by.Actor, in.ID, in.set)
	}
	if err == nil {
		err = s.approvals.Ready(ctx, number)
	}
	if err != nil {
		return api.Role{}, err
	}
	out, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (out approval.Outcome[api.Role], event audit.Event, err error) {
		if _, err := lockMembers(tx, in.ID); err != nil {
			return out, event, err
		}
		held, err := identity.HeldNow(tx, by, in.ID, access.RolesWrite)
		if err == nil {
			err = access.RequireToGive(held, in.set, in.ID)
		}
		if err != nil {
			return out, event, err
		}
		before, exists, err := access.FindRole(tx.Q, in.ID, in.Role)
		if err == nil && exists {
			err = access.RequireToTouch(held, before.Permissions, in.ID)
		}
		var holders []holder
		if err == nil {
			holders, err = holdersOf(tx.Q, in.ID, in.Role)
		}
		if more := in.set &^ before.Permissions; err == nil && len(holders) > 0 && more != 0 {
			err = access.RequireAdministrationToGrant(by.Actor, tx.Now(), more)
			if err == nil {
				err = access.RequireModeToGrant(tx.Q, by.Actor, in.ID, more)
			}
			if err == nil {
				g := grant{Role: in.Role, RoleName: before.Name, Before: before.Permissions.String(), Permissions: in.set.String(), Define: &in.RoleDefine, Holders: holders}
				out.ApprovalID, event, err = s.hold(tx, by, number, in.ID, more, g)
			}
		}
		if err != nil || out.ApprovalID != "" {
			return out, event, err
		}
		out.Answer, event, err = s.saveRole(tx, by, in, before, exists)
		return out, event, err
	})
	if err != nil {
		return api.Role{}, err
	}
	return out.Result()
}

// saveRole is DefineRole after the decision, with the members locked.
func (s *Service) saveRole(tx *db.Tx, by db.Caller, in DefineRoleInput, before access.Role, exists bool) (api.Role, audit.Event, error) {
	event := audit.Event{Action: audit.RoleUpdated, WorkspaceID: in.ID, ResourceID: in.Role, Description: "Updated role " + in.Name}
	role := access.Role{Key: in.Role, Name: in.Name, Color: defaultColor, Permissions: in.set}
	if exists {
		role.Color = before.Color
	}
	if in.Color != nil {
		role.Color = *in.Color
	}
	answer := wire(role)
	answer.ID = role.Key
	switch {
	case exists && role == before:
		return answer, audit.None("nothing changed"), nil
	case !exists:
		event.Action, event.Description = audit.RoleCreated, "Created role "+in.Name
		if err := roomForRole(tx.Q, in.ID); err != nil {
			return api.Role{}, event, err
		}
	}
	event.Changes = roleChanges(before, role)
	widened := exists && in.set&^before.Permissions != 0
	if widened {
		if err := access.NoteWideningOrigin(tx, by.Actor, in.ID, in.Role); err != nil {
			return api.Role{}, event, err
		}
	}
	if before.Permissions&^in.set != 0 {
		if err := lockHolders(tx, in.ID, in.Role); err != nil {
			return api.Role{}, event, err
		}
	}
	return answer, event, storeRole(tx, in.ID, role, widened)
}

// lockHolders locks the users who have a role.
func lockHolders(tx *db.Tx, workspaceID, role string) error {
	holders, err := holdersOf(tx.Q, workspaceID, role)
	if err != nil {
		return err
	}
	ids := make([]string, len(holders))
	for i, one := range holders {
		ids[i] = one.ID
	}
	return identity.LockUsers(tx, ids)
}

// DeleteRole deletes a role that no member has. The caller must hold all of its permissions.
func (s *Service) DeleteRole(ctx context.Context, by db.Caller, in DeleteRoleInput) (api.RoleDeleted, error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, in.ID, access.RolesWrite); err != nil {
		return api.RoleDeleted{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.RoleDeleted, audit.Event, error) {
		deleted := api.RoleDeleted{WorkspaceID: in.ID, Role: in.Role, Deleted: true}
		if _, err := lockMembers(tx, in.ID); err != nil {
			return deleted, audit.Event{}, err
		}
		role, exists, err := access.FindRole(tx.Q, in.ID, in.Role)
		if err == nil && !exists {
			err = fault.Missing("role")
		}
		var held access.Set
		if err == nil {
			held, err = identity.HeldNow(tx, by, in.ID, access.RolesWrite)
		}
		if err == nil {
			err = access.RequireToTouch(held, role.Permissions, in.ID)
		}
		if err == nil {
			err = roleUnused(tx.Q, in.ID, in.Role)
		}
		if err != nil {
			return deleted, audit.Event{}, err
		}
		return deleted, audit.Event{
			Action:      audit.RoleDeleted,
			WorkspaceID: in.ID,
			ResourceID:  in.Role,
			Description: "Deleted role " + role.Name,
			Changes:     roleChanges(role, access.Role{}),
		}, removeRole(tx, in.ID, in.Role)
	})
}

package server_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"bursar/api"
	"bursar/internal/server/servertest"
)

type modelMember struct {
	id, email string
	roles     []string
}

type modelRole struct{ Key, Name, Color, Permissions string }

// roleKeys are the roles that can be given now, and one that cannot.
func (m *model) roleKeys() []string {
	keys := []string{"admin", "viewer", "auditor", "no_such_role"}
	for _, role := range m.roles {
		keys = append(keys, role.Key)
	}
	return keys
}

func (m *model) role(key string) *modelRole {
	for _, role := range m.roles {
		if role.Key == key {
			return role
		}
	}
	return nil
}

func (m *model) known(key string) bool { return key != "no_such_role" }

func (m *model) admins() (count int) {
	for _, member := range m.members {
		if slices.Contains(member.roles, "admin") {
			count++
		}
	}
	return count
}

func (m *model) addMember(rt *rapid.T) {
	member := &modelMember{email: servertest.NewEmail()}
	if len(m.members) > 1 && rapid.Bool().Draw(rt, "known already") {
		member = pick(rt, m.members[1:], "member")
	}
	role := pick(rt, m.roleKeys(), "role")
	request := body{"email": member.email, "role": role}
	switch {
	case !m.known(role):
		m.call(rt, "POST", m.path("/members"), request, "400 VALIDATION_ERROR")
	case slices.Contains(member.roles, role):
		m.call(rt, "POST", m.path("/members"), request, "200")
	default:
		id := m.call(rt, "POST", m.path("/members"), request, "200").Text("user_id")
		action := "iam.member.role_assigned"
		if member.id == "" {
			member.id, action = id, "iam.member.added"
			m.members = append(m.members, member)
		}
		member.roles = append(member.roles, role)
		m.did(action, id)
	}
}

// target picks a member. The caller must stay an admin to go on.
func (m *model) target(rt *rapid.T) *modelMember {
	member := pick(rt, m.members, "member")
	if member == m.members[0] && m.admins() > 1 {
		rt.Skip("the caller would lose access")
	}
	return member
}

func (m *model) removeMember(rt *rapid.T) {
	member := m.target(rt)
	if member == m.members[0] {
		m.call(rt, "DELETE", m.path("/members/"+member.id), nil, "422 LAST_ADMIN")
		return
	}
	m.call(rt, "DELETE", m.path("/members/"+member.id), nil, "200")
	m.call(rt, "DELETE", m.path("/members/"+member.id), nil, "404 RESOURCE_NOT_FOUND")
	m.members = slices.DeleteFunc(m.members, func(other *modelMember) bool { return other == member })
	m.did("iam.member.removed", member.id)
}

func (m *model) assignRole(rt *rapid.T) {
	member, role := pick(rt, m.members, "member"), pick(rt, m.roleKeys(), "role")
	request := body{"user_id": member.id, "role": role}
	if !m.known(role) {
		m.call(rt, "POST", m.path("/roles"), request, "400 VALIDATION_ERROR")
		return
	}
	m.call(rt, "POST", m.path("/roles"), request, "200")
	if !slices.Contains(member.roles, role) {
		member.roles = append(member.roles, role)
		m.did("iam.member.role_assigned", member.id)
	}
}

func (m *model) unassignRole(rt *rapid.T) {
	member, role := m.target(rt), pick(rt, m.roleKeys(), "role")
	path := m.path("/roles/" + member.id + "/" + role)
	switch {
	case !slices.Contains(member.roles, role):
		m.call(rt, "DELETE", path, nil, "404 RESOURCE_NOT_FOUND")
	case role == "admin" && m.admins() == 1:
		m.call(rt, "DELETE", path, nil, "422 LAST_ADMIN")
	default:
		m.call(rt, "DELETE", path, nil, "200")
		member.roles = slices.DeleteFunc(member.roles, func(held string) bool { return held == role })
		m.did("iam.member.role_removed", member.id)
	}
}

func (m *model) defineRole(rt *rapid.T) {
	permissions := rapid.SliceOfDistinct(rapid.SampledFrom(servertest.BuiltInRoles()["member"]), rapid.ID[string]).Draw(rt, "permissions")
	role := modelRole{
		Key:         pick(rt, []string{"cashier", "clerk", "courier"}, "key"),
		Name:        pick(rt, []string{"One", "Two"}, "name"),
		Color:       "#475467",
		Permissions: strings.Join(slices.Sorted(slices.Values(permissions)), " "),
	}
	request := body{"name": role.Name, "permissions": permissions}
	before := m.role(role.Key)
	if before != nil {
		role.Color = before.Color
	}
	if color, ok := maybe(rt, []string{"#000000", "#ffffff"}, "color"); ok {
		role.Color, request["color"] = color, color
	}
	m.call(rt, "PUT", m.path("/roles/"+role.Key), request, "200")
	switch {
	case before == nil:
		m.roles = append(m.roles, &role)
		m.did("iam.role.created", role.Key)
	case *before != role:
		*before = role
		m.did("iam.role.updated", role.Key)
	}
}

func (m *model) deleteRole(rt *rapid.T) {
	role := pick(rt, m.roles, "role")
	if slices.ContainsFunc(m.members, func(member *modelMember) bool { return slices.Contains(member.roles, role.Key) }) {
		m.call(rt, "DELETE", m.path("/roles/"+role.Key), nil, "422 ROLE_IN_USE")
		return
	}
	m.call(rt, "DELETE", m.path("/roles/"+role.Key), nil, "200")
	m.roles = slices.DeleteFunc(m.roles, func(other *modelRole) bool { return other == role })
	m.did("iam.role.deleted", role.Key)
}

func (m *model) slugTaken(slug string, but *api.Workspace) bool {
	return slices.ContainsFunc(m.spaces, func(w *api.Workspace) bool { return w != but && w.Slug == slug })
}

func (m *model) createWorkspace(rt *rapid.T) {
	name := pick(rt, []string{"Main", "Branch Office"}, "name")
	w := &api.Workspace{Name: name, OrganizationID: m.org}
	base := strings.ReplaceAll(strings.ToLower(name), " ", "-")
	w.Slug = base
	for number := 2; m.slugTaken(w.Slug, nil); number++ {
		w.Slug = fmt.Sprintf("%s-%d", base, number)
	}
	request := body{"name": name, "organization_id": m.org}
	if slug, ok := maybe(rt, []string{"main", "branch-office", "shop"}, "slug"); ok {
		request["slug"], w.Slug = slug, slug
	}
	if m.slugTaken(w.Slug, nil) {
		m.call(rt, "POST", "/v1/workspaces", request, "422 SLUG_TAKEN")
		return
	}
	w.ID = m.call(rt, "POST", "/v1/workspaces", request, "200").Text("id")
	m.spaces = append(m.spaces, w) // whose row is in its own log
}

func (m *model) updateWorkspace(rt *rapid.T) {
	w := m.spaces[0]
	after, request := *w, body{}
	if name, ok := maybe(rt, []string{"Main", "Renamed"}, "name"); ok {
		after.Name, request["name"] = name, name
	}
	if slug, ok := maybe(rt, []string{"main", "main-2", "shop", "moved"}, "slug"); ok {
		after.Slug, request["slug"] = slug, slug
	}
	switch {
	case m.slugTaken(after.Slug, w):
		m.call(rt, "PATCH", m.path(""), request, "422 SLUG_TAKEN")
	case after == *w:
		m.call(rt, "PATCH", m.path(""), request, "200")
	default:
		m.call(rt, "PATCH", m.path(""), request, "200")
		*w = after
		m.did("iam.workspace.updated", w.ID)
	}
}

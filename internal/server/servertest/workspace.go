package servertest

import (
	"slices"
	"strings"
	"testing"

	"bursar/api"
)

// OrganizationPath returns a path in the tenant's organization.
func (x *Tenant) OrganizationPath(rest string) string {
	return "/v1/organizations/" + x.OrganizationID + rest
}

// Members returns the members of the tenant's workspace.
func (x *Tenant) Members(t testing.TB) []api.Member {
	t.Helper()
	return Decoded[[]api.Member](x.Owner.On(t).Get(x.Path("/members")))
}

// MemberWith returns the member with a user id, or an empty one if there is none.
func (x *Tenant) MemberWith(t testing.TB, userID string) api.Member {
	t.Helper()
	for _, m := range x.Members(t) {
		if m.ID == userID {
			return m
		}
	}
	return api.Member{}
}

// BuiltInRoles is the table of roles and permissions of the contract.
func BuiltInRoles() map[string][]string {
	viewer := []string{"ws.read", "ws.members.read", "ws.directory.read", "ws.payouts.read", "ws.accounts.read"}
	with := func(base []string, more ...string) []string { return append(slices.Clone(base), more...) }
	member := with(viewer, "ws.directory.write", "ws.receiving.read")
	return map[string][]string{
		"admin": {"ws.read", "ws.write", "ws.members.read", "ws.members.write", "ws.roles.write",
			"ws.directory.read", "ws.directory.write", "ws.directory.delete", "ws.receiving.read", "ws.receiving.write", "ws.receiving.approve",
			"ws.tags.write", "ws.audit.read", "ws.audit.export", "ws.keys.read", "ws.keys.write",
			"ws.webhooks.read", "ws.webhooks.write", "ws.payouts.read", "ws.payouts.create", "ws.payouts.approve",
			"ws.accounts.read", "ws.accounts.write"},
		"viewer":                  viewer,
		"member":                  member,
		"directory_manager":       with(member, "ws.directory.delete", "ws.receiving.write", "ws.tags.write"),
		"disbursement_manager":    with(viewer, "ws.receiving.read", "ws.payouts.create"),
		"disbursement_authorizer": with(viewer, "ws.receiving.read", "ws.receiving.approve", "ws.payouts.approve"),
		"auditor":                 with(viewer, "ws.audit.read", "ws.audit.export"),
	}
}

// BadNames returns invalid names for workspaces, organizations and roles.
func BadNames() []string {
	return []string{"", "   ", strings.Repeat("a", 101), "tab\there", "nul\u0000"}
}

// BadSlugs returns invalid slugs.
func BadSlugs() []string {
	return []string{"", "a", strings.Repeat("a", 49), "Upper", "under_score", "with space", "é-è", "line\nbreak", "dot.dot"}
}

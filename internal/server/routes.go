package server

import (
	"bursar/internal/audit"
	"bursar/internal/web"
)

// route is one operation of the API.
type route struct {
	method   string
	path     string
	endpoint web.Endpoint
}

// routes is the whole API. Read changes nothing, Change may be audited under the
// action that it names, Open takes strangers.
func (s *Server) routes() []route {
	var (
		site  = s.site()
		id    = s.identity
		dir   = s.directory
		work  = s.workspaces
		orgs  = s.organizations
		trail = s.audit
	)
	return []route{
		{"POST", "/v1/auth/device-code", web.Open(site, id.NewDeviceCode)},
		{"GET", "/v1/auth/device-code/{code}", web.Open(site, id.Poll)},
		{"POST", "/v1/auth/device-code/{code}/approve", web.Change(site, audit.DeviceApproved, id.Approve)},
		{"POST", "/v1/auth/device-code/{code}/deny", web.Change(site, audit.DeviceDenied, id.Deny)},
		{"POST", "/v1/auth/token", web.Open(site, id.Exchange)},
		{"POST", "/v1/auth/logout", web.Change(site, audit.SessionRevoked, id.Logout)},
		{"GET", "/v1/auth/me", web.Read(site, id.Me)},
		{"GET", "/v1/auth/activity", web.Read(site, trail.Activity)},

		{"GET", "/v1/api-keys", web.Read(site, id.APIKeys)},
		{"POST", "/v1/api-keys", web.Change(site, audit.KeyCreated, id.CreateKey)},
		{"POST", "/v1/api-keys/{id}/rotate", web.Change(site, audit.KeyRotated, id.RotateKey)},
		{"DELETE", "/v1/api-keys/{id}", web.Change(site, audit.KeyRevoked, id.RevokeKey)},

		{"GET", "/v1/directory", web.Read(site, dir.List)},
		{"POST", "/v1/directory", web.Change(site, audit.EntryCreated, dir.Create)},
		{"GET", "/v1/directory/tags", web.Read(site, dir.Tags)},
		{"POST", "/v1/directory/tags", web.Change(site, audit.TagCreated, dir.CreateTag)},
		{"PATCH", "/v1/directory/tags/{id}", web.Change(site, audit.TagUpdated, dir.UpdateTag)},
		{"DELETE", "/v1/directory/tags/{id}", web.Change(site, audit.TagDeleted, dir.DeleteTag)},
		{"GET", "/v1/directory/{id}", web.Read(site, dir.Get)},
		{"PATCH", "/v1/directory/{id}", web.Change(site, audit.EntryUpdated, dir.Update)},
		{"DELETE", "/v1/directory/{id}", web.Change(site, audit.EntryDeleted, dir.Delete)},
		{"POST", "/v1/directory/{id}/restore", web.Change(site, audit.EntryRestored, dir.Restore)},
		{"POST", "/v1/directory/{id}/receiving-methods", web.Change(site, audit.ReceivingMethodAdded, dir.AddMethod)},
		{"PATCH", "/v1/directory/{id}/receiving-methods/{method_id}", web.Change(site, audit.ReceivingMethodUpdated, dir.UpdateMethod)},
		{"DELETE", "/v1/directory/{id}/receiving-methods/{method_id}", web.Change(site, audit.ReceivingMethodRemoved, dir.RemoveMethod)},

		{"GET", "/v1/workspaces", web.Read(site, work.List)},
		{"POST", "/v1/workspaces", web.Change(site, audit.WorkspaceCreated, work.Create)},
		{"GET", "/v1/workspaces/{id}", web.Read(site, work.Get)},
		{"PATCH", "/v1/workspaces/{id}", web.Change(site, audit.WorkspaceUpdated, work.Update)},
		{"GET", "/v1/workspaces/{id}/members", web.Read(site, work.Members)},
		{"POST", "/v1/workspaces/{id}/members", web.Change(site, audit.MemberAdded, work.AddMember)},
		{"DELETE", "/v1/workspaces/{id}/members/{userId}", web.Change(site, audit.MemberRemoved, work.RemoveMember)},
		{"GET", "/v1/workspaces/{id}/roles", web.Read(site, work.Roles)},
		{"POST", "/v1/workspaces/{id}/roles", web.Change(site, audit.MemberRoleAssigned, work.Assign)},
		{"PUT", "/v1/workspaces/{id}/roles/{role}", web.Change(site, audit.RoleUpdated, work.DefineRole)},
		{"DELETE", "/v1/workspaces/{id}/roles/{role}", web.Change(site, audit.RoleDeleted, work.DeleteRole)},
		{"DELETE", "/v1/workspaces/{id}/roles/{userId}/{role}", web.Change(site, audit.MemberRoleRemoved, work.Unassign)},

		{"GET", "/v1/organizations", web.Read(site, orgs.List)},
		{"POST", "/v1/organizations", web.Change(site, audit.OrganizationCreated, orgs.Create)},
		{"GET", "/v1/organizations/{id}", web.Read(site, orgs.Get)},
		{"GET", "/v1/organizations/{id}/settings", web.Read(site, orgs.Settings)},
		{"PATCH", "/v1/organizations/{id}/settings", web.Change(site, audit.OrganizationSettingsUpdated, orgs.UpdateSettings)},

		{"GET", "/v1/audit", web.Read(site, trail.List)},
	}
}

// Operations names the operations of the API, as "METHOD /path".
func (s *Server) Operations() []string {
	var names []string
	for _, r := range s.routes() {
		names = append(names, r.method+" "+r.path)
	}
	return names
}

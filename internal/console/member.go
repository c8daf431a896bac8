package console

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/workspace"
)

func (c *Console) memberRoutes() []Route {
	return append([]Route{
		c.getIn("/members", c.membersPage),
		c.postIn("/members", audit.MemberAdded, c.invite),
		c.postIn("/members/{userId}/link", audit.MemberInvited, c.recentForm(func(v *visit) string { return v.path("members") }, c.reinvite)),
		c.postIn("/members/{userId}/roles", audit.MemberRoleAssigned, c.assignRole),
		c.postIn("/members/{userId}/roles/{role}/remove", audit.MemberRoleRemoved, c.removeRole),
		c.postIn("/members/{userId}/remove", audit.MemberRemoved, c.removeMember),
	}, c.roleRoutes()...)
}

// membersShown is the number of members on a page.
const membersShown = 50

// membersPage lists the members of a workspace.
type membersPage struct {
	Rows      []memberRow
	Everybody int // before the filter
	Found     int // number of members that match the filter
	Filter    memberFilter
	Roles     []api.Role
	Grantable []api.Role
	Suspended bool   // access waits for a decision: see suspendedPage
	Mails     bool   // invitations are mailed, so no visitor sees the link
	Newer     string // address of the previous page, or empty
	Older     string // address of the next page, or empty
}

// memberRow is a member and the visitor's possible actions on them.
type memberRow struct {
	api.Member
	Held      []api.Role
	Addable   []api.Role
	Machine   bool
	Masked    bool  // its roles grant more than a machine client can hold
	ExpiresAt int64 // when the invitation expires, 0 if there is none
	Expired   bool  // the invitation has expired
	Self      bool
	OnlyAdmin bool
	Knows     []string // the machine clients whose secret was shown to them
	Above     bool     // has permissions that the visitor lacks, so the visitor cannot change them
}

// Called returns the best single name for a member.
func (m memberRow) Called() string { return cmp.Or(m.Name, m.Email, m.ID) }

// memberFilter narrows the list of members.
type memberFilter struct{ Text, Role, Status string }

// Any reports whether the filter is set.
func (f memberFilter) Any() bool { return f != memberFilter{} }

func (f memberFilter) keeps(m api.Member) bool {
	return strings.Contains(strings.ToLower(m.Name+"\n"+m.Email), strings.ToLower(f.Text)) &&
		(f.Role == "" || slices.Contains(m.Roles, f.Role)) && (f.Status == "" || m.Status == f.Status)
}

func (c *Console) membersPage(v *visit) error {
	members, err := v.members()
	if err != nil {
		return err
	}
	roles, err := v.roles()
	if err != nil {
		return err
	}
	query := v.R.URL.Query()
	data := membersPage{
		Everybody: len(members), Roles: roles, Grantable: v.grantable(roles), Mails: c.SignIn.Recovers(),
		Filter: memberFilter{strings.TrimSpace(query.Get("q")), query.Get("role"), query.Get("status")},
	}
	waiting, err := read(v, c.Workspaces.SuspendedAccess, workspace.MembersInput{ID: v.workspace.ID})
	if err != nil {
		return err
	}
	data.Suspended = len(waiting.Rows()) > 0
	shown := slices.DeleteFunc(slices.Clone(members), func(m api.Member) bool { return !data.Filter.keeps(m) })
	data.Found = len(shown)
	for _, m := range data.cut(shown, query, v.path("members")) {
		data.Rows = append(data.Rows, v.memberRow(m, members, roles, data.Grantable))
	}
	if err := v.addSecrets(data.Rows); err != nil {
		return err
	}
	if err := v.addExpiries(data.Rows); err != nil {
		return err
	}
	v.preset("role", "member")
	v.preset("q", data.Filter.Text)
	v.preset("with-role", data.Filter.Role)
	v.preset("status", data.Filter.Status)
	return v.show("members", "Members", data)
}

// addSecrets adds who knows the secrets of which machine clients, if the visitor may see those.
func (v *visit) addSecrets(rows []memberRow) error {
	if !v.can(access.KeysRead) {
		return nil
	}
	clients, err := v.clients()
	for i := range rows {
		for _, client := range knownTo(clients, rows[i].ID) {
			rows[i].Knows = append(rows[i].Knows, client.Name)
		}
	}
	return err
}

// knownTo returns the machine clients whose secret was shown to a person.
func knownTo(clients []api.MachineClient, userID string) []api.MachineClient {
	return slices.DeleteFunc(slices.Clone(clients), func(c api.MachineClient) bool {
		return c.SecretSeenBy == nil || c.SecretSeenBy.ID != userID
	})
}

// addExpiries adds when invitations expire.
func (v *visit) addExpiries(rows []memberRow) error {
	var invited []string
	for _, row := range rows {
		if row.Status == "invited" {
			invited = append(invited, row.ID)
		}
	}
	if len(invited) == 0 {
		return nil
	}
	ends, err := v.console.Workspaces.InvitationsExpire(v.R.Context(), v.Caller, v.workspace.ID, invited)
	for i := range rows {
		rows[i].ExpiresAt = ends[rows[i].ID]
		rows[i].Expired = rows[i].ExpiresAt != 0 && rows[i].ExpiresAt <= v.console.endpoints.DB.Now()
	}
	return err
}

// cut returns the requested page of members and sets the addresses of its neighbours.
func (p *membersPage) cut(members []api.Member, query url.Values, path string) []api.Member {
	last := max(1, (len(members)+membersShown-1)/membersShown)
	number, _ := strconv.Atoi(query.Get("page"))
	number = min(max(1, number), last)
	beside := func(n int) string {
		if n < 1 || n > last {
			return ""
		}
		query.Set("page", strconv.Itoa(n))
		return path + "?" + query.Encode()
	}
	p.Newer, p.Older = beside(number-1), beside(number+1)
	return members[(number-1)*membersShown : min(number*membersShown, len(members))]
}

func (v *visit) memberRow(m api.Member, all []api.Member, roles, grantable []api.Role) memberRow {
	row := memberRow{Member: m, Machine: isMachine(m), Self: m.ID == v.Caller.ID, OnlyAdmin: onlyAdmin(m, all)}
	var held access.Set
	for _, key := range m.Roles {
		role := roleCalled(roles, key)
		row.Held = append(row.Held, role)
		held |= permissionSet(role.Permissions)
	}
	if row.Machine {
		row.Masked = held != held.OfMachine()
		held = held.OfMachine()
	}
	_, row.Above = v.held.Lacks(held)
	row.Addable = slices.DeleteFunc(slices.Clone(grantable), func(r api.Role) bool { return slices.Contains(m.Roles, r.Key) })
	return row
}

// members returns all members of the workspace.
func (v *visit) members() ([]api.Member, error) {
	list, err := read(v, v.console.Workspaces.Members, workspace.MembersInput{ID: v.workspace.ID})
	return list.Rows(), err
}

func isMachine(m api.Member) bool { return strings.HasPrefix(m.ID, "cli_") }

// onlyAdmin reports whether a member is the workspace's last admin. The service refuses to remove them. The page only disables the buttons.
func onlyAdmin(m api.Member, all []api.Member) bool {
	if !slices.Contains(m.Roles, access.Admin) {
		return false
	}
	return !slices.ContainsFunc(all, func(other api.Member) bool {
		return other.ID != m.ID && !isMachine(other) && other.Status == "active" && slices.Contains(other.Roles, access.Admin)
	})
}

package signin_test

import (
	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/organization"
	"bursar/internal/workspace"
)

// tenant is an organization with a workspace and its admin.
type tenant struct {
	house          *house
	admin          db.Caller
	organizationID string
	workspaceID    string
}

func (h *house) tenant(adminEmail string) *tenant {
	h.t.Helper()
	admin, _ := h.enter(h.person(adminEmail))
	org, err := call(h, admin, h.organizations.Create, organization.CreateInput{OrganizationCreate: api.OrganizationCreate{Name: "Org of " + adminEmail}})
	must(h.t, err)
	ws, err := call(h, admin, h.workspaces.Create, workspace.CreateInput{WorkspaceCreate: api.WorkspaceCreate{Name: "Place of " + adminEmail, OrganizationID: org.ID}})
	must(h.t, err)
	return &tenant{h, admin, org.ID, ws.ID}
}

// invite brings someone in and returns the user and the secret of the link,
// empty where there is none.
func (x *tenant) invite(email, role string) (userID, link string) {
	x.house.t.Helper()
	added, err := call(x.house, x.admin, x.house.workspaces.AddMember,
		workspace.AddMemberInput{ID: x.workspaceID, MemberAdd: api.MemberAdd{Email: email, Role: role}})
	must(x.house.t, err)
	return x.house.text(`SELECT id FROM account WHERE email = $1`, email), secretOf(added.InvitationURL)
}

// invitation is the id under which the tenant lists someone who has not accepted yet.
func (x *tenant) invitation(email string) string {
	x.house.t.Helper()
	return x.house.text(`SELECT m.member_id FROM workspace_member m JOIN account a ON a.id = m.account_id WHERE m.workspace_id = $1 AND a.email = $2`, x.workspaceID, email)
}

// status is how the tenant's list of members shows a user, empty where it
// does not.
func (x *tenant) status(userID string) string {
	x.house.t.Helper()
	list, err := call(x.house, x.admin, x.house.workspaces.Members, workspace.MembersInput{ID: x.workspaceID})
	must(x.house.t, err)
	email := x.house.text(`SELECT email FROM account WHERE id = $1`, userID)
	for _, m := range list.Rows() {
		if m.Email == email {
			return m.Status
		}
	}
	return ""
}

// held is what someone may do in the tenant's workspace; member says whether
// they are told that it exists.
func (x *tenant) held(userID string) (held access.Set, member bool) {
	x.house.t.Helper()
	held, err := x.house.authority.Permissions(x.house.t.Context(), audit.Actor{ID: userID}, x.workspaceID)
	if err != nil {
		refused(x.house.t, err, api.CodeNotFound)
	}
	return held, err == nil
}

// opensTo says whether a user is a member here.
func (x *tenant) opensTo(userID string) bool {
	x.house.t.Helper()
	_, member := x.held(userID)
	return member
}

// workspacesOf lists the ids of the workspaces that a user sees.
func (h *house) workspacesOf(userID string) []string {
	h.t.Helper()
	list, err := call(h, db.Caller{Actor: audit.Actor{ID: userID}}, h.workspaces.List, workspace.ListInput{})
	must(h.t, err)
	return column(list.Rows(), func(w api.Workspace) string { return w.ID })
}

func (h *house) organizationsOf(userID string) []string {
	h.t.Helper()
	list, err := call(h, db.Caller{Actor: audit.Actor{ID: userID}}, h.organizations.List, organization.ListInput{})
	must(h.t, err)
	return column(list.Rows(), func(o api.Organization) string { return o.ID })
}

func column[T any](rows []T, cell func(T) string) []string {
	list := []string{}
	for _, row := range rows {
		list = append(list, cell(row))
	}
	return list
}

// row is what the audit log says about an event.
type row struct {
	Action, Outcome, Description          string
	ActorType, ActorID, ActorEmail        string
	WorkspaceID, OrganizationID, Resource string
	IP, RequestID                         string
}

// trail are the rows of an action, oldest first.
func (h *house) trail(action audit.Action) []row {
	h.t.Helper()
	var rows []row
	err := h.db.Read(h.t.Context(), func(q db.Q) (err error) {
		rows, err = db.Collect(q, func(r db.Rows) row {
			return row{r.Text(0), r.Text(1), r.Text(2), r.Text(3), r.Text(4), r.Text(5), r.Text(6), r.Text(7), r.Text(8), r.Text(9), r.Text(10)}
		}, `SELECT action, outcome, description, actor_type, actor_id, actor_email, workspace_id, organization_id, resource_id, ip, request_id
			FROM audit_entry WHERE action = $1 ORDER BY id`, string(action))
		return err
	})
	must(h.t, err)
	return rows
}

// last is the newest row of an action.
func (h *house) last(action audit.Action) row {
	h.t.Helper()
	rows := h.trail(action)
	if len(rows) == 0 {
		h.t.Fatalf("there is no row %s", action)
	}
	return rows[len(rows)-1]
}

// text is one text in the store, empty where there is none.
func (h *house) text(sql string, args ...any) (value string) {
	h.t.Helper()
	must(h.t, h.db.Read(h.t.Context(), func(q db.Q) error {
		_, err := q.Row(sql, args...).Scan(&value)
		return err
	}))
	return value
}

func (h *house) count(sql string, args ...any) (n int) {
	h.t.Helper()
	must(h.t, h.db.Read(h.t.Context(), func(q db.Q) error {
		_, err := q.Row(sql, args...).Scan(&n)
		return err
	}))
	return n
}

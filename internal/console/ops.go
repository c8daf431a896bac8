package console

import (
	"net/http"
	"slices"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/backup/continuous"
	"bursar/internal/operator"
	"bursar/internal/rail"
)

// opsRoutes returns the pages of operators, separate from those of workspaces. To other visitors, they do not exist.
func (c *Console) opsRoutes() []Route {
	read, decide := access.OpsRead, access.OpsAccess
	return []Route{
		c.get("/ops", c.ops(read, "/ops", c.opsPage)),
		c.get("/ops/organizations", c.ops(read, "/ops/organizations", c.opsOrganizations)),
		c.get("/ops/users", c.ops(read, "/ops/users", c.opsUsers)),
		c.post("/ops/users/{id}/disable", audit.UserDisabled, c.ops(decide, "/ops/users", c.opsDisable)),
		c.post("/ops/users/{id}/reset", audit.FactorsReset, c.ops(decide, "/ops/users", c.opsReset)),
		c.post("/ops/approvers", audit.OperatorRequested, c.ops(decide, "/ops/requests", c.opsAppoint)),
		c.get("/ops/requests", c.ops(read, "/ops/requests", c.opsRequests)),
		c.post("/ops/requests/{id}/approve", audit.OperatorApproved, c.ops(read, "/ops/requests", c.opsApprove)),
		c.post("/ops/requests/{id}/reject", audit.OperatorRejected, c.ops(read, "/ops/requests", c.opsReject)),
		c.get("/ops/audit", c.ops(read, "/ops/audit", c.opsAudit)),
	}
}

// ops runs a page for operators who hold a permission. An operator whose sign-in is too old signs in again and returns to the page at back.
func (c *Console) ops(need access.Permission, back string, page func(v *visit, held []access.Permission) error) func(v *visit) error {
	return func(v *visit) error {
		held, err := c.Operators.Holds(v.R.Context(), v.Caller, need)
		switch {
		case hasCode(err, api.CodeRecentLoginRequired) && v.R.Method == http.MethodGet:
			return v.signInFirst("")
		case hasCode(err, api.CodeRecentLoginRequired):
			return v.signInFirst(back)
		case err != nil:
			return err
		}
		return page(v, held)
	}
}

// opsState is the first page.
type opsState struct {
	operator.State
	Services []api.ServiceHealth
	Backup   *continuous.Status // nil if the server makes no backup
	Good     bool               // it is up to date, and its last verification did not fail
	Embedded bool
}

func (c *Console) opsPage(v *visit, _ []access.Permission) error {
	state, err := read(v, c.Operators.State, struct{}{})
	if err != nil {
		return err
	}
	data := opsState{State: state, Embedded: c.endpoints.DB.Embedded() != nil}
	add := func(name, kind string, of rail.Connector) {
		status, reason := of.Health(v.R.Context())
		mode := api.ModeLive
		if of.Sandbox() {
			mode = api.ModeSandbox
		}
		data.Services = append(data.Services, api.ServiceHealth{ServiceName: name, Kind: kind, Mode: mode, Status: string(status), Reason: reason})
	}
	for _, r := range c.Rails.All() {
		add(r.Name, api.ServiceRail, r.Connector)
	}
	for _, one := range c.Rails.Connectors() {
		add(one.Name(), api.ServiceConnector, one)
	}
	if c.backup != nil {
		status := c.backup()
		data.Backup = &status
		data.Good = status.IsGood(time.UnixMilli(c.endpoints.DB.Now()), backupGrace) && status.Verified.Error == ""
	}
	return v.show("ops", "Operations", data)
}

// opsList is a list with the address of its next page.
type opsList[T any] struct {
	Rows []T
	Next string
}

func (c *Console) opsOrganizations(v *visit, _ []access.Permission) error {
	list, err := read(v, c.Operators.Organizations, operator.PageInput{After: v.R.URL.Query().Get("after")})
	if err != nil {
		return err
	}
	data := opsList[operator.Organization]{Rows: list}
	if len(list) == operator.PageSize {
		data.Next = "/ops/organizations?after=" + list[len(list)-1].ID
	}
	return v.show("ops_organizations", "Organizations", data)
}

// opsUsersPage contains the search text and the users found.
type opsUsersPage struct {
	Text   string
	Rows   []operator.User
	Access bool // the visitor may disable and reset
	Mails  bool // links can be mailed
}

func (c *Console) opsUsers(v *visit, held []access.Permission) error {
	text := v.R.URL.Query().Get("q")
	list, err := read(v, c.Operators.Users, operator.FindInput{Text: text})
	if err != nil {
		return err
	}
	v.preset("q", text)
	return v.show("ops_users", "Users", opsUsersPage{text, list, slices.Contains(held, access.OpsAccess), c.Operators.Mails()})
}

func (c *Console) opsDisable(v *visit, _ []access.Permission) error {
	who, err := change(v, c.Operators.Disable, operator.UserInput{UserID: v.R.PathValue("id")})
	if err != nil {
		return err
	}
	return v.done(who.Email+" is disabled.", "/ops/users?q="+who.ID)
}

func (c *Console) opsReset(v *visit, _ []access.Permission) error {
	id := v.R.PathValue("id")
	done, err := change(v, c.Operators.Reset, operator.UserInput{UserID: id})
	if err != nil {
		return err
	}
	return v.opsDone(done, "A link was mailed to the user.", "/ops/users?q="+id)
}

// opsDone shows whether an action was done or waits for another operator.
func (v *visit) opsDone(done operator.Outcome, text, path string) error {
	if done.RequestID != "" {
		return v.done("Another operator has to confirm this.", "/ops/requests")
	}
	return v.done(text, path)
}

func (c *Console) opsAppoint(v *visit, held []access.Permission) error {
	done, err := change(v, c.Operators.Appoint, operator.AppointInput{WorkspaceID: v.field("workspace_id"), Email: v.field("email"), Role: v.field("role")})
	if err != nil {
		return v.opsAgain(err, held)
	}
	return v.opsDone(done, "The approver is appointed.", "/ops/requests")
}

// opsRequestsPage lists the requests that wait for another operator.
type opsRequestsPage struct {
	Rows []api.OpsRequest
	held []access.Permission
}

// Decides reports whether the visitor may decide a request.
func (p opsRequestsPage) Decides(r api.OpsRequest) bool {
	return slices.Contains(p.held, access.Permission(r.Permission))
}

// Appoints reports whether the visitor may appoint an approver.
func (p opsRequestsPage) Appoints() bool { return slices.Contains(p.held, access.OpsAccess) }

func (c *Console) opsRequests(v *visit, held []access.Permission) error {
	list, err := read(v, c.Operators.Requests, operator.RequestsInput{})
	if err != nil {
		return err
	}
	return v.show("ops_requests", "Requests", opsRequestsPage{list.Rows(), held})
}

func (v *visit) opsAgain(err error, held []access.Permission) error {
	return v.again(err, func(v *visit) error { return v.console.opsRequests(v, held) })
}

func (c *Console) opsApprove(v *visit, held []access.Permission) error {
	_, err := change(v, c.Operators.Approve, operator.ApproveInput{ID: v.R.PathValue("id"), OpsApprove: api.OpsApprove{Digest: v.field("digest")}})
	return v.opsDecided(held, err, "Confirmed.")
}

func (c *Console) opsReject(v *visit, held []access.Permission) error {
	_, err := change(v, c.Operators.Reject, operator.RejectInput{ID: v.R.PathValue("id")})
	return v.opsDecided(held, err, "Rejected.")
}

func (v *visit) opsDecided(held []access.Permission, err error, text string) error {
	if err != nil {
		return v.opsAgain(err, held)
	}
	return v.done(text, "/ops/requests")
}

func (c *Console) opsAudit(v *visit, _ []access.Permission) error {
	list, err := read(v, c.Operators.Audit, struct{}{})
	if err != nil {
		return err
	}
	return v.show("ops_audit", "Audit", opsList[api.AuditEntry]{Rows: list})
}

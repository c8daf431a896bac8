package console_test

import (
	"net/http"
	"strings"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/console"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/web"
)

// refusedForm is a form that a viewer may not send.
type refusedForm struct {
	action audit.Action // that the refusal is recorded as
	id     string       // in the path
	pairs  []string
}

// refusedForms lists the forms that need a permission which a viewer lacks, by path.
func refusedForms(t *testing.T, n *servertest.Node) map[string]refusedForm {
	t.Helper()
	admin := n.Admin(t)
	entry, member := admin.Entry(nil), admin.UserID
	other, third := admin.Entry(nil), admin.Entry(nil)
	merge := admin.Post("/v1/directory/"+other+"/merge", servertest.Body{"sources": []string{third}}).OK().Text("id")
	tag := admin.Post("/v1/directory/tags", servertest.Body{"workspace_id": n.First.WorkspaceID, "name": "vip"}).OK().Text("id")
	admin.Patch("/v1/workspaces/"+n.First.WorkspaceID+"/receiving-policy", servertest.Body{"receiving_approval": "two_persons"}).OK()
	waits := admin.Post("/v1/directory/"+entry+"/receiving-methods", servertest.Account("1")).OK().Text("approval_id")
	bulk := admin.Post("/v1/directory/bulk", servertest.Body{"workspace_id": n.First.WorkspaceID, "action": "deactivate", "ids": []string{entry}}).OK().Text("id")
	held := admin.Post("/v1/directory/imports?hold=true&workspace_id="+n.First.WorkspaceID, "name\nAda\n").OK().Text("id")
	account := source(t, n)
	pays := admin.Post("/v2/payout-requests", servertest.Body{"source_account_id": account, "currency": "PHP", "amount_cents": 100, "status": "draft",
		"settlement_account": servertest.Body{"bank_account_name": "Ada", "bank_account_number": "1234567890", "bank_code": bpi}}).Created().Text("id")
	n.FirstTenant(t).Staff("disbursement_authorizer", 2)
	rule := admin.Post("/v2/approval-rules", servertest.Body{"workspace_id": n.First.WorkspaceID, "approvals": 2}).Created().Text("id")
	limit := admin.Post("/v2/limits", servertest.Body{"workspace_id": n.First.WorkspaceID, "per": "day", "amount_cents": 100}).Created().Text("id")
	return map[string]refusedForm{
		"/w/{ws}/accounts":                                     {audit.LedgerAccountCreated, "", []string{"name", "Payroll"}},
		"/w/{ws}/accounts/{id}":                                {audit.LedgerAccountUpdated, account, []string{"name", "Payroll"}},
		"/w/{ws}/accounts/{id}/status":                         {audit.LedgerAccountUpdated, account, []string{"status", "frozen"}},
		"/w/{ws}/accounts/{id}/transfer":                       {audit.TransferCreated, account, []string{"do", "send", "amount_cents", "1"}},
		"/w/{ws}/accounts/{id}/deposit":                        {audit.DepositBooked, account, []string{"amount_cents", "1"}},
		"/w/{ws}/rules":                                        {audit.PayoutRuleCreated, "", []string{"approvals", "2"}},
		"/w/{ws}/rules/{id}/remove":                            {audit.PayoutRuleRemoved, rule, nil},
		"/w/{ws}/rules/{id}/confirm":                           {audit.PayoutRuleApproved, rule, nil},
		"/w/{ws}/limits":                                       {audit.PayoutLimitCreated, "", []string{"per", "day", "amount_cents", "1"}},
		"/w/{ws}/limits/{id}/remove":                           {audit.PayoutLimitRemoved, limit, nil},
		"/w/{ws}/payouts/stop":                                 {audit.PayoutSendingStopped, "", []string{"reason", "x"}},
		"/w/{ws}/payouts/resume":                               {audit.PayoutSendingResumed, "", nil},
		"/w/{ws}/directory/{id}/pay":                           {audit.PayoutCreated, entry, []string{"do", "send", "amount", "1"}},
		"/w/{ws}/payouts/many":                                 {audit.PayoutBatchCreated, "", []string{"do", "send", "lines", "amount\n1"}},
		"/w/{ws}/payouts/many/file":                            {audit.PayoutBatchCreated, "", nil},
		"/w/{ws}/payouts/{id}/approve":                         {audit.PayoutApproved, pays, []string{"digest", "x"}},
		"/w/{ws}/payouts/{id}/reject":                          {audit.PayoutRejected, pays, []string{"reason", "no"}},
		"/w/{ws}/payouts/{id}/confirm":                         {audit.PayoutRecheckApproved, pays, nil},
		"/w/{ws}/payouts/{id}/publish":                         {audit.PayoutPublished, pays, nil},
		"/w/{ws}/payouts/{id}/cancel":                          {audit.PayoutCancelled, pays, nil},
		"/w/{ws}/payouts/{id}/retry":                           {audit.PayoutRetried, pays, nil},
		"/w/{ws}/payouts/{id}/resolve":                         {audit.PayoutResolved, pays, []string{"as", "paid", "evidence", "a statement"}},
		"/w/{ws}/approvals/decide":                             {audit.ReceivingMethodApproved, "", []string{"shown", waits + " x", "decision", "approve", "statement", "called"}},
		"/w/{ws}/approvals/{id}/approve":                       {audit.ReceivingMethodApproved, waits, []string{"digest", "x", "verification", "called"}},
		"/w/{ws}/approvals/{id}/reject":                        {audit.ReceivingMethodRejected, waits, []string{"reason", "no"}},
		"/w/{ws}/approvals/{id}/withdraw":                      {audit.ReceivingMethodWithdrawn, waits, nil},
		"/w/{ws}/approvals/second-person":                      {audit.SecondPersonExtended, "", nil},
		"/w/{ws}/organization/receiving":                       {audit.ReceivingPolicyUpdated, "", []string{"receiving_approval", "one_person"}},
		"/w/{ws}/directory":                                    {audit.EntryCreated, "", []string{"type", "person", "field-email", "ada@example.com"}},
		"/w/{ws}/directory/{id}":                               {audit.EntryUpdated, entry, []string{"was", "{}", "label", "Ada"}},
		"/w/{ws}/directory/{id}/status":                        {audit.EntryUpdated, entry, []string{"status", "inactive"}},
		"/w/{ws}/directory/{id}/delete":                        {audit.EntryDeleted, entry, nil},
		"/w/{ws}/directory/{id}/restore":                       {audit.EntryRestored, entry, nil},
		"/w/{ws}/directory/{id}/merge":                         {audit.EntryMerged, entry, []string{"source", other}},
		"/w/{ws}/directory/merges/{id}/undo":                   {audit.EntryUnmerged, merge, nil},
		"/w/{ws}/directory/{id}/tags":                          {audit.EntryUpdated, entry, []string{"add", "vip"}},
		"/w/{ws}/directory/bulk":                               {audit.EntryUpdated, "", []string{"action", "deactivate", "id", entry}},
		"/w/{ws}/directory/bulk/{id}/cancel":                   {audit.BulkCancelled, bulk, nil},
		"/w/{ws}/directory/bulk/{id}/undo":                     {audit.EntryUpdated, bulk, nil},
		"/w/{ws}/directory/tags":                               {audit.TagCreated, "", []string{"name", "new"}},
		"/w/{ws}/directory/tags/{id}":                          {audit.TagUpdated, tag, []string{"name", "new", "applies_to", "all"}},
		"/w/{ws}/directory/tags/{id}/delete":                   {audit.TagDeleted, tag, nil},
		"/w/{ws}/directory/imports":                            {audit.ImportHeld, "", nil},
		"/w/{ws}/directory/imports/{id}":                       {audit.ImportStarted, held, []string{"do", "import"}},
		"/w/{ws}/directory/imports/{id}/cancel":                {audit.ImportCancelled, held, nil},
		"/w/{ws}/directory/{id}/receiving":                     {audit.ReceivingMethodAdded, entry, []string{"provider", "bank", "account_name", "Ada", "account_id", "1"}},
		"/w/{ws}/directory/{id}/receiving/{method_id}":         {audit.ReceivingMethodUpdated, entry, []string{"provider", "bank", "account_name", "Ada"}},
		"/w/{ws}/directory/{id}/receiving/{method_id}/default": {audit.ReceivingMethodUpdated, entry, nil},
		"/w/{ws}/directory/{id}/receiving/{method_id}/remove":  {audit.ReceivingMethodRemoved, entry, nil},
		"/w/{ws}/members":                                      {audit.MemberAdded, "", []string{"email", "new@example.com", "role", "viewer"}},
		"/w/{ws}/members/{userId}/link":                        {audit.MemberInvited, member, nil},
		"/w/{ws}/members/{userId}/roles":                       {audit.MemberRoleAssigned, member, []string{"role", "viewer"}},
		"/w/{ws}/members/{userId}/roles/{role}/remove":         {audit.MemberRoleRemoved, member, nil},
		"/w/{ws}/members/{userId}/remove":                      {audit.MemberRemoved, member, nil},
		"/w/{ws}/members/suspended/{id}/confirm":               {audit.MemberReinstated, "sus_1", nil},
		"/w/{ws}/members/suspended/{id}/remove":                {audit.MemberRemoved, "sus_1", nil},
		"/w/{ws}/roles":                                        {audit.RoleCreated, "", []string{"name", "Clerk", "permissions", "ws.read"}},
		"/w/{ws}/roles/{role}":                                 {audit.RoleUpdated, "", []string{"name", "Clerk", "permissions", "ws.read"}},
		"/w/{ws}/roles/{role}/delete":                          {audit.RoleDeleted, "", nil},
		"/w/{ws}/organization":                                 {audit.OrganizationSettingsUpdated, "", []string{"name", "Acme", "slug", "acme-2"}},
		"/w/{ws}/organization/second-factor":                   {audit.OrganizationSettingsUpdated, "", []string{"demand", "yes"}},
		"/w/{ws}/organization/audit-retention":                 {audit.OrganizationSettingsUpdated, "", []string{"audit_retention_days", "400"}},
		"/w/{ws}/organization/owners":                          {audit.OwnerAdded, "", []string{"user_id", member}},
		"/w/{ws}/organization/owners/{userId}/remove":          {audit.OwnerRemoved, member, nil},
		"/w/{ws}/organization/suspended/{id}/confirm":          {audit.OwnerReinstated, "sus_1", nil},
		"/w/{ws}/organization/suspended/{id}/remove":           {audit.OwnerRemoved, "sus_1", nil},
		"/w/{ws}/organization/leaver":                          {audit.LeaverRemoved, "", []string{"email", "new@example.com"}},
		"/w/{ws}/organization/workspace":                       {audit.WorkspaceUpdated, "", []string{"name", "Room", "slug", "room-2"}},
		"/w/{ws}/clients":                                      {audit.ClientCreated, "", []string{"name", "robot", "role", "viewer"}},
		"/w/{ws}/clients/{id}/rotate":                          {audit.ClientRotated, "cli_1", nil},
		"/w/{ws}/clients/{id}/revoke":                          {audit.ClientRevoked, "cli_1", nil},
		"/w/{ws}/audit/export":                                 {audit.AuditExported, "", []string{"format", "csv"}},
		"/workspaces/new":                                      {audit.WorkspaceCreated, "", []string{"organization", n.First.OrganizationID, "name", "Room"}},
	}
}

// ownForms are the forms that need no permission, because they are about the visitor's own
// account.
func ownForms() []string {
	return []string{"/w/{ws}/keys", "/w/{ws}/steps/", "/account", "/device", "/signin", "/signout", "/invite/", "/invitations/",
		"/ops/"} // which are not there for anyone who is no operator
}

// denials lists the actions of all refused attempts in the first workspace and in its
// organization.
func denials(t *testing.T, n *servertest.Node) (actions []string) {
	t.Helper()
	for _, tenant := range []string{"workspace_id=" + n.First.WorkspaceID, "organization_id=" + n.First.OrganizationID} {
		actions = append(actions, n.Admin(t).Get("/v1/audit?limit=100&outcome=denied&"+tenant).OK().Column("action")...)
	}
	return actions
}

func TestEveryRefusedFormLeavesOneAuditRow(t *testing.T) {
	dbtest.TakesSeconds(t)
	t.Parallel()
	n := start(t)
	pages, err := console.New(console.Services{}, console.Config{PublicURL: n.PublicURL, Endpoints: &web.Endpoints{}})
	if err != nil {
		t.Fatal(err)
	}
	forms, seen := refusedForms(t, n), 0
	viewer := browse(t, n, member(t, n, "viewer"))
	for _, route := range pages.Routes() {
		if route.Method != http.MethodPost || isOwn(route.Path) {
			continue
		}
		form, known := forms[route.Path]
		if !known {
			t.Errorf("POST %s is new: say here what a viewer may not send to it", route.Path)
			continue
		}
		seen++
		t.Run(route.Path, func(t *testing.T) {
			before := len(denials(t, n))
			path := strings.NewReplacer("{ws}", n.First.WorkspaceID, "{id}", form.id, "{userId}", form.id,
				"{role}", "clerk", "{method_id}", "rm_1").Replace(route.Path)
			if got := viewer.post(path, form.pairs...); got.status != http.StatusForbidden {
				t.Fatalf("answered %d: %.300s", got.status, got.body)
			}
			after := denials(t, n)
			recorded := 0
			for _, action := range after {
				if action == string(form.action) {
					recorded++
				}
			}
			if len(after) != before+1 || recorded == 0 {
				t.Errorf("%d rows were added; all are %v, want %s", len(after)-before, after, form.action)
			}
		})
	}
	if seen != len(forms) {
		t.Errorf("%d of %d forms have a route", seen, len(forms))
	}
}

func isOwn(path string) bool {
	for _, prefix := range ownForms() {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

func TestARefusedPageLeavesAnAuditRow(t *testing.T) {
	t.Parallel()
	n := start(t)
	viewer := browse(t, n, member(t, n, "viewer"))
	for _, path := range []string{"/directory/new", "/roles/new", "/clients/new", "/directory/deleted"} {
		before := len(denials(t, n))
		if got := viewer.get(room(n, path)); got.status != http.StatusForbidden {
			t.Errorf("%s is answered by %d", path, got.status)
		}
		if got := len(denials(t, n)) - before; got != 1 {
			t.Errorf("%s added %d rows", path, got)
		}
	}
}

package server_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/operator"
	"bursar/internal/server/servertest"
	"bursar/internal/workspace"
)

// told are the changes of an audit row, each as "field before after" in JSON.
func told(row api.AuditEntry) []string {
	list := []string{}
	for _, c := range row.Changes {
		list = append(list, c.Field+" "+string(c.Before)+" "+string(c.After))
	}
	return list
}

// newest is the newest row of a log with an action.
func newest(t testing.TB, by *servertest.Client, log, action string) api.AuditEntry {
	t.Helper()
	rows := servertest.Decoded[[]api.AuditEntry](by.On(t).Get(log + "&action=" + action).OK())
	if len(rows) == 0 {
		t.Fatalf("the log has no %s", action)
	}
	return rows[0]
}

// update is a mutation and what its row must tell of it.
type update struct {
	name   string
	action string
	do     func(x *servertest.Tenant, c *servertest.Client) (want []string)
}

// inWorkspaceLog are the updates that the log of the workspace tells of.
func inWorkspaceLog() []update {
	longNote := strings.Repeat("long ", 100)
	digest := sha256.Sum256([]byte(longNote))
	entry := func(x *servertest.Tenant, more body) string {
		content := body{"workspace_id": x.WorkspaceID, "type": "person", "fields": body{}}
		for key, value := range more {
			content[key] = value
		}
		return x.Owner.Post("/v1/directory", content).OK().Text("id")
	}
	return []update{
		{"an entry", "directory.entry.updated", func(x *servertest.Tenant, c *servertest.Client) []string {
			id := entry(x, body{"fields": body{"first-name": "Ada", "phone": "1", "age": 36}, "tags": []string{"old", "both"}})
			c.Patch("/v1/directory/"+id, `{"status":"inactive","fields":{"first-name":"Grace","phone":null,"rank":{"of":"navy"},"age":36},"tags":["both","new"]}`).OK()
			return []string{`label "Ada" "Grace"`, `status "active" "inactive"`, `fields.first-name "Ada" "Grace"`, `fields.phone "1" null`,
				`fields.rank null {"of":"navy"}`, `tags "old" null`, `tags null "new"`}
		}},
		{"a label that was derived is sent", "directory.entry.updated", func(x *servertest.Tenant, c *servertest.Client) []string {
			c.Patch("/v1/directory/"+entry(x, body{"name": "Ada"}), body{"label": "Ada"}).OK()
			return []string{`label_sent false true`}
		}},
		{"nothing but the tags", "directory.entry.updated", func(x *servertest.Tenant, c *servertest.Client) []string {
			c.Patch("/v1/directory/"+entry(x, body{"tags": []string{"gone"}}), body{"tags": []string{}}).OK()
			return []string{`tags "gone" null`}
		}},
		{"a long value", "directory.entry.updated", func(x *servertest.Tenant, c *servertest.Client) []string {
			c.Patch("/v1/directory/"+entry(x, nil), body{"fields": body{"note": longNote}}).OK()
			return []string{fmt.Sprintf(`fields.note null {"start":%q,"length":500,"sha256":%q}`, longNote[:64], hex.EncodeToString(digest[:]))}
		}},
		{"an entry is deleted", "directory.entry.deleted", func(x *servertest.Tenant, c *servertest.Client) []string {
			id := entry(x, nil)
			c.Patch("/v1/directory/"+id, body{"status": "inactive"}).OK()
			c.Delete("/v1/directory/" + id).OK()
			return []string{`status "inactive" "deleted"`}
		}},
		{"an entry is restored", "directory.entry.restored", func(x *servertest.Tenant, c *servertest.Client) []string {
			id := entry(x, nil)
			c.Delete("/v1/directory/" + id).OK()
			c.Post("/v1/directory/"+id+"/restore", nil).OK()
			return []string{`status "deleted" "active"`}
		}},
		{"a new entry has no changes", "directory.entry.created", func(x *servertest.Tenant, _ *servertest.Client) []string {
			entry(x, body{"name": "Ada"})
			return []string{}
		}},
		{"a tag", "directory.tag.updated", func(x *servertest.Tenant, c *servertest.Client) []string {
			id := c.Post("/v1/directory/tags", body{"workspace_id": x.WorkspaceID, "name": "vip"}).OK().Text("id")
			c.Patch("/v1/directory/tags/"+id, body{"name": "VIP", "applies_to": "person"}).OK()
			return []string{`name "vip" "VIP"`, `applies_to "all" "person"`}
		}},
		{"a tag is deleted", "directory.tag.deleted", func(x *servertest.Tenant, c *servertest.Client) []string {
			id := c.Post("/v1/directory/tags", body{"workspace_id": x.WorkspaceID, "name": "spare"}).OK().Text("id")
			c.Delete("/v1/directory/tags/" + id).OK()
			return []string{`name "spare" null`, `applies_to "all" null`}
		}},
		{"a first receiving method", "directory.receiving_method.added", func(x *servertest.Tenant, c *servertest.Client) []string {
			id := entry(x, nil)
			c.AddMethod(id, body{"provider": "bank", "account_name": "Ada", "account_id": "001234567890"})
			return []string{`entry_id null "` + id + `"`, `provider null "bank"`, `account_name null "Ada"`, `account_id null "•••• 7890"`, `is_default false true`,
				`status null "active"`, `approval null "one_person"`}
		}},
		{"a receiving method", "directory.receiving_method.updated", func(x *servertest.Tenant, c *servertest.Client) []string {
			id := entry(x, nil)
			first := c.AddMethod(id, body{"provider": "bank", "account_name": "Ada", "account_id": "001234567890"})
			method := c.AddMethod(id, body{"provider": "bank", "account_name": "Ada", "account_id": "1234"})
			next := c.Patch("/v1/directory/"+id+"/receiving-methods/"+method, body{"provider": "wallet", "account_name": "Grace", "account_id": "999999997890", "is_default": true}).OK().Text("id")
			return []string{`provider "bank" "wallet"`, `account_name "Ada" "Grace"`, `account_id "••••" "•••• 7890"`, `is_default false true`,
				`id "` + method + `" "` + next + `"`, `default_method "` + first + `" "` + next + `"`, `approval null "one_person"`}
		}},
		{"an account number that ends alike", "directory.receiving_method.updated", func(x *servertest.Tenant, c *servertest.Client) []string {
			id := entry(x, nil)
			method := c.AddMethod(id, body{"provider": "bank", "account_name": "Ada", "account_id": "001234567890"})
			next := c.Patch("/v1/directory/"+id+"/receiving-methods/"+method, body{"account_id": "999999997890"}).OK().Text("id")
			return []string{`account_id "•••• 7890" "•••• 7890"`, `id "` + method + `" "` + next + `"`, `approval null "one_person"`}
		}},
		{"a receiving method is removed", "directory.receiving_method.removed", func(x *servertest.Tenant, c *servertest.Client) []string {
			id := entry(x, nil)
			method := c.AddMethod(id, body{"provider": "bank", "account_name": "Ada", "account_id": "001234567890"})
			second := c.AddMethod(id, body{"provider": "wallet", "account_name": "Ada", "account_id": "1"})
			c.Delete("/v1/directory/" + id + "/receiving-methods/" + method).OK()
			return []string{`entry_id "` + id + `" null`, `provider "bank" null`, `account_name "Ada" null`, `account_id "•••• 7890" null`, `is_default true false`, `status "active" null`,
				`default_method "` + method + `" "` + second + `"`}
		}},
		{"somebody is invited", "iam.member.added", func(x *servertest.Tenant, _ *servertest.Client) []string {
			x.Add(servertest.NewEmail(), "viewer")
			return []string{`status null "invited"`, `roles null "viewer"`}
		}},
		{"somebody of the organization is added", "iam.member.added", func(x *servertest.Tenant, c *servertest.Client) []string {
			email := servertest.NewEmail()
			c.Node.User(c.T(), email).Join(anotherWorkspace(x).Add(email, "viewer"))
			x.Add(email, "member")
			return []string{`status null "active"`, `roles null "member"`}
		}},
		{"an invitation is accepted", "iam.member.accepted", func(x *servertest.Tenant, _ *servertest.Client) []string {
			x.Member("viewer")
			return []string{`status "invited" "active"`}
		}},
		{"an invitation is accepted by its link", "iam.member.accepted", func(x *servertest.Tenant, c *servertest.Client) []string {
			c.Node.Complete(c.T(), x.Invite(c.T(), servertest.NewEmail(), "viewer").Text("invitation_url"))
			return []string{`status "invited" "active"`}
		}},
		{"an invitation is declined", "iam.member.declined", func(x *servertest.Tenant, c *servertest.Client) []string {
			email := servertest.NewEmail()
			c.Node.User(c.T(), email).Post("/v1/invitations/"+x.Add(email, "viewer")+"/decline", nil).OK()
			return []string{`status "invited" null`, `roles "viewer" null`}
		}},
		{"a role is given", "iam.member.role_assigned", func(x *servertest.Tenant, c *servertest.Client) []string {
			c.Post(x.Path("/roles"), body{"user_id": x.Member("viewer").UserID, "role": "auditor"}).OK()
			return []string{`roles null "auditor"`}
		}},
		{"a role is given to who is added again", "iam.member.role_assigned", func(x *servertest.Tenant, _ *servertest.Client) []string {
			email := servertest.NewEmail()
			x.Add(email, "viewer")
			x.Add(email, "auditor")
			return []string{`roles null "auditor"`}
		}},
		{"a role is taken", "iam.member.role_removed", func(x *servertest.Tenant, c *servertest.Client) []string {
			c.Delete(x.Path("/roles/" + x.Member("viewer").UserID + "/viewer")).OK()
			return []string{`roles "viewer" null`}
		}},
		{"a member is removed", "iam.member.removed", func(x *servertest.Tenant, c *servertest.Client) []string {
			member := x.Member("viewer").UserID
			c.Post(x.Path("/roles"), body{"user_id": member, "role": "auditor"}).OK()
			c.Delete(x.Path("/members/" + member)).OK()
			return []string{`status "active" null`, `roles "auditor" null`, `roles "viewer" null`}
		}},
		{"an invitation is withdrawn", "iam.member.removed", func(x *servertest.Tenant, c *servertest.Client) []string {
			c.Delete(x.Path("/members/" + x.Add(servertest.NewEmail(), "viewer"))).OK()
			return []string{`status "invited" null`, `roles "viewer" null`}
		}},
		{"a role is defined", "iam.role.created", func(x *servertest.Tenant, c *servertest.Client) []string {
			c.Put(x.Path("/roles/"+roleKey()), body{"name": "Clerk", "color": "#112233", "permissions": []string{"ws.read"}}).OK()
			return []string{`name null "Clerk"`, `color null "#112233"`, `permissions null "ws.read"`}
		}},
		{"a role", "iam.role.updated", func(x *servertest.Tenant, c *servertest.Client) []string {
			key := roleKey()
			c.Put(x.Path("/roles/"+key), body{"name": "Clerk", "color": "#112233", "permissions": []string{"ws.read", "ws.members.read"}}).OK()
			c.Put(x.Path("/roles/"+key), body{"name": "Teller", "color": "#332211", "permissions": []string{"ws.read", "ws.audit.read"}}).OK()
			return []string{`name "Clerk" "Teller"`, `color "#112233" "#332211"`, `permissions "ws.members.read" null`, `permissions null "ws.audit.read"`}
		}},
		{"a role is deleted", "iam.role.deleted", func(x *servertest.Tenant, c *servertest.Client) []string {
			key := roleKey()
			c.Put(x.Path("/roles/"+key), body{"name": "Clerk", "color": "#112233", "permissions": []string{"ws.read"}}).OK()
			c.Delete(x.Path("/roles/" + key)).OK()
			return []string{`name "Clerk" null`, `color "#112233" null`, `permissions "ws.read" null`}
		}},
		{"a workspace", "iam.workspace.updated", func(x *servertest.Tenant, c *servertest.Client) []string {
			c.Patch(x.Path(""), body{"name": "Payouts", "slug": "payouts"}).OK()
			return []string{`name "Payroll" "Payouts"`, `slug "payroll" "payouts"`}
		}},
		{"a machine client is made", "auth.client.created", func(x *servertest.Tenant, _ *servertest.Client) []string {
			aClient(x, nil)
			return []string{`name null "Robot"`, `roles null "viewer"`}
		}},
		{"a machine client has a new secret", "auth.client.rotated", func(x *servertest.Tenant, c *servertest.Client) []string {
			c.Post(x.Path("/clients/"+aClient(x, nil).args[1]+"/rotate"), nil).OK()
			return []string{`secret "••••" "••••"`}
		}},
		{"the secret of a machine client ends", "auth.client.secret_ended", func(x *servertest.Tenant, _ *servertest.Client) []string {
			removeWithSecret(x)
			return []string{`secret "••••" "••••"`}
		}},
	}
}

// removeWithSecret removes a person from the organization who knows the secret of a machine client.
func removeWithSecret(x *servertest.Tenant) {
	leaver := x.Member("admin")
	leaver.Post(x.Path("/clients/"+aClient(x, nil).args[1]+"/rotate"), nil).OK()
	x.Owner.Post(x.OrganizationPath("/leavers"), body{"user_id": leaver.UserID}).OK()
}

// anotherWorkspace is one of the same organization.
func anotherWorkspace(x *servertest.Tenant) *servertest.Tenant {
	another := *x
	another.WorkspaceID = x.Owner.Post("/v1/workspaces", body{"name": servertest.NewEmail(), "organization_id": x.OrganizationID}).OK().Text("id")
	return &another
}

// inOrganizationLog are the updates that the log of the organization tells of.
func inOrganizationLog() []update {
	return []update{
		{"an organization", "iam.organization.settings_updated", func(x *servertest.Tenant, c *servertest.Client) []string {
			slug := roleKey()
			before := c.Get(x.OrganizationPath("")).OK().Text("slug")
			c.Patch(x.OrganizationPath("/settings"), body{"name": "Analytical Engines", "slug": slug}).OK()
			return []string{`name "Tenant" "Analytical Engines"`, `slug "` + before + `" "` + slug + `"`}
		}},
		{"an owner is added", "iam.organization.owner_added", func(x *servertest.Tenant, c *servertest.Client) []string {
			owner := x.Member("viewer").UserID
			c.Post(x.OrganizationPath("/owners"), body{"user_id": owner}).OK()
			return []string{`owners null "` + owner + `"`}
		}},
		{"an owner is removed", "iam.organization.owner_removed", func(x *servertest.Tenant, c *servertest.Client) []string {
			owner := x.Member("viewer").UserID
			c.Post(x.OrganizationPath("/owners"), body{"user_id": owner}).OK()
			c.Delete(x.OrganizationPath("/owners/" + owner)).OK()
			return []string{`owners "` + owner + `" null`}
		}},
		{"a key is made", "auth.key.created", func(x *servertest.Tenant, c *servertest.Client) []string {
			end := x.Node.DB.Now() + time.Hour.Milliseconds()
			c.Post("/v1/api-keys", body{"name": "Laptop", "expires_at": end, "allowed_cidrs": []string{"127.0.0.0/8", "192.0.2.0/24"}}).OK()
			return []string{`name null "Laptop"`, fmt.Sprintf(`expires_at null %d`, end), `allowed_cidrs null "127.0.0.0/8"`, `allowed_cidrs null "192.0.2.0/24"`}
		}},
		{"a key is rotated", "auth.key.rotated", func(_ *servertest.Tenant, c *servertest.Client) []string {
			key := c.Post("/v1/api-keys", body{"name": "Laptop"}).OK().Text("id")
			var next api.NewAPIKey
			c.Post("/v1/api-keys/"+key+"/rotate", nil).OK().Data(&next)
			return []string{fmt.Sprintf(`expires_at null %d`, next.Previous.ExpiresAt), `replaced_by null "` + next.ID + `"`}
		}},
		{"a key is revoked", "auth.key.revoked", func(_ *servertest.Tenant, c *servertest.Client) []string {
			c.Delete("/v1/api-keys/" + c.Post("/v1/api-keys", body{"name": "Laptop"}).OK().Text("id")).OK()
			return []string{`status "active" "revoked"`}
		}},
		{"a machine client is revoked by an operator", "auth.client.revoked", func(x *servertest.Tenant, c *servertest.Client) []string {
			if err := x.Node.Identity.RevokeClient(c.T().Context(), db.Caller{}, aClient(x, nil).args[1]); err != nil {
				c.T().Fatal(err)
			}
			return []string{`status "active" "revoked"`}
		}},
		{"a user is disabled", "iam.user.disabled", func(x *servertest.Tenant, c *servertest.Client) []string {
			disabled(c, newcomer(x))
			return []string{`status "active" "disabled"`}
		}},
		{"a user is enabled", "iam.user.enabled", func(x *servertest.Tenant, c *servertest.Client) []string {
			email := newcomer(x)
			disabled(c, email)
			if _, err := x.Node.Identity.EnableUser(c.T().Context(), db.Caller{}, email); err != nil {
				c.T().Fatal(err)
			}
			return []string{`status "disabled" "active"`}
		}},
		{"a user is renamed", "iam.user.renamed", func(x *servertest.Tenant, c *servertest.Client) []string {
			x.Node.Form(c.T(), "/account/name", atHome(x, newcomer(x)), "name", "Grace")
			return []string{`name "Bob" "Grace"`}
		}},
		{"an account is recovered", "auth.account.recovered", func(x *servertest.Tenant, _ *servertest.Client) []string {
			email := newcomer(x)
			x.Node.Form(x.Owner.T(), "/account/name", atHome(x, email), "name", "Grace")
			atHome(x, email)
			return []string{`name "Grace" "Bob"`}
		}},
	}
}

// newcomer is the address of a person whose home is the tenant's organization.
func newcomer(x *servertest.Tenant) (email string) {
	email = servertest.NewEmail()
	invitation := x.Add(email, "viewer")
	x.Node.CommandLine(x.Owner.T(), atHome(x, email)).Join(invitation)
	return email
}

// atHome is a session of a person in a browser, who comes by a link of an operator.
func atHome(x *servertest.Tenant, email string) (session string) {
	return x.Node.Complete(x.Owner.T(), x.Node.OperatorsLink(x.Owner.T(), email))
}

func disabled(c *servertest.Client, email string) {
	if _, err := c.Node.Identity.DisableUser(c.T().Context(), db.Caller{}, email); err != nil {
		c.T().Fatal(err)
	}
}

func TestAnUpdateReportsExactlyWhatItChanged(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for _, u := range slices.Concat(inWorkspaceLog(), inOrganizationLog()) {
			t.Run(u.name, func(t *testing.T) {
				x := n.Tenant(t)
				want, log := u.do(x, x.Owner), x.AuditPath()
				if slices.ContainsFunc(inOrganizationLog(), func(o update) bool { return o.name == u.name }) {
					log = x.OrganizationAuditPath()
				}
				if diff := cmp.Diff(want, told(newest(t, x.Owner, log, u.action))); diff != "" {
					t.Errorf("wanted (-), told (+):\n%s", diff)
				}
			})
		}
	})
}

func TestTheSecondFactorRuleIsExplained(t *testing.T) {
	demanding(t, func(t *testing.T, _ dbtest.Store, n *servertest.Node, x *servertest.Tenant, owner *resident) {
		owner.signInByPasskey(t)
		demand(n.CommandLine(t, owner.session), x, true).OK()
		row := newest(t, n.CommandLine(t, owner.session), x.OrganizationAuditPath(), "iam.organization.settings_updated")
		if diff := cmp.Diff([]string{`require_second_factor false true`}, told(row)); diff != "" {
			t.Errorf("wanted (-), told (+):\n%s", diff)
		}
	})
}

const (
	makes  = "it makes something, which its row describes: there was nothing before"
	counts = "it ends an import, whose lines have told what they changed"
	reads  = "it changes nothing"
	// The tests of internal/payout/dispatch make banks that do this.
	held     = "only a limit or rule that became stricter causes it"
	fromRail = "only a bank that is silent or contradicts us causes it"
	secret   = "it is about a secret, of which the log tells nothing, or about a session; its action says all there is"
)

// withoutChanges are the actions whose rows need not tell any, and why.
func withoutChanges() map[audit.Action]string {
	return map[audit.Action]string{
		audit.WorkspaceCreated: makes, audit.OrganizationCreated: makes, audit.UserCreated: makes, audit.EntryCreated: makes, audit.TagCreated: makes,
		audit.UserBound: makes, audit.LinkCreated: makes,
		audit.AccessDenied: reads, audit.LoginFailed: reads, audit.ReceivingMethodRevealed: reads, audit.AuditExported: reads,
		audit.ImportHeld: makes, audit.ImportStarted: makes, audit.ImportCompleted: counts, audit.ImportFailed: counts, audit.ImportCancelled: counts,
		audit.BulkStarted: makes, audit.BulkCompleted: counts, audit.BulkFailed: counts, audit.BulkCancelled: counts,
		audit.ImportDownloaded: reads, audit.DirectoryExported: reads,
		audit.AuditErased: "what it removed must be told nowhere", audit.AuditRestarted: "its description names the checkpoint",
		audit.StoreArchived: "its description says how much there was", audit.StoreRestored: "its description names the moment of the archive", audit.RailsResumed: "its description says what they were stopped for", audit.RailAdopted: "its description says what was wrong",
		audit.DeviceApproved: secret, audit.DeviceDenied: secret, audit.SessionCreated: secret, audit.SessionRevoked: secret, audit.SigningKeyRotated: secret,
		audit.VaultKeyReplaced: secret, audit.VaultKeyRotated: secret, audit.VaultResealed: secret,
		audit.PasswordChanged: secret, audit.PasskeyAdded: secret, audit.PasskeyRemoved: secret, audit.TOTPEnabled: secret, audit.TOTPDisabled: secret,
		audit.RecoveryCodesMade: secret, audit.RecoveryCodeUsed: secret, audit.FactorsReset: secret,
		audit.PayoutRevealed: reads, audit.PayoutFailed: "its outcome is a failure, and its description tells the reason",
		audit.PayoutAttention: fromRail, audit.MoneySuspended: fromRail, audit.PayoutSettled: fromRail,
		audit.PayoutRecheckApproved: held, audit.PayoutRecheckRejected: held, audit.PayoutRecheckWithdrawn: held, audit.PayoutRecheckExpired: held,
		audit.PayoutAcknowledged: "its description names the payment", audit.IntegrityKeyMade: secret,
		audit.UserRecovered: "a link may set up nothing but a password; a name or a status that it changes is told",
	}
}

const plantedNumber = "DE89370400440532013000"

// mutateEverything sends every request that changes something, and does what the API has not.
// It returns the secrets that the answers showed.
func mutateEverything(t *testing.T, n *servertest.Node) (shown []string) {
	t.Helper()
	x := n.Tenant(t)
	note := func(answer *servertest.Answer) {
		for _, name := range []string{"api_key", "secret", "token", "invitation_url"} {
			if text, _ := servertest.Decoded[any](answer).(map[string]any)[name].(string); text != "" {
				shown = append(shown, text)
			}
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	send := func(path, session string, pairs ...string) {
		t.Helper()
		if status, _, _ := n.Form(t, path, session, pairs...); status >= http.StatusBadRequest {
			t.Fatalf("%s is answered %d", path, status)
		}
	}
	for _, o := range operations() {
		if o.Method() != "GET" {
			note(o.do(x.Owner, o.ask(x, x.Owner)).OK())
		}
	}
	removeWithSecret(x)
	if _, err := operator.Remove(t.Context(), n.DB, db.Caller{}, x.Owner.Email()); err != nil { // whom a request made one
		t.Fatal(err)
	}
	x.Define("changed", "ws.read")
	x.Define("changed", "ws.read", "ws.members.read")
	payee := x.Entry("Payee")
	method := x.Owner.AddMethod(payee, body{"provider": "bank", "account_name": "Ada", "account_id": plantedNumber})
	x.Owner.Patch("/v1/directory/"+payee+"/receiving-methods/"+method, body{"account_id": "0" + plantedNumber}).OK()
	x.Owner.Delete("/v1/directory/" + payee + "/receiving-methods/" + method).OK()

	endPayouts(t, n)
	endJobs(t, n)
	decidePolicies(t, n, x)

	x.Announce(x.Account(0), 100)
	account := x.Account(0)
	for _, status := range []string{"frozen", "active", "closed"} {
		x.Owner.Patch("/v2/accounts/"+account, body{"status": status}).OK()
	}

	email, by, ctx := servertest.NewEmail(), db.Caller{}, t.Context()
	n.User(t, email).Join(x.Add(email, "admin"))
	session := n.Complete(t, n.OperatorsLink(t, email))
	send("/account/name", session, "name", "Walker")
	invited := x.Add(servertest.NewEmail(), "viewer")
	n.Clock.Advance(time.Second)
	send("/w/"+x.WorkspaceID+"/members/"+invited+"/link", session)
	for _, act := range []func(context.Context, db.Caller, string) (string, error){n.Identity.DisableUser, n.Identity.EnableUser} {
		_, err := act(ctx, by, email)
		must(err)
	}
	_, key, err := n.Identity.CreateKeyFor(ctx, by, email, identity.NewKey{Name: "of an operator"})
	must(err)
	_, err = n.Identity.RevokeAnyKey(ctx, by, key)
	must(err)
	client, word, err := n.Identity.CreateClient(ctx, by, x.WorkspaceID, "Robot", "viewer")
	must(err)
	must(n.Identity.RevokeClient(ctx, by, client))
	n.Clock.Advance(31 * 24 * time.Hour) // longer than a deleted entry is kept
	must(n.Server.Tidy(ctx))
	return append(shown, key, word, session)
}

// endPayouts brings payouts of the sandbox, and approvals of batches, to every end.
func endPayouts(t *testing.T, n *servertest.Node) {
	t.Helper()
	x, maker, second := n.Pair(t)
	for _, number := range []string{"1234569001", "1234569012", "1234569013"} {
		x.Sent(number)
	}
	n.Clock.Advance(time.Minute)
	n.RunPayouts(t)
	account := x.Account(1_000_000)
	to := body{"bank_account_name": "Juan dela Cruz", "bank_account_number": "1234567890", "bank_code": "BOPIPHMMXXX"}
	batch := func() string {
		return maker.Post("/v2/batch-payout-requests", body{"source_account_id": account, "currency": "PHP",
			"payouts": []body{{"amount_cents": 1000, "settlement_account": to}}}).Created().Text("approval_id")
	}
	second.Approve(batch()).OK()
	second.Post("/v1/approvals/"+batch()+"/reject", body{"reason": "no"}).OK()
	maker.Post("/v1/approvals/"+batch()+"/withdraw", nil).OK()
	one := maker.Post("/v2/payout-requests", body{"source_account_id": account, "currency": "PHP", "amount_cents": 1000, "settlement_account": to}).Created()
	maker.Post("/v1/approvals/"+one.Text("approval_id")+"/withdraw", nil).OK()
	resolve := func() string {
		return maker.Post("/v2/payout-requests/"+x.Stuck("live")+"/resolve", body{"as": "not_paid", "evidence": "a statement"}).
			Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")
	}
	second.Post("/v1/approvals/"+resolve()+"/reject", body{"reason": "no"}).OK()
	maker.Post("/v1/approvals/"+resolve()+"/withdraw", nil).OK()
	resolve()
}

// endJobs ends the approvals of imports and bulks in every way, and leaves two that will expire.
func endJobs(t *testing.T, n *servertest.Node) {
	t.Helper()
	x, maker, second := n.Pair(t)
	bulk := func() string {
		id := x.Entry("Deleted")
		second.Approve(maker.Post("/v1/directory/"+id+"/receiving-methods", bankAccount()).OK().Text("approval_id")).OK()
		gone := maker.Post("/v1/directory/bulk", body{"workspace_id": x.WorkspaceID, "action": "delete", "ids": []string{id}}).OK().Text("id")
		return maker.Post("/v1/directory/bulk/"+gone+"/undo", nil).OK().Text("approval_id")
	}
	for _, job := range []func() string{bulk, func() string { return importAccount(x, servertest.NewEmail()) }} {
		id := job()
		second.Get("/v1/approvals/" + id + "/lines").OK()
		second.Approve(id).OK()
		second.Post("/v1/approvals/"+job()+"/reject", body{"reason": "no"}).OK()
		maker.Post("/v1/approvals/"+job()+"/withdraw", nil).OK()
		job()
	}
}

// decidePolicies ends approvals in every way, and leaves two that will expire.
func decidePolicies(t *testing.T, n *servertest.Node, x *servertest.Tenant) {
	t.Helper()
	second := n.Person(t, x.Member("admin"))
	x.EverybodyCounts()
	ask := func(looser body) string {
		return x.Owner.Patch(x.Path("/receiving-policy"), looser).OK().Text("approval_id")
	}
	second.Post("/v1/approvals/"+ask(body{"receiving_cooling_hours": 0})+"/reject", body{"reason": "no"}).OK()
	x.Owner.Post("/v1/approvals/"+ask(body{"receiving_cooling_hours": 0})+"/withdraw", nil).OK()
	second.Approve(ask(body{"receiving_cooling_hours": 0})).OK()
	ask(body{"receiving_approval": "one_person"})
	x.Owner.AddMethod(x.Entry("Forgotten"), bankAccount())
	x.Owner.Patch(x.Path("/receiving-policy"), body{"receiving_cooling_hours": 1}).OK()
	ask(body{"receiving_approval": "one_person"})
	cools := x.Entry("Cools")
	second.Approve(x.Owner.Post("/v1/directory/"+cools+"/receiving-methods", bankAccount()).OK().Text("approval_id")).OK()

	renamed := func() string {
		return x.Owner.Patch("/v1/directory/"+cools, body{"name": servertest.NewEmail()}).OK().Text("approval_id")
	}
	looser := func() string {
		return x.Owner.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 0}).OK().Text("approval_id")
	}
	higher := func(cents int) string {
		return x.Owner.Post("/v2/limits", body{"workspace_id": x.WorkspaceID, "per": "day", "each": "account", "amount_cents": cents}).OK().Text("approval_id")
	}
	higher(100)
	higher(10)
	for _, waits := range []func() string{looser, func() string { return higher(20) }, renamed} {
		second.Post("/v1/approvals/"+waits()+"/reject", body{"reason": "no"}).OK()
		x.Owner.Post("/v1/approvals/"+waits()+"/withdraw", nil).OK()
		second.Approve(waits()).OK()
	}
	resume := func() string {
		return x.Owner.Post(x.Path("/payout-resume"), body{}).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")
	}
	frozen := x.LiveAccount()
	unfreeze := func() string {
		x.Owner.Patch("/v2/accounts/"+frozen, body{"status": "frozen"}).OK()
		return x.Owner.Patch("/v2/accounts/"+frozen, body{"status": "active"}).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")
	}
	x.Owner.Post(x.Path("/payout-stop"), body{"reason": "a drill"}).OK()
	for _, waits := range []func() string{resume, unfreeze} {
		second.Post("/v1/approvals/"+waits()+"/reject", body{"reason": "no"}).OK()
		x.Owner.Post("/v1/approvals/"+waits()+"/withdraw", nil).OK()
		second.Approve(waits()).OK()
	}
	x.Define("clerk", "ws.read")
	clerk := x.Member("clerk").UserID
	assign := func() string {
		return x.Owner.Post(x.Path("/roles"), body{"user_id": clerk, "role": "admin"}).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")
	}
	widen := func() string {
		return x.Owner.Put(x.Path("/roles/clerk"), body{"name": "Clerk", "permissions": []string{"ws.read", "ws.payouts.approve"}}).
			Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")
	}
	for _, waits := range []func() string{assign, widen} {
		second.Post("/v1/approvals/"+waits()+"/reject", body{"reason": "no"}).OK()
		x.Owner.Post("/v1/approvals/"+waits()+"/withdraw", nil).OK()
		second.Approve(waits()).OK()
		x.Owner.Delete(x.Path("/roles/" + clerk + "/admin"))
		x.Owner.Put(x.Path("/roles/clerk"), body{"name": "Clerk", "permissions": []string{"ws.read"}}).OK()
		waits() // which expires
	}
	lost, _, other := n.Pair(t)
	lost.Owner.Delete(lost.Path("/members/" + other.UserID)).OK()
	lost.Owner.Post(lost.Path("/second-person/extend"), nil).OK()
	_, err := workspace.Appoint(t.Context(), n.DB, db.Caller{}, lost.WorkspaceID, other.Email())
	if err != nil {
		t.Fatal(err)
	}
	x.Owner.Post(x.Path("/payout-stop"), body{"reason": "another drill", "mode": "live"}).OK()
	resume()
	unfreeze()
	renamed()
	looser()
	higher(30)
	alone := n.Tenant(t).Owner // who needs no one
	made := alone.Post("/v2/limits", body{"workspace_id": alone.Get("/v1/workspaces").OK().List()[0]["id"], "per": "day", "amount_cents": 1}).OK().Text("id")
	alone.Delete("/v2/limits/" + made).OK()
}

func TestEveryUpdateReportsWhatItChanged(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		mutateEverything(t, n)
		var silent []string
		seen := map[audit.Action]bool{}
		if err := n.DB.Read(t.Context(), func(q db.Q) error {
			return q.Each(func(r db.Rows) error {
				seen[audit.Action(r.Text(0))] = true
				if r.Null(1) {
					silent = append(silent, r.Text(0))
				}
				return nil
			}, `SELECT action, CAST(changes AS TEXT) FROM audit_entry WHERE outcome = 'success'`)
		}); err != nil {
			t.Fatal(err)
		}
		exempt := withoutChanges()
		for _, action := range silent {
			if exempt[audit.Action(action)] == "" {
				t.Errorf("a row %s does not tell what changed", action)
			}
		}
		for _, action := range audit.Actions() {
			if !seen[action] && exempt[action] == "" {
				t.Errorf("nothing in this test does %s: it has to, or the action needs a reason to tell no changes", action)
			}
		}
	})
}

func TestNoSecretAndNoAccountNumberReachesTheLog(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		planted := append(mutateEverything(t, n), plantedNumber, "0"+plantedNumber, servertest.Password)
		if len(planted) < 10 {
			t.Fatalf("the answers showed only %d secrets", len(planted))
		}
		log := n.Dump(t, "audit_log")
		if !strings.Contains(log, "•••• 3000") {
			t.Error("the log does not tell of the account number at all")
		}
		for _, text := range planted {
			sum := sha256.Sum256([]byte(text))
			_, end, _ := strings.Cut(text, "_") // what would be left of a secret without its prefix
			for what, found := range map[string]string{
				"it": text, "it as JSON": strings.Trim(string(api.AppendString(nil, text)), `"`), "its digest": hex.EncodeToString(sum[:]),
				"its digest in base64": base64.StdEncoding.EncodeToString(sum[:]), "its end": end,
			} {
				if len(found) > 8 && strings.Contains(log, found) {
					t.Errorf("of %q, the log has %s", text, what)
				}
			}
		}
	})
}

package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pquerna/otp/totp"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/browsertest/oidctest"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/ledger"
	"bursar/internal/mail"
	"bursar/internal/mail/smtptest"
	"bursar/internal/payout/control"
	"bursar/internal/rail"
	"bursar/internal/rail/simulator"
	"bursar/internal/server/servertest"
	"bursar/internal/setup"
	"bursar/internal/signin"
	"bursar/internal/web"
	"bursar/internal/workspace"
)

// must ends the walk at what did not go as it should.
func (w *tour) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%s: %v", w.step, err)
	}
}

// payoutControl makes and ends rules and limits, and takes what they guard.
func (w *tour) payoutControl(second *servertest.Client) {
	x, owner := w.town.large, w.town.large.Owner
	w.begin("rules that are approved, rejected and given up")
	rule := func(terms body) *servertest.Answer {
		terms["workspace_id"] = x.WorkspaceID
		return owner.Post("/v2/approval-rules", terms).OK()
	}
	robot, _, err := w.node.Identity.CreateClient(w.t.Context(), db.Caller{}, x.WorkspaceID, "Payer", "disbursement_manager")
	w.must(err)
	tight := rule(body{"approvals": 2, "client_id": robot, "role": "admin"}).Text("id")
	second.Approve(rule(body{"approvals": 0, "up_to_cents": 5}).Text("approval_id")).OK()
	second.Post("/v1/approvals/"+rule(body{"approvals": 0}).Text("approval_id")+"/reject", body{"reason": "no"}).OK()
	owner.Delete("/v2/approval-rules/" + rule(body{"approvals": 0}).Text("id")).OK()
	second.Approve(owner.Delete("/v2/approval-rules/" + tight).OK().Text("approval_id")).OK()
	w.begin("limits that rise and end")
	payee := x.Entry("Payee")
	limit := func(cents int) *servertest.Answer {
		return owner.Post("/v2/limits", body{"workspace_id": x.WorkspaceID, "per": "day", "amount_cents": cents, "maker_id": owner.UserID, "entry_id": payee}).OK()
	}
	limit(100)
	limit(50)
	second.Approve(limit(70).Text("approval_id")).OK()
	second.Post("/v1/approvals/"+limit(80).Text("approval_id")+"/reject", body{"reason": "no"}).OK()
	id := limit(60).Text("id")
	w.begin("what rules and limits decide")
	authority, cursors := access.NewAuthority(w.node.DB), web.NewCursors(nil)
	rails, err := rail.Load("", rail.Config{Simulator: simulator.New(w.node.DB)})
	w.must(err)
	approvals := approval.New(w.node.DB, w.node.Vault, authority, cursors, nil, nil, "")
	rules := control.New(w.node.DB, w.node.Vault, authority, cursors, approvals, rails, control.Screening{})
	p := control.Spending{WorkspaceID: x.WorkspaceID, Makers: []string{owner.UserID}, EntryID: payee, Key: []byte("key"), Amount: 60, At: w.node.DB.Now()}
	_, err = db.Write(w.t.Context(), w.node.DB, db.Caller{}, func(tx *db.Tx) (control.Need, audit.Event, error) {
		for _, take := range []bool{true, false, true} { // the second one is refused
			if err := rules.TakeLimits(tx, p); (err == nil) != take {
				return control.Need{}, audit.Event{}, fmt.Errorf("take a limit: %w", err)
			}
			if !take {
				if err := rules.GiveBackLimits(tx, p); err != nil {
					return control.Need{}, audit.Event{}, err
				}
			}
		}
		need, err := rules.Need(tx.Q, control.Spending{WorkspaceID: x.WorkspaceID, Rail: "instapay", Amount: 60, Mode: api.ModeSandbox}, db.Caller{})
		return need, audit.None("a test"), err
	})
	w.must(err)
	second.Approve(owner.Delete("/v2/limits/" + id).OK().Text("approval_id")).OK()
	w.begin("rules that one person alone has made")
	suspended, lax, alone := rule(body{"approvals": 2}).Text("id"), rule(body{"approvals": 2}).Text("id"), w.node.Tenant(w.t)
	own := alone.Owner.Post("/v2/approval-rules", body{"workspace_id": alone.WorkspaceID, "approvals": 0}).OK().Text("id")
	alone.Owner.Post("/v2/approval-rules", body{"workspace_id": alone.WorkspaceID, "approvals": 1}).Invalid("approvals")
	free := alone.Owner.Post("/v2/limits", body{"workspace_id": alone.WorkspaceID, "per": "day", "amount_cents": 100}).OK().Text("id")
	alone.Owner.Delete("/v2/limits/" + free).OK()
	_, err = db.Write(w.t.Context(), w.node.DB, db.Caller{}, func(tx *db.Tx) (ledger.Account, audit.Event, error) {
		if err := tx.Exec(`UPDATE payout_rule SET approvals = 0 WHERE id = $1`, lax); err != nil {
			return ledger.Account{}, audit.Event{}, err
		}
		for _, one := range []string{suspended, lax, own} {
			if err := tx.Exec(`UPDATE payout_rule SET alone = TRUE, active_at = 1 WHERE id = $1`, one); err != nil {
				return ledger.Account{}, audit.Event{}, err
			}
		}
		if err := tx.Exec(`INSERT INTO receiving_policy (workspace_id, approval, two_seen_at, payouts_seen_at, version) VALUES ($1, 'automatic', 0, 2, 0)
			ON CONFLICT (workspace_id) DO UPDATE SET payouts_seen_at = 2`, alone.WorkspaceID); err != nil {
			return ledger.Account{}, audit.Event{}, err
		}
		a, err := ledger.NewAccount(tx, x.WorkspaceID, "Real", "PHP", api.ModeLive)
		return a, audit.None("a test"), err
	})
	w.must(err)
	alone.Owner.Post("/v2/approval-rules/"+own+"/confirm", nil).OK()
	second.Approve(owner.Post("/v2/approval-rules/"+suspended+"/confirm", nil).OK().Text("approval_id")).OK()
	owner.Delete("/v2/approval-rules/" + lax).OK()
	w.begin("a client's new secret while there is no second person")
	_, err = db.Write(w.t.Context(), w.node.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), tx.Exec(`UPDATE receiving_policy SET payouts_seen_at = $2 WHERE workspace_id = $1`, alone.WorkspaceID, tx.Now())
	})
	w.must(err)
	alone.Owner.Post(alone.Path("/clients/"+aClient(alone, nil).args[1]+"/rotate"), nil).OK()
	w.begin("credentials of a mode")
	by := db.Caller{}
	by.ID, by.Scope = owner.UserID, audit.Scope{Mode: audit.SandboxMode, Administer: true}
	_, err = approvals.Waiting(w.t.Context(), by, x.WorkspaceID)
	w.must(err)
	_, key, err := w.node.Identity.CreateKeyFor(w.t.Context(), db.Caller{}, owner.Get("/v1/auth/me").OK().Text("email"), identity.NewKey{Name: "sandbox", Scope: by.Scope})
	w.must(err)
	sandbox := w.node.Login(w.t, key)
	for _, path := range []string{"/v1/approvals", "/v2/payout-requests", "/v2/deposits", "/v2/accounts", "/v2/limits"} {
		sandbox.Get(path + "?workspace_id=" + x.WorkspaceID).OK()
	}
	sandbox.Patch("/v1/directory/"+payee, body{"external_id": "walk"}).OK()
	sandbox.Patch(x.Path("/receiving-policy"), body{"receiving_cooling_hours": 90}).Fails(403, "FORBIDDEN")
	sandbox.Patch(x.OrganizationPath("/settings"), body{"name": "Walk"}).Fails(403, "FORBIDDEN")
}

// corners does what operations do only when asked in a certain way.
func (w *tour) corners() {
	x, owner := w.town.large, w.town.large.Owner
	w.begin("a change that is asked for again, and once more the day after")
	create := body{"workspace_id": x.WorkspaceID, "type": "person", "fields": body{}, "tags": []string{"common", "new"}}
	owner.Once("walk", "POST", "/v1/directory", create).OK()
	owner.Once("walk", "POST", "/v1/directory", create).OK()
	w.town.change(`UPDATE idempotency SET created_at = 1 WHERE created_at >= $1`, w.town.now)
	owner.Once("walk", "POST", "/v1/directory", create).OK()
	w.begin("entries with a word that very many have")
	for range 520 {
		owner.Post("/v1/directory", body{"workspace_id": x.WorkspaceID, "type": "person", "fields": body{}, "label": "Payee 2025"}).OK()
	}
	w.begin("changes of an entry")
	id := owner.Post("/v1/directory", body{"workspace_id": x.WorkspaceID, "type": "person", "fields": body{"first-name": "Ada"}, "tags": []string{"common"}}).OK().Text("id")
	owner.Patch("/v1/directory/"+id, body{"fields": body{"first-name": "Grace"}, "tags": []string{"other", w.town.tags[0]}}).OK()
	owner.Patch("/v1/directory/"+id, body{"tags": []string{}}).OK()
	for range 2 { // of which the second one becomes the default once the first is gone
		owner.Post("/v1/directory/"+id+"/receiving-methods", bankAccount()).OK()
	}
	first := owner.Get("/v1/directory/" + id + "/receiving-methods").OK().Column("id")[0]
	owner.Patch("/v1/directory/"+id+"/receiving-methods/"+first, body{"account_id": "0009"}).OK()
	owner.Delete("/v1/directory/" + id + "/receiving-methods/" + first).OK()
	w.approvals()
	w.begin("a role of the workspace for a member")
	x.Define("walker", "ws.read")
	member := x.Add(servertest.NewEmail(), "walker")
	owner.Put(x.Path("/roles/walker"), body{"name": "Walker", "permissions": []string{"ws.read", "ws.write"}}).OK()
	owner.Delete(x.Path("/roles/walker")).Fails(http.StatusUnprocessableEntity, "ROLE_IN_USE")
	for _, role := range []string{"auditor", "admin"} {
		owner.Post(x.Path("/roles"), body{"user_id": member, "role": role}) // an admin waits for a second person
	}
	owner.Post(x.Path("/roles"), body{"user_id": member, "role": "admin"}).Fails(http.StatusForbidden, "SECOND_PERSON_REQUIRED")
	owner.Delete(x.Path("/roles/" + member + "/auditor")).OK()
	owner.Post(x.Path("/second-person/extend"), nil).OK()
	w.leaver()
	w.begin("a workspace that loses its last second person")
	lost, _, second := w.node.Pair(w.t)
	other := lost.Member("viewer")
	lost.Define("spare", "ws.read")
	lost.Member("spare")
	grant := lost.Owner.Post(lost.Path("/roles"), body{"user_id": other.UserID, "role": "admin"}).Fails(http.StatusForbidden, "SECOND_PERSON_REQUIRED")
	second.Approve(grant.Detail("approval_id")).OK()
	for _, gone := range []string{second.UserID, other.UserID} {
		lost.Owner.Delete(lost.Path("/members/" + gone)).OK()
	}
	lost.Owner.Post(lost.Path("/members"), body{"email": servertest.NewEmail(), "role": "admin"}).OK()
	lost.Define("spare", "ws.read", "ws.audit.read")
	lost.Owner.Post(lost.Path("/second-person/extend"), nil).OK()
	_, err := workspace.Appoint(w.t.Context(), w.node.DB, db.Caller{}, lost.WorkspaceID, other.Email())
	w.must(err)
	w.must(w.node.Server.Tidy(w.t.Context()))
	w.operations()
	w.begin("a key that is in use")
	for range 5 { // one of which is quick enough for the key to count as in use
		w.town.change(`UPDATE api_key SET last_used_at = $1 WHERE account_id = $2`, w.node.DB.Now(), w.node.First.UserID)
		w.node.Admin(w.t)
	}
	w.begin("probes")
	for _, path := range []string{"/readyz", "/.well-known/jwks.json"} {
		w.node.Outside(w.t, path)
	}
	w.begin("housekeeping")
	w.must(w.node.Server.Tidy(w.t.Context()))
}

// approvals takes receiving methods through all that can become of them.
func (w *tour) approvals() {
	x, owner := w.town.large, w.town.large.Owner
	w.begin("approvals")
	secondPerson(x)
	second := w.node.Person(w.t, x.Member("admin"))
	x.EverybodyCounts()
	id := x.Entry("Payee")
	path := "/v1/directory/" + id + "/receiving-methods"
	add := func() *servertest.Answer { return owner.Post(path, bankAccount()).OK() }
	first, other := add(), add()
	for _, made := range []*servertest.Answer{first, other} {
		second.Approve(made.Text("approval_id")).OK()
	}
	changed := owner.Patch(path+"/"+first.Text("id"), body{"account_id": "0007"}).OK()
	second.Approve(changed.Text("approval_id")).OK()
	w.begin("approved methods that have cooled")
	w.town.change(`UPDATE receiving_method SET payable_at = 1 WHERE settled = FALSE`)
	w.town.change(`UPDATE receiving_method SET default_since = 1 WHERE id = $1`, first.Text("id"))
	w.must(w.node.Server.Tidy(w.t.Context()))
	owner.Patch(path+"/"+other.Text("id"), body{"is_default": true}).OK()
	owner.Delete(path + "/" + changed.Text("id")).OK()
	w.begin("a payee that is deleted and restored")
	add()
	owner.Delete("/v1/directory/" + id).OK()
	owner.Post("/v1/directory/"+id+"/restore", nil).OK()
	w.begin("approvals that expire")
	add()
	w.town.change(`UPDATE approval SET expires_at = 1 WHERE state = 'pending' AND about_id = $1`, id)
	w.must(w.node.Server.Tidy(w.t.Context()))
	w.begin("a file that waits")
	file := importAccount(x, "00070007")
	importAccount(x, "00070007") // the same account for another payee
	for _, query := range []string{"", "?flag=new_payee", "?flag=shared_account&limit=2", "?flag=changed", "?flag=name_differs"} {
		second.Get("/v1/approvals/" + file + "/lines" + query).OK()
	}
	shown := second.Get("/v1/approvals/" + file).OK()
	second.Post("/v1/approvals/"+file+"/approve", body{"digest": shown.Text("digest"), "verification": "called", "leave_out": []int{2}}).Invalid("leave_out")
	second.Approve(file).OK()
	w.node.RunDecisions(w.t)
	w.begin("a file of many lines")
	second.Approve(x.ImportLines(strings.Repeat("person,Ada,bank,Ada,00070009\n", 120))).OK()
	w.node.RunDecisions(w.t)
	w.begin("a file that renames a payee")
	known := owner.Post("/v1/directory", body{"workspace_id": x.WorkspaceID, "type": "person", "name": "Renamed", "external_id": "RENAMED", "fields": body{}}).OK().Text("id")
	second.Approve(owner.Post("/v1/directory/"+known+"/receiving-methods", bankAccount()).OK().Text("approval_id")).OK()
	rename := func(name string) string {
		done := owner.Do("POST", "/v1/directory/imports?format=csv&match=external_id&workspace_id="+x.WorkspaceID,
			"type,name,external_id\nperson,"+name+",RENAMED\n", "Content-Type", "application/octet-stream").OK().Text("id")
		w.node.RunImports(w.t)
		return owner.Get("/v1/directory/imports/" + done).OK().Text("approval_id")
	}
	second.Approve(rename("Otherwise")).OK()
	rename("Once more")
	owner.Get("/v1/directory/" + known).OK()
	owner.Patch("/v1/directory/"+known, body{"name": "By hand"}).OK()
	owner.Patch("/v1/directory/"+known, body{"name": "By hand again"}).OK()
	w.begin("a file whose payee is renamed")
	file = importAccount(x, "00070008")
	renamed := second.Get("/v1/approvals/" + file + "/lines").OK().Column("entry_id")[0]
	owner.Patch("/v1/directory/"+renamed+"/receiving-methods/"+second.Get("/v1/approvals/" + file + "/lines").OK().Column("subject_id")[0], body{"account_name": "Other"}).OK()
	owner.Patch("/v1/directory/"+renamed, body{"label": "Other"}).OK()
	w.begin("many approvals")
	many := add().Text("approval_id")
	second.Post("/v1/approvals/decide", body{"workspace_id": x.WorkspaceID, "decision": "approve", "verification": "called",
		"approvals": []body{{"id": many, "digest": second.Get("/v1/approvals/" + many).OK().Text("digest")}}}).OK()
	w.begin("methods that ended long ago")
	method := add().Text("id")
	for range 105 {
		method = owner.Patch(path+"/"+method, body{"account_id": servertest.NewEmail()}).OK().Text("id")
	}
	owner.Delete(path + "/" + method).OK()
	add()
	w.begin("a looser policy")
	second.Approve(owner.Patch(x.Path("/receiving-policy"), body{"receiving_cooling_hours": 0}).OK().Text("approval_id")).OK()
	second.Approve(add().Text("approval_id")).OK()
	two := `{"type":"person","name":"Two","external_id":"TWO","receiving_methods":[{"provider":"bank","account_name":"A","account_id":"81"},{"provider":"bank","account_name":"A","account_id":"82","is_default":true}]}`
	owner.Do("POST", "/v1/directory/imports?format=ndjson&workspace_id="+x.WorkspaceID, two, "Content-Type", "application/octet-stream").OK()
	w.node.RunImports(w.t)
	second.Approve(owner.Get("/v1/approvals?state=pending&workspace_id=" + x.WorkspaceID).OK().Column("id")[0]).OK()
	w.payoutControl(second)
	w.begin("approvers who come and go")
	x.Owner.Delete(x.Path("/members/" + x.Member("admin").UserID)).OK()
	w.list(owner, "/v1/approvals", "half of all", "workspace_id", x.WorkspaceID)
	w.list(owner, "/v1/approvals", "half of all", "workspace_id", x.WorkspaceID, "state", "pending")
	w.begin("one person")
	alone := w.town.small
	payee := alone.Entry("Payee")
	kept := alone.Owner.AddMethod(payee, bankAccount())
	alone.Owner.Patch("/v1/directory/"+payee+"/receiving-methods/"+kept, body{"account_id": "0005"}).OK()
}

// console opens every page of the console and sends what forms the API has not.
func (w *tour) console() {
	t, n, x := w.t, w.node, w.town.large
	w.begin("an address that its owner takes back")
	email := servertest.NewEmail()
	n.User(t, email).Join(x.Add(email, "viewer"))
	w.town.change(`UPDATE account SET email_proof = $1 WHERE email = $2`, x.OrganizationID, email) // as by a link that was shown
	n.Complete(t, n.OperatorsLink(t, email))
	w.begin("the link of an operator")
	email = servertest.NewEmail()
	n.User(t, email).Join(x.Add(email, "admin"))
	session := n.Complete(t, n.OperatorsLink(t, email))
	open := func(path string) {
		t.Helper()
		w.begin("the page " + path)
		if status := n.Page(t, path, session); status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
	}
	send := func(path string, pairs ...string) {
		t.Helper()
		w.begin("the form " + path)
		if status, _, _ := n.Form(t, path, session, pairs...); status >= http.StatusBadRequest {
			t.Errorf("%s: %d", path, status)
		}
	}
	room := func(path string) string { return "/w/" + x.WorkspaceID + path }
	row := x.Audit("")[0]["id"].(string)
	for _, path := range []string{"", "/directory", "/directory?tag=common", "/directory/new", "/directory/deleted", "/directory/tags", "/directory/tags/" + w.town.tags[0],
		"/members", "/organization", "/keys", "/keys/new", "/clients/new", "/roles", "/roles/new", "/audit", "/audit/" + row, "/search?q=payee", "/approvals", "/approvals?state=all"} {
		open(room(path))
	}
	account, paid := w.value(`SELECT id FROM ledger_account WHERE workspace_id = $1 LIMIT 1`, x.WorkspaceID), w.value(`SELECT id FROM payout WHERE workspace_id = $1 LIMIT 1`, x.WorkspaceID)
	for _, path := range []string{"/accounts", "/accounts/new", "/accounts/" + account, "/accounts/" + account + "/statement", "/payouts", "/payouts/" + paid, "/payouts/many?tag=common"} {
		open(room(path))
	}
	for _, path := range []string{"/workspaces/new", "/account", "/account/password", "/account/totp", "/device?code=" + n.NewDeviceCode(t, nil)} {
		open(path)
	}
	send(room("/audit/export"), "format", "csv", "outcome", "denied")
	invited := x.Owner.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "viewer"}).OK()
	send(room("/members/" + invited.Text("user_id") + "/link"))
	open(room("/members?status=invited"))
	w.begin("an invitation is taken by a link that was shown")
	n.Complete(t, w.shownLink(x, servertest.NewEmail()))
	send("/account/name", "name", "Walker")
	n.CommandLine(t, session)
	send("/account/sessions/" + w.value(`SELECT id FROM session WHERE account_id = $1 AND secret_hash IS NULL AND revoked_at IS NULL`, w.account(email)) + "/end")
	n.Clock.Advance(2 * time.Minute)
	open("/account")
	send("/account/sessions/end-others")
	send(room("/clients"), "name", "Walker", "role", "viewer")
	client := w.value(`SELECT id FROM account WHERE kind = 'client' AND name = $1`, "Walker")
	send(room("/clients/" + client + "/rotate"))
	send(room("/clients/" + client + "/revoke"))
	send("/signin", "email", email, "password", servertest.Password)
}

// shownLink invites someone as a server does that sends no mail.
func (w *tour) shownLink(x *servertest.Tenant, email string) string {
	w.t.Helper()
	x.Add(email, "viewer")
	var link identity.Link
	inviter := db.Caller{Actor: audit.Actor{ID: x.Owner.UserID}}
	_, err := db.Write(w.t.Context(), w.node.DB, inviter, func(tx *db.Tx) (_ struct{}, _ audit.Event, err error) {
		link, err = identity.NewLinks(w.node.PublicURL, nil).Invite(tx, inviter, w.account(email), email, x.WorkspaceID)
		return struct{}{}, audit.None("a step of a test"), err
	})
	w.must(err)
	return link.URL
}

// value is the first one of an answer, which no one records.
func (w *tour) value(sql string, args ...any) (value string) {
	w.t.Helper()
	w.must(w.town.d.Read(w.t.Context(), func(q db.Q) error {
		_, err := q.Row(sql, args...).Scan(&value)
		return err
	}))
	return value
}

func (w *tour) account(email string) string {
	w.t.Helper()
	return w.value(`SELECT id FROM account WHERE email = $1`, email)
}

// people signs someone in by everything but a password.
func (w *tour) people() {
	t, ctx := w.t, w.t.Context()
	box := smtptest.Start(t, smtptest.Options{})
	box.Refuse(451, 1)
	mailer, err := mail.New(mail.Config{URL: box.URL, From: "bursar@example.com", Backoff: []time.Duration{time.Millisecond}}, w.node.DB, w.node.Vault, slog.New(slog.DiscardHandler))
	w.must(err)
	links := identity.NewLinks(w.node.PublicURL, mailer)
	email := servertest.NewEmail()
	provider := oidctest.Start(t, oidctest.User{Email: email, Verified: true, Password: servertest.Password}, w.node.PublicURL+signin.CallbackPath)
	door, err := signin.New(w.node.DB, w.node.Vault, links, signin.Config{PublicURL: w.node.PublicURL,
		Provider: signin.Provider{Issuer: provider.Issuer, ClientID: provider.ClientID, ClientSecret: provider.ClientSecret}})
	w.must(err)
	w.node.User(t, email)
	w.town.large.Add(email, "viewer")
	me := db.Caller{Actor: audit.Actor{Type: audit.User, ID: w.account(email), Email: email, Name: "Walker", LoggedInAt: w.node.DB.Now()}}

	w.begin("a passkey")
	device := newAuthenticator(t, w.node.PublicURL, "localhost")
	offer, err := door.OfferPasskey(ctx, me)
	w.must(err)
	w.must(door.AddPasskey(ctx, me, "Walker", offer.State, device.make(offer.Options, me.ID)))
	question, err := door.AskPasskey(me)
	w.must(err)
	_, err = door.Passkey(ctx, me, question.State, device.sign(question.Options))
	w.must(err)

	w.begin("a second factor")
	key, err := door.NewTOTP(me)
	w.must(err)
	code := func(later time.Duration) string {
		text, err := totp.GenerateCode(key.Secret(), w.node.Clock.Now().Add(later))
		w.must(err)
		return text
	}
	_, err = door.EnableTOTP(ctx, me, key.Secret(), code(0))
	w.must(err)
	_, err = door.NewRecoveryCodes(ctx, me)
	w.must(err)
	if err := door.Code(ctx, me, me.ID, "no code"); err == nil {
		t.Error("any code is good")
	}
	_, err = door.Factors(ctx, me)
	w.must(err)
	w.town.change(`UPDATE organization SET require_second_factor = TRUE WHERE id = $1`, w.town.large.OrganizationID)
	w.must(door.DisableTOTP(ctx, me, code(30*time.Second)))
	w.town.change(`UPDATE organization SET require_second_factor = FALSE WHERE id = $1`, w.town.large.OrganizationID)
	w.must(door.ChangePassword(ctx, me, "", servertest.Password, true))
	w.must(door.RemovePasskey(ctx, me, w.value(`SELECT id FROM passkey WHERE account_id = $1`, me.ID)))

	w.begin("single sign-on, and a link that is asked for")
	for range 2 {
		location, state, err := door.StartSSO(ctx, false)
		w.must(err)
		_, err = door.FinishSSO(ctx, me, state, oidctest.SignIn(t, location, email, servertest.Password))
		w.must(err)
	}
	invited := servertest.NewEmail()
	w.town.large.Add(invited, "viewer")
	_, err = db.Write(ctx, w.node.DB, me, func(tx *db.Tx) (struct{}, audit.Event, error) {
		_, _, _, _, err := identity.VerifyEmail(tx, w.account(invited), "Walker")
		if err == nil {
			_, err = links.Recover(tx, me.ID, me.Email)
		}
		return struct{}{}, audit.None("a step of a test"), err
	})
	w.must(err)
	sending, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { mailer.Run(sending) })
	box.Wait(t, 1)
	stop()
	running.Wait()
	_, err = door.Reset(ctx, me, email, true)
	w.must(err)
}

// signing lets two nodes build the tree of the audit log in turn, and loses a part of it.
func (w *tour) signing() {
	signer := w.node.Server.AuditSigner()
	nodes := []*auditlog.Sequencer{auditlog.NewSequencer(w.node.DB, signer), auditlog.NewSequencer(w.node.DB, signer)}
	for turn := range 4 {
		w.begin("the tree of the log")
		w.node.Tenant(w.t) // whose stream is new
		for w.value(`SELECT 'behind' FROM audit_tree WHERE rows < (SELECT count(*) FROM audit_log)`) != "" {
			w.node.Clock.Advance(time.Minute) // longer than the lease of the other
			w.must(nodes[turn%2].Turn(w.t.Context()))
		}
	}
	w.begin("what is published of the log")
	w.must(signer.Publish(w.t.Context()))
	w.node.Outside(w.t, "/audit-log/checkpoint").OK()
	w.node.Outside(w.t, "/audit-log/tile/0/000").OK()
	w.begin("bursar audit verify --store")
	_, err := auditlog.VerifyStore(w.t.Context(), w.node.DB, signer.Key(), nil)
	w.must(err)
	w.begin("bursar audit restart")
	w.town.change(`DELETE FROM audit_head`)
	_, err = auditlog.Restart(w.t.Context(), w.node.DB, db.Caller{}, w.keyFile, auditlog.CheckpointFile(w.keyFile))
	w.must(err)
	root := make([]byte, 32)
	w.town.insert("audit_head", "number, size, rows, root, at", 400, func(i int) []any { return []any{i + 1, i + 1, i + 1, root, w.town.now} })
	w.town.insert("audit_tile", "level, number, hashes", 400, func(i int) []any { return []any{0, i, root} })
}

// operator runs what `bursar admin` does.
func (w *tour) operator() {
	ctx, by, id := w.t.Context(), db.Caller{}, w.node.Identity
	email := servertest.NewEmail()
	w.begin("bursar admin user")
	_, err := id.CreateUser(ctx, by, email, "Operated")
	w.must(err)
	_, err = id.DisableUser(ctx, by, email)
	w.must(err)
	_, err = id.EnableUser(ctx, by, email)
	w.must(err)
	for _, err := range id.Users(ctx) {
		w.must(err)
	}
	w.must(w.node.DB.Read(ctx, func(q db.Q) error {
		_, err := access.SoleAdminOf(q, email)
		return err
	}))
	w.must(setup.StorePublicURL(ctx, w.node.DB, by, "https://pay.example.com", true))
	invited := servertest.NewEmail()
	w.town.large.Add(invited, "viewer")
	_, err = id.CreateUser(ctx, by, invited, "Completed")
	w.must(err)

	w.begin("sequencing the log")
	w.node.TurnAudit(w.t, func() bool { return true })
	w.signing()

	w.begin("bursar admin audit")
	action, outcome, from := "auth.login.failed", "denied", w.town.now-time.Hour.Milliseconds()
	for _, selected := range []auditlog.Outside{{}, {Action: &action}, {Outcome: &outcome}, {From: from, To: w.town.now}, {Action: &action, Outcome: &outcome, From: from}} {
		for _, err := range selected.Rows(ctx, w.node.DB) {
			w.must(err)
		}
	}

	w.begin("bursar admin audit erase")
	ids, _, err := auditlog.RowsAbout(ctx, w.node.DB, w.town.entries[99])
	w.must(err)
	w.must(auditlog.Erase(ctx, w.node.DB, by, ids[0]))
	_, _, err = auditlog.RowsAbout(ctx, w.node.DB, db.FirstID("entry", 1)) // which no workspace has
	w.must(err)

	w.begin("bursar admin key")
	key, _, err := id.CreateKeyFor(ctx, by, email, identity.NewKey{Name: "one"})
	w.must(err)
	_, err = id.RevokeAnyKey(ctx, by, key)
	w.must(err)
	_, leaked, err := id.CreateKeyFor(ctx, by, email, identity.NewKey{Name: "other"})
	w.must(err)
	w.compromised()
	_, err = id.RevokeAnyCompromisedKey(ctx, by, leaked)
	w.must(err)
	_, err = id.Tokens().Rotate(ctx, by, false)
	w.must(err)
	_, err = id.Tokens().Rotate(ctx, by, true)
	w.must(err)

	w.begin("bursar admin client")
	client, secret, err := id.CreateClient(ctx, by, w.town.large.WorkspaceID, "Operated", "viewer")
	w.must(err)
	w.node.Exchange(w.t, servertest.Basic(client, secret)).OK()
	w.must(id.RevokeClient(ctx, by, client))

	w.begin("erasing what is too old")
	w.town.change(`UPDATE organization SET audit_retention_days = 1 WHERE id = $1`, w.town.large.OrganizationID)
	w.town.change(`UPDATE audit_stream SET erased_through = size - 20 WHERE size > 20`) // of each log the last rows are enough
	w.node.Clock.Advance(48 * time.Hour)
	w.must(auditlog.NewRetention(w.node.DB, 1).Turn(ctx))
}

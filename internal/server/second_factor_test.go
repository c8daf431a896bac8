package server_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
)

// resident is a person who signs in at a browser.
type resident struct {
	*servertest.Client // with an API key
	node               *servertest.Node
	email              string
	session            string // of the browser
	device             *authenticator
}

// newResident makes a person who has signed in with a password alone.
func newResident(t testing.TB, n *servertest.Node) *resident {
	t.Helper()
	email := servertest.NewEmail()
	n.User(t, email)
	return newResidentOf(t, n, email)
}

// newResidentOf does the same with an account that exists.
func newResidentOf(t testing.TB, n *servertest.Node, email string) *resident {
	t.Helper()
	n.Complete(t, n.OperatorsLink(t, email))
	_, key, err := n.Identity.CreateKeyFor(t.Context(), db.Caller{}, email, identity.NewKey{Name: "test", Scope: audit.Scope{Administer: true}})
	if err != nil {
		t.Fatal(err)
	}
	r := &resident{Client: n.Login(t, key), node: n, email: email}
	r.signIn(t)
	return r
}

// signIn signs in with the password.
func (r *resident) signIn(t testing.TB) {
	t.Helper()
	status, _, session := r.node.Form(t, "/signin", "", "email", r.email, "password", servertest.Password)
	if status != http.StatusSeeOther || session == "" {
		t.Fatalf("the sign-in is answered %d", status)
	}
	r.session = session
}

// addPasskey adds a passkey in the present session.
func (r *resident) addPasskey(t testing.TB) (status int, answer string) {
	t.Helper()
	cookie := "bursar_session=" + r.session
	status, options, state := post(t, r.node, "/account/passkeys", cookie, nil)
	if status != http.StatusOK {
		return status, string(options)
	}
	device := newAuthenticator(t, r.node.PublicURL, "localhost")
	status, text, _ := post(t, r.node, "/account/passkeys/finish?name=Laptop", cookie+"; "+state, device.make(options, r.UserID))
	if status == http.StatusOK {
		r.device = device
	}
	return status, string(text)
}

// signInByPasskey signs in with the passkey that was added last.
func (r *resident) signInByPasskey(t testing.TB) {
	t.Helper()
	_, options, state := post(t, r.node, "/signin/passkey", "", nil)
	request, err := http.NewRequestWithContext(t.Context(), "POST", r.node.URL+"/signin/passkey/finish", strings.NewReader(string(r.device.sign(options))))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Cookie", state)
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	for _, c := range response.Cookies() {
		if c.Name == "bursar_session" {
			r.session = c.Value
			return
		}
	}
	t.Fatalf("the passkey is answered %d", response.StatusCode)
}

// removePasskeys removes the passkeys one after the other and returns the last answer.
func (r *resident) removePasskeys(t testing.TB) (status int) {
	t.Helper()
	var ids []string
	if err := r.node.DB.Read(t.Context(), func(q db.Q) (err error) {
		ids, err = db.Collect(q, func(rows db.Rows) string { return rows.Text(0) }, `SELECT id FROM passkey WHERE account_id = $1`, r.UserID)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		status, _, _ = r.node.Form(t, "/account/passkeys/"+id+"/remove", r.session)
	}
	return status
}

// demand makes the tenant's organization demand a second factor, or stop doing so.
func demand(by *servertest.Client, x *servertest.Tenant, on bool) *servertest.Answer {
	return by.Patch(x.OrganizationPath("/settings"), body{"require_second_factor": on})
}

// demanding runs a test with a tenant whose owner has a passkey.
func demanding(t *testing.T, run func(t *testing.T, store dbtest.Store, n *servertest.Node, x *servertest.Tenant, owner *resident)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.AtLocalhost())
		x := n.Tenant(t)
		owner := newResidentOf(t, n, x.Owner.Email())
		x.Owner = owner.Client
		if status, answer := owner.addPasskey(t); status != http.StatusOK {
			t.Fatalf("the passkey is answered %d %s", status, answer)
		}
		run(t, store, n, x, owner)
	})
}

func TestARequiredSecondFactorStopsPeopleWhoSignedInWithoutOne(t *testing.T) {
	demanding(t, func(t *testing.T, store dbtest.Store, n *servertest.Node, x *servertest.Tenant, owner *resident) {
		bob, elsewhere := newResident(t, n), n.Tenant(t)
		command := n.CommandLine(t, bob.session)
		command.Join(x.Add(bob.email, "admin"))
		command.Join(elsewhere.Add(bob.email, "admin"))
		inside := []string{x.Path(""), x.Path("/members"), "/v1/directory?workspace_id=" + x.WorkspaceID, "/v1/audit?workspace_id=" + x.WorkspaceID,
			x.OrganizationPath(""), x.OrganizationPath("/settings"), x.OrganizationPath("/owners")}
		for _, path := range inside {
			command.Get(path).OK()
		}
		machine := machineClient(t, n, x, "viewer")

		demand(x.Owner, x, true).OK()
		for _, path := range inside {
			command.Get(path).Fails(403, "SECOND_FACTOR_REQUIRED")
			bob.Get(path).OK() // a session that depends on a key
		}
		command.Get(elsewhere.Path("")).OK()
		command.Get("/v1/auth/me").OK()
		machine.Get(x.Path("")).OK()
		command.Once("retry", "POST", "/v1/directory", body{"workspace_id": x.WorkspaceID, "type": "person", "fields": body{}}).Fails(403, "SECOND_FACTOR_REQUIRED")
		n.User(t, servertest.NewEmail()).Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")

		t.Run("also by a key that would outlast the session", func(t *testing.T) {
			id := bob.Get("/v1/api-keys").OK().Column("id")[0]
			command.On(t).Post("/v1/api-keys/"+id+"/rotate", nil).Fails(403, "SECOND_FACTOR_REQUIRED")
			made := command.On(t).Post("/v1/api-keys", body{"name": "elsewhere", "administer": true}).OK()
			key := n.Login(t, made.Text("api_key"))
			child := n.Login(t, key.Post("/v1/api-keys", body{"name": "child"}).OK().Text("api_key"))
			successor := n.Login(t, command.On(t).Post("/v1/api-keys/"+made.Text("id")+"/rotate", nil).OK().Text("api_key"))
			for _, c := range []*servertest.Client{key, child, successor} {
				c.Get(x.Path("")).Fails(403, "SECOND_FACTOR_REQUIRED")
				c.Get(elsewhere.Path("")).OK()
			}
		})
		t.Run("on its pages, and on those that change how they sign in", func(t *testing.T) {
			for _, path := range []string{"/", "/w/" + x.WorkspaceID, "/w/" + x.WorkspaceID + "/members", "/account/password"} {
				if status := n.Page(t, path, bob.session); status != http.StatusSeeOther {
					t.Errorf("%s is answered %d", path, status)
				}
			}
			for _, path := range []string{"/w/" + elsewhere.WorkspaceID, "/w/" + elsewhere.WorkspaceID + "/members", "/account", "/device", "/account/second-factor", "/account/totp"} {
				if status := n.Page(t, path, bob.session); status != http.StatusOK {
					t.Errorf("%s is answered %d", path, status)
				}
			}
			if status, location, _ := n.Form(t, "/w/"+x.WorkspaceID+"/keys", bob.session, "name", "escape"); status != http.StatusSeeOther || location != "/account/second-factor" {
				t.Errorf("a form is answered %d to %s", status, location)
			}
		})
		t.Run("until they have set one up", func(t *testing.T) {
			if status, answer := bob.addPasskey(t); status != http.StatusOK {
				t.Fatalf("the passkey is answered %d %s", status, answer)
			}
			if status := n.Page(t, "/w/"+x.WorkspaceID, bob.session); status != http.StatusOK {
				t.Errorf("then the page is answered %d", status)
			}
			command.On(t).Get(x.Path("")).Fails(403, "SECOND_FACTOR_REQUIRED")
			later := n.CommandLine(t, bob.session)
			later.Get(x.Path("")).OK()
			later.Once("retry", "POST", "/v1/directory", body{"workspace_id": x.WorkspaceID, "type": "person", "fields": body{}}).OK()
			later.Post("/v1/api-keys", body{"name": "good"}).OK()
		})
		t.Run("and whoever has one must sign in with it", func(t *testing.T) {
			bob.signIn(t)
			if status := n.Page(t, "/", bob.session); status != http.StatusSeeOther {
				t.Errorf("a password alone is answered %d", status)
			}
			if status, answer := bob.addPasskey(t); status != http.StatusForbidden {
				t.Errorf("with a password alone another passkey is answered %d %s", status, answer)
			}
			bob.signInByPasskey(t)
			if status := n.Page(t, "/w/"+x.WorkspaceID, bob.session); status != http.StatusOK {
				t.Errorf("the passkey is answered %d", status)
			}
			n.CommandLine(t, bob.session).Get(x.Path("")).OK()
		})
		t.Run("and cannot remove it", func(t *testing.T) {
			if status := bob.removePasskeys(t); status != http.StatusUnprocessableEntity {
				t.Errorf("removing the last one is answered %d", status)
			}
		})
		t.Run("until it is demanded no more", func(t *testing.T) {
			demand(x.Owner.On(t), x, false).OK()
			command.On(t).Get(x.Path("")).OK()
			if status := bob.removePasskeys(t); status != http.StatusSeeOther {
				t.Errorf("removing the last one is answered %d", status)
			}
		})
	})
}

// The rule of an organization keeps no one in: whoever has signed in without a second factor can leave.
func TestARequiredSecondFactorEndsEverySessionWithoutOne(t *testing.T) {
	demanding(t, func(t *testing.T, store dbtest.Store, n *servertest.Node, x *servertest.Tenant, owner *resident) {
		ann, bob := newResident(t, n), newResident(t, n)
		command := n.CommandLine(t, bob.session)
		command.Join(x.Add(bob.email, "viewer"))
		ann.Join(x.Add(ann.email, "viewer"))
		x.Owner.Post(x.OrganizationPath("/owners"), body{"user_id": bob.UserID}).OK()
		demand(x.Owner, x, true).OK()

		command.Delete(x.OrganizationPath("/owners/"+owner.UserID)).Fails(403, "SECOND_FACTOR_REQUIRED")
		command.Delete(x.OrganizationPath("/owners/" + bob.UserID)).OK()
		command.Delete(x.Path("/members/"+ann.UserID)).Fails(403, "SECOND_FACTOR_REQUIRED")
		command.Delete(x.Path("/members/" + bob.UserID)).OK()
		command.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
		command.Get(x.OrganizationPath("")).Fails(404, "RESOURCE_NOT_FOUND")

		t.Run("also in the console", func(t *testing.T) {
			if status := n.Page(t, "/w/"+x.WorkspaceID, ann.session); status != http.StatusSeeOther {
				t.Errorf("the page is answered %d", status)
			}
			if status, location, _ := n.Form(t, "/account/second-factor/leave/"+x.WorkspaceID, ann.session); status != http.StatusSeeOther || location != "/" {
				t.Errorf("leaving is answered %d to %s", status, location)
			}
			ann.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
		})
	})
}

func TestOnlyAnOwnerWithASecondFactorRequiresOne(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.AtLocalhost())
		x := n.Tenant(t)
		owner := newResidentOf(t, n, x.Owner.Email())
		x.Owner = owner.Client
		settings := func(c *servertest.Client) bool {
			demanded, _ := c.Get(x.OrganizationPath("/settings")).OK().Object()["require_second_factor"].(bool)
			return demanded
		}
		demand(x.Owner, x, true).Fails(403, "SECOND_FACTOR_REQUIRED") // an API key, and no factor
		command := n.CommandLine(t, owner.session)
		demand(command, x, true).Fails(403, "SECOND_FACTOR_REQUIRED")
		owner.addPasskey(t)
		owner.signIn(t)
		demand(n.CommandLine(t, owner.session), x, true).Fails(403, "SECOND_FACTOR_REQUIRED") // signed in without it
		if settings(x.Owner) {
			t.Fatal("it is demanded")
		}

		owner.signInByPasskey(t)
		command = n.CommandLine(t, owner.session)
		n.Clock.Advance(16 * time.Minute)
		demand(command, x, true).Fails(403, "RECENT_LOGIN_REQUIRED")
		command.Patch(x.OrganizationPath("/settings"), body{"name": "Same rule", "require_second_factor": false}).OK()
		demand(x.Member("admin"), x, true).Fails(403, "FORBIDDEN")
		owner.signInByPasskey(t)
		command = n.CommandLine(t, owner.session)
		demand(command, x, true).OK()
		if !settings(command) {
			t.Error("it is not demanded")
		}
		rows := command.Get(x.OrganizationAuditPath() + "&action=iam.organization.settings_updated").OK().Column("description")
		if !slices.ContainsFunc(rows, func(text string) bool { return strings.Contains(text, "now demands a second factor") }) {
			t.Errorf("on record are %v", rows)
		}
	})
}

func TestARequiredSecondFactorReachesEveryNode(t *testing.T) {
	demanding(t, func(t *testing.T, store dbtest.Store, n *servertest.Node, x *servertest.Tenant, owner *resident) {
		there := servertest.Start(t, store, func(c *config.Serve) { c.PublicURL = n.PublicURL })
		bob := newResident(t, n)
		here := n.CommandLine(t, bob.session)
		here.Join(x.Add(bob.email, "viewer"))
		command := there.Holder(t, here.Token)
		command.Get(x.Path("")).OK()
		if status := there.Page(t, "/w/"+x.WorkspaceID, bob.session); status != http.StatusOK {
			t.Fatalf("the page is answered %d", status)
		}
		demand(x.Owner, x, true).OK()
		wait.Until(t, "the demand", func() bool { return command.Get(x.Path("")).Status == 403 })
		wait.Until(t, "the demand of a browser", func() bool { return there.Page(t, "/w/"+x.WorkspaceID, bob.session) == http.StatusSeeOther })
		bob.addPasskey(t)
		wait.Until(t, "the factor", func() bool { return there.Page(t, "/w/"+x.WorkspaceID, bob.session) == http.StatusOK })
	})
}

func TestTheFactorPageLeadsBack(t *testing.T) {
	demanding(t, func(t *testing.T, store dbtest.Store, n *servertest.Node, x *servertest.Tenant, owner *resident) {
		demand(x.Owner, x, true).OK()
		owner.signIn(t)
		wanted := "/w/" + x.WorkspaceID + "/members?status=active"
		request, err := http.NewRequestWithContext(t.Context(), "GET", n.URL+wanted, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Cookie", "bursar_session="+owner.session)
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if got, want := response.Header.Get("Location"), "/account/second-factor?next="+url.QueryEscape(wanted); got != want {
			t.Errorf("leads to %s, want %s", got, want)
		}
	})
}

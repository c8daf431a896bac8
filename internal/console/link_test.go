package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

// invite lets the owner of a tenant invite someone and returns the account and the
// path of the link.
func invite(t testing.TB, x *servertest.Tenant, email, role string) (accountID, path string) {
	t.Helper()
	added := x.Owner.On(t).Post(x.Path("/members"), servertest.Body{"email": email, "role": role}).OK()
	return added.Text("user_id"), strings.TrimPrefix(added.Text("invitation_url"), x.Node.PublicURL)
}

func set(name, secret string) url.Values { return url.Values{"name": {name}, "password": {secret}} }

func TestInvitationLeadsIntoTheWorkspace(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		x, email := n.Tenant(t), servertest.NewEmail()
		_, path := invite(t, x, email, "viewer")
		page := knock(t, n, "GET", path, nil)
		if page.StatusCode != 200 || !strings.Contains(page.body, email) || !strings.Contains(page.body, "Payroll") {
			t.Fatalf("the page answers %d", page.StatusCode)
		}
		r := knock(t, n, "POST", path, set("Bob", password))
		c := r.set("bursar_session")
		if r.Header.Get("Location") != "/w/"+x.WorkspaceID || c == nil {
			t.Fatalf("led to %q with %v", r.Header.Get("Location"), r.Cookies())
		}
		if r := knock(t, n, "GET", "/w/"+x.WorkspaceID, nil, "Cookie", "bursar_session="+c.Value); r.StatusCode != 200 {
			t.Errorf("the workspace answers %d", r.StatusCode)
		}
	})
}

func TestLinkFormShowsWhatIsWrong(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		path := strings.TrimPrefix(link(t, n, adminEmail), n.PublicURL)
		r := knock(t, n, "POST", path, set("Ada <b>", "short"))
		if r.StatusCode != http.StatusBadRequest || !strings.Contains(r.body, "Use at least 12 characters.") || !strings.Contains(r.body, "Ada &lt;b&gt;") || strings.Contains(r.body, `value="short"`) {
			t.Errorf("answered %d:\n%s", r.StatusCode, r.body)
		}
		if r := knock(t, n, "POST", path, set("Ada", password)); r.StatusCode != http.StatusSeeOther {
			t.Errorf("then answered %d", r.StatusCode)
		}
	})
}

func TestDeadLinkExplainsItself(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		path := func(link string) string { return strings.TrimPrefix(link, n.PublicURL) }
		used := path(link(t, n, adminEmail))
		knock(t, n, "POST", used, set("Admin", password))
		replaced := path(link(t, n, adminEmail))
		link(t, n, adminEmail)
		x := n.Tenant(t)
		id, removed := invite(t, x, servertest.NewEmail(), "viewer")
		x.Owner.Delete(x.Path("/members/" + id)).OK()
		gone := servertest.NewEmail()
		n.User(t, gone)
		disabled := path(link(t, n, gone))
		if _, err := n.Identity.DisableUser(t.Context(), db.Caller{}, gone); err != nil {
			t.Fatal(err)
		}
		late := servertest.NewEmail()
		n.User(t, late)
		expired := path(link(t, n, late))
		n.Clock.Advance(24 * time.Hour)
		for name, path := range map[string]string{
			"used": used, "replaced": replaced, "of a member who was removed": removed, "of a disabled account": disabled, "expired": expired,
			"unknown": "/invite/bln_000000000000000000000000000000000000", "nonsense": "/invite/x",
		} {
			t.Run(name, func(t *testing.T) {
				for _, r := range []*reply{knock(t, n, "GET", path, nil), knock(t, n, "POST", path, set("Mallory", "eleven green umbrellas"))} {
					if r.StatusCode != http.StatusNotFound || !strings.Contains(r.body, "This link no longer works") || r.set("bursar_session") != nil {
						t.Errorf("%s is answered %d", r.Request.Method, r.StatusCode)
					}
					guarded(t, r)
				}
				if r := knock(t, n, "POST", path+"/passkey", url.Values{}); r.StatusCode != http.StatusNotFound {
					t.Errorf("a passkey is offered: %d", r.StatusCode)
				}
			})
		}
	})
}

func TestInvitationOfAnExistingAccountNeedsASignIn(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		a, b, email := n.Tenant(t), n.Tenant(t), servertest.NewEmail()
		_, first := invite(t, a, email, "viewer")
		_, second := invite(t, b, email, "viewer")
		if r := knock(t, n, "POST", first, set("Bob", password)); r.StatusCode != http.StatusSeeOther {
			t.Fatalf("the first is answered %d", r.StatusCode)
		}
		bob := cookieFor(t, n, email)
		t.Run("it sets no password", func(t *testing.T) {
			if page := knock(t, n, "GET", second, nil); page.StatusCode != 200 || strings.Contains(page.body, `name="password"`) {
				t.Errorf("the page answers %d, and offers to choose one", page.StatusCode)
			}
			if r := knock(t, n, "POST", second, set("Mallory", "eleven green umbrellas")); r.StatusCode != http.StatusForbidden || r.set("bursar_session") != nil {
				t.Errorf("the form is answered %d", r.StatusCode)
			}
			if r := signIn(t, n, email, "eleven green umbrellas"); r.StatusCode != http.StatusUnauthorized {
				t.Errorf("the password is answered %d", r.StatusCode)
			}
			if r := knock(t, n, "POST", second+"/passkey", url.Values{}); r.StatusCode != http.StatusForbidden {
				t.Errorf("a passkey is offered: %d", r.StatusCode)
			}
		})
		t.Run("a stranger is sent to sign in", func(t *testing.T) {
			if r := knock(t, n, "POST", second+"/accept", url.Values{}); !strings.HasPrefix(r.Header.Get("Location"), "/signin") {
				t.Errorf("answered %d %s", r.StatusCode, r.Header.Get("Location"))
			}
		})
		t.Run("another account cannot take it", func(t *testing.T) {
			other := cookieFor(t, n, adminEmail)
			if page := knock(t, n, "GET", second, nil, other...); strings.Contains(page.body, second+"/accept") || !strings.Contains(page.body, email) {
				t.Error("it is offered")
			}
			r := knock(t, n, "POST", second+"/accept", url.Values{}, other...)
			if r.StatusCode == http.StatusSeeOther {
				t.Errorf("led to %s", r.Header.Get("Location"))
			}
			if r := knock(t, n, "GET", "/w/"+b.WorkspaceID, nil, other...); r.StatusCode != http.StatusNotFound {
				t.Errorf("the workspace answers %d", r.StatusCode)
			}
		})
		t.Run("before that the workspace is not there", func(t *testing.T) {
			if r := knock(t, n, "GET", "/w/"+b.WorkspaceID, nil, bob...); r.StatusCode != http.StatusNotFound {
				t.Errorf("it answers %d", r.StatusCode)
			}
		})
		t.Run("the account takes it", func(t *testing.T) {
			if page := knock(t, n, "GET", second, nil, bob...); !strings.Contains(page.body, second+"/accept") {
				t.Error("it is not offered")
			}
			if r := knock(t, n, "POST", second+"/accept", url.Values{}, bob...); r.Header.Get("Location") != "/w/"+b.WorkspaceID {
				t.Errorf("answered %d %s", r.StatusCode, r.Header.Get("Location"))
			}
			if r := knock(t, n, "GET", "/w/"+b.WorkspaceID, nil, bob...); r.StatusCode != 200 {
				t.Errorf("the workspace answers %d", r.StatusCode)
			}
			if r := knock(t, n, "GET", second, nil, bob...); r.StatusCode != http.StatusNotFound {
				t.Errorf("the link answers %d", r.StatusCode)
			}
		})
	})
}

// A person who is signed in to one account and opens a link of another account is then
// signed in to the account of the link.
func TestLinkReplacesTheSessionOfAnotherAccount(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		email := member(t, n, "viewer")
		before := secretFor(t, n, adminEmail)
		path := strings.TrimPrefix(link(t, n, email), n.PublicURL)
		r := knock(t, n, "POST", path, set("Bob", password), "Cookie", "bursar_session="+before)
		c := r.set("bursar_session")
		if c == nil || inside(t, n, before) {
			t.Fatalf("answered %d; the session before is good: %v", r.StatusCode, inside(t, n, before))
		}
		if page := knock(t, n, "GET", "/account", nil, "Cookie", "bursar_session="+c.Value); !strings.Contains(page.body, email) || strings.Contains(page.body, adminEmail) {
			t.Error("the account is another")
		}
	})
}

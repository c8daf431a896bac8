package workspace_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"bursar/internal/config"
	"bursar/internal/db/dbtest"
	"bursar/internal/mail/smtptest"
	"bursar/internal/server/servertest"
)

var linkForm = regexp.MustCompile(`http://bursar\.test/invite/bln_[0-9A-Za-z]+`)

// mailed is the link in the newest of so many messages with links. Notices have none.
func mailed(t testing.TB, box *smtptest.Server, count int) string {
	t.Helper()
	for all := 1; ; all++ {
		got := box.Wait(t, all)[all-1]
		link := linkForm.FindString(got.Text)
		if link == "" {
			continue
		}
		if !strings.Contains(got.HTML, link) {
			t.Fatalf("the message says %q", got.Text)
		}
		if count--; count == 0 {
			return link
		}
	}
}

// deadLink says whether a link sets nothing up.
func deadLink(t testing.TB, n *servertest.Node, link string) bool {
	t.Helper()
	status, _, session := n.Form(t, strings.TrimPrefix(link, n.PublicURL), "", "name", "Mallory", "password", servertest.Password)
	return status == http.StatusNotFound && session == ""
}

func TestInvitationIsMailedToTheAddress(t *testing.T) {
	servertest.OnMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		x, email := n.Tenant(t), servertest.NewEmail()
		if shown := x.Invite(t, email, "viewer").Text("invitation_url"); shown != "" {
			t.Errorf("the link is shown to who invites: %s", shown)
		}
		got := box.Wait(t, 1)[0]
		if len(got.To) != 1 || got.To[0] != email || got.From != "bursar@example.com" || !strings.Contains(got.Text, "Payroll") || !strings.Contains(got.Text, "Tenant") {
			t.Errorf("sent to %v from %s: %q", got.To, got.From, got.Text)
		}
		if strings.Contains(n.Log.String(), mailed(t, box, 1)) || strings.Contains(n.Log.String(), email) {
			t.Error("the link or the address is logged")
		}
	})
}

func TestInvitationIsMailedOnceForARepeatedRequest(t *testing.T) {
	servertest.OnMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		x, email, last := n.Tenant(t), servertest.NewEmail(), servertest.NewEmail()
		for range 3 {
			x.Owner.Once("invite", "POST", x.Path("/members"), body{"email": email, "role": "viewer"}).OK()
		}
		x.Invite(t, last, "viewer")
		if got := box.Wait(t, 2); got[0].To[0] != email || got[1].To[0] != last {
			t.Errorf("sent to %v and %v", got[0].To, got[1].To)
		}
	})
}

// The message for the last one, who is new, shows that there was none for the others.
func TestMembersAreNotMailedAnInvitation(t *testing.T) {
	servertest.OnMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		x, last := n.Tenant(t), servertest.NewEmail()
		x.WorkspaceID = x.Owner.Post("/v1/workspaces", body{"name": "Second", "organization_id": x.OrganizationID}).OK().Text("id")
		known := x.Member("viewer").Email()
		box.Wait(t, 1)
		x.Invite(t, known, "member")
		x.Invite(t, last, "viewer")
		if got := box.Wait(t, 2); got[1].To[0] != last {
			t.Errorf("sent to %v", got[1].To)
		}
	})
}

// Only the mailbox proves whose the address is.
func TestMailedInvitationCountsForEveryOrganization(t *testing.T) {
	servertest.OnMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		a, b, email := n.Tenant(t), n.Tenant(t), servertest.NewEmail()
		a.Invite(t, email, "viewer")
		arrived := mailed(t, box, 1)
		id := b.Invite(t, email, "viewer").Text("user_id")
		bob := n.CommandLine(t, n.Complete(t, arrived))
		bob.Get(a.Path("")).OK()
		bob.Get(b.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
		bob.Join(id)
		bob.Get(b.Path("")).OK()
		// Now the organization knows them.
		second := a.Owner.Post("/v1/workspaces", body{"name": "Second", "organization_id": a.OrganizationID}).OK().Text("id")
		a.Owner.Post("/v1/workspaces/"+second+"/members", body{"email": email, "role": "viewer"}).OK()
		bob.Get("/v1/workspaces/" + second).OK()
	})
}

// The owner of the mailbox takes the account back from anyone who completed it first:
// neither session, password nor API key of theirs opens anything any more.
func TestOwnerOfTheMailboxTakesAnAccountBack(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		before := servertest.Start(t, store) // without mail, where links are shown
		h := invitedByTwo(t, before)
		box := smtptest.Start(t, smtptest.Options{})
		n := servertest.Start(t, store, func(c *config.Serve) { c.SMTPURL, c.MailFrom = box.URL, "Bursar <bursar@example.com>" })
		n.RunBackground(t)
		key := h.caller.Post("/v1/api-keys", body{"name": "kept for later"}).OK().Text("api_key")
		n.Form(t, "/signin/recover", "", "email", h.email)
		link := mailed(t, box, 1)
		status, _, session := n.Form(t, strings.TrimPrefix(link, n.PublicURL), "", "name", "Bob", "password", "eleven green umbrellas")
		if status != http.StatusSeeOther {
			t.Fatalf("the link is answered %d", status)
		}
		bob := n.CommandLine(t, session)
		for _, id := range bob.Get("/v1/invitations").OK().Column("id") {
			bob.Join(id)
		}
		bob.Get(h.a.Path("")).OK()
		bob.Get(h.b.Path("")).OK()
		t.Run("the program is out", func(t *testing.T) { n.Holder(t, h.caller.Token).Get("/v1/auth/me").Fails(401, "UNAUTHORIZED") })
		t.Run("the browser is out", func(t *testing.T) {
			if got := n.Page(t, "/account", h.session); got != http.StatusSeeOther {
				t.Errorf("answered %d", got)
			}
		})
		t.Run("the API key is over", func(t *testing.T) { n.Exchange(t, "Bearer "+key).Fails(401, "UNAUTHORIZED") })
		t.Run("the password is another", func(t *testing.T) {
			if status, _, session := n.Form(t, "/signin", "", "email", h.email, "password", servertest.Password); status != http.StatusUnauthorized || session != "" {
				t.Errorf("answered %d", status)
			}
		})
	})
}

// Someone who may invite must not be able to bury a mailbox, or to send mail by the
// thousand.
func TestInvitationsByMailHaveABudget(t *testing.T) {
	servertest.OnMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		x, other, victim := n.Tenant(t), n.Tenant(t), servertest.NewEmail()
		invite := func(x *servertest.Tenant, email string) *servertest.Answer {
			return x.Owner.Post(x.Path("/members"), body{"email": email, "role": "viewer"})
		}
		inviteAndRemove := func(x *servertest.Tenant) {
			x.Owner.Delete(x.Path("/members/" + invite(x, victim).OK().Text("user_id"))).OK()
		}
		for range 10 {
			inviteAndRemove(x)
		}
		rows := n.Count(t, `SELECT count(*) FROM account_link`)
		t.Run("of the recipient and the organization", func(t *testing.T) {
			invite(x, victim).Fails(http.StatusTooManyRequests, "RATE_LIMITED")
			if got := len(x.Members(t)); got != 1 || n.Count(t, `SELECT count(*) FROM account_link`) != rows {
				t.Errorf("a refused invitation left %d members, or a link", got)
			}
		})
		t.Run("of the recipient and the caller, whatever organizations they make", func(t *testing.T) {
			made := x.Owner.Post("/v1/organizations", body{"name": "Another"}).OK().Text("id")
			workspace := x.Owner.Post("/v1/workspaces", body{"name": "Another", "organization_id": made}).OK().Text("id")
			x.Owner.Post("/v1/workspaces/"+workspace+"/members", body{"email": victim, "role": "viewer"}).Fails(http.StatusTooManyRequests, "RATE_LIMITED")
		})
		t.Run("another organization still invites the recipient", func(t *testing.T) {
			for range 10 {
				inviteAndRemove(other)
			}
		})
		t.Run("of the recipient over all organizations", func(t *testing.T) {
			third, fourth := n.Tenant(t), n.Tenant(t)
			for range 10 {
				inviteAndRemove(third)
			}
			rows := n.Count(t, `SELECT count(*) FROM account_link`)
			invite(fourth, victim).Fails(http.StatusTooManyRequests, "RATE_LIMITED")
			if got := len(fourth.Members(t)); got != 1 || n.Count(t, `SELECT count(*) FROM account_link`) != rows {
				t.Errorf("a refused invitation left %d members, or a link", got)
			}
		})
		t.Run("of the caller, whomever they invite", func(t *testing.T) {
			for range 90 {
				invite(x, servertest.NewEmail()).OK()
			}
			for range 3 { // which may be long enough for one to grow back
				invite(x, servertest.NewEmail())
			}
			invite(x, servertest.NewEmail()).Fails(http.StatusTooManyRequests, "RATE_LIMITED")
			invite(other, servertest.NewEmail()).OK()
		})
		t.Run("which grows back", func(t *testing.T) {
			n.Clock.Advance(10 * time.Minute)
			invite(other, victim).OK()
		})
		if box.Wait(t, 120); n.Count(t, `SELECT count(*) FROM account_link WHERE mailed = TRUE`) > 130 {
			t.Error("more links are stored than mailed")
		}
	}, servertest.RateLimit("1000/s"))
}

func TestInvitationsDoNotStarveRecovery(t *testing.T) {
	servertest.OnMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		x, email := n.Tenant(t), servertest.NewEmail()
		n.User(t, email)
		box.Down()
		var refused *servertest.Answer
		for range 300 {
			rows := n.Count(t, `SELECT count(*) FROM account_link`)
			answer := x.Owner.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "viewer"})
			if refused = answer; answer.Status != http.StatusOK {
				if n.Count(t, `SELECT count(*) FROM account_link`) != rows {
					t.Error("a link that is not mailed is stored")
				}
				break
			}
		}
		box.Up()
		n.Form(t, "/signin/recover", "", "email", email)
		for count := 1; ; count++ {
			if got := box.Wait(t, count)[count-1]; got.To[0] == email {
				break
			}
		}
		refused.Fails(http.StatusTooManyRequests, "RATE_LIMITED")
	})
}

package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"bursar/internal/config"
	"bursar/internal/db/dbtest"
	"bursar/internal/mail/smtptest"
	"bursar/internal/server/servertest"
)

// mailing makes a server send mail.
func mailing(box *smtptest.Server) servertest.Option {
	return func(c *config.Serve) { c.SMTPURL, c.MailFrom = box.URL, "bursar@example.com" }
}

// eachWithMail runs a test on every engine with a server that sends mail, and an
// admin who has the password.
func eachWithMail(t *testing.T, run func(t *testing.T, n *servertest.Node, box *smtptest.Server), options ...servertest.Option) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		box := smtptest.Start(t, smtptest.Options{})
		n := startOn(t, store, append(options, mailing(box))...)
		n.RunBackground(t)
		setUp(t, n, adminEmail)
		run(t, n, box)
	})
}

var linkForm = regexp.MustCompile(`/invite/bln_[0-9A-Za-z]+`)

// mailedPath is the path of the first link that is mailed. Notices have none.
func mailedPath(t testing.TB, box *smtptest.Server) string {
	t.Helper()
	for count := 1; ; count++ {
		if path := linkForm.FindString(box.Wait(t, count)[count-1].Text); path != "" {
			return path
		}
	}
}

func askForALink(t testing.TB, n *servertest.Node, email string) *reply {
	t.Helper()
	return knock(t, n, "POST", "/signin/recover", url.Values{"email": {email}})
}

func TestRecoveryPageNeverRevealsWhetherAUserExists(t *testing.T) {
	eachWithMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		look := func(email string) string {
			r := askForALink(t, n, email)
			if r.StatusCode != 200 || len(r.Cookies()) != 0 {
				t.Errorf("%s: %d, cookies %v", email, r.StatusCode, r.Cookies())
			}
			return strings.ReplaceAll(r.body, r.Header.Get("X-Request-Id"), "REQUEST")
		}
		unknown, known := look("nobody@example.com"), look(adminEmail)
		if unknown != known || !strings.Contains(known, "Check your email") {
			t.Errorf("unknown:\n%s\nknown:\n%s", unknown, known)
		}
		// Requests are handled in order. So when the message to the known address has
		// arrived, it is certain that none was sent to the unknown one.
		if got := box.Wait(t, 1); len(got) != 1 || got[0].To[0] != adminEmail {
			t.Errorf("sent %d messages, to %v", len(got), got[0].To)
		}
	})
}

func TestMailedLinkSetsAPasswordOnce(t *testing.T) {
	eachWithMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		before := secretFor(t, n, adminEmail)
		askForALink(t, n, adminEmail)
		path := mailedPath(t, box)
		form := url.Values{"name": {"Admin"}, "password": {"eleven green umbrellas"}}
		r := knock(t, n, "POST", path, form)
		if c := r.set("bursar_session"); r.StatusCode != http.StatusSeeOther || c == nil || !inside(t, n, c.Value) {
			t.Fatalf("answered %d", r.StatusCode)
		}
		if inside(t, n, before) {
			t.Error("the earlier session is good")
		}
		if r := signIn(t, n, adminEmail, password); r.StatusCode != http.StatusUnauthorized {
			t.Errorf("the old password is answered %d", r.StatusCode)
		}
		if r := knock(t, n, "POST", path, form); r.StatusCode != http.StatusNotFound || r.set("bursar_session") != nil {
			t.Errorf("the link is answered %d the second time", r.StatusCode)
		}
	})
}

func TestRecoveryNeedsAnEmailAddress(t *testing.T) {
	eachWithMail(t, func(t *testing.T, n *servertest.Node, _ *smtptest.Server) {
		for _, email := range []string{"", "nobody", "a@b\r\nBcc: c@d.example", strings.Repeat("a", 300) + "@example.com"} {
			if r := askForALink(t, n, email); r.StatusCode != http.StatusBadRequest {
				t.Errorf("%.40q: answered %d", email, r.StatusCode)
			}
		}
	})
}

func TestRecoveryRequestsAreLimited(t *testing.T) {
	eachWithMail(t, func(t *testing.T, n *servertest.Node, _ *smtptest.Server) {
		for name, email := range map[string]string{"a known account": adminEmail, "an unknown account": "nobody@example.com"} {
			t.Run(name, func(t *testing.T) {
				for tries := 0; ; tries++ {
					r := askForALink(t, n, email)
					if r.StatusCode == http.StatusTooManyRequests {
						if r.Header.Get("Retry-After") == "" || tries != 3 {
							t.Errorf("after %d, told to come back in %q", tries, r.Header.Get("Retry-After"))
						}
						return
					}
					if tries > 12 {
						t.Fatal("it is not")
					}
				}
			})
		}
	}, servertest.RateLimit("50/s"))
}

func TestSecretsOfLinksAreNotLogged(t *testing.T) {
	eachWithMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		askForALink(t, n, adminEmail)
		path := mailedPath(t, box)
		knock(t, n, "GET", path, nil)
		knock(t, n, "POST", path, url.Values{"name": {"Admin"}, "password": {"eleven green umbrellas"}})
		knock(t, n, "GET", path, nil)
		log := n.Log.String()
		for _, secret := range []string{strings.TrimPrefix(path, "/invite/"), "eleven green", adminEmail, "bws_"} {
			if strings.Contains(log, secret) {
				t.Errorf("the log tells %q", secret)
			}
		}
		if !strings.Contains(log, "/invite/{link}") {
			t.Error("the requests are not in the log at all")
		}
	})
}

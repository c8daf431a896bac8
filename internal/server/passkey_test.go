package server_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/mail/smtptest"
	"bursar/internal/server/servertest"
)

// post sends what the script of a page sends, and returns the answer and the cookie of
// a ceremony in progress.
func post(t testing.TB, n *servertest.Node, path, cookies string, data []byte) (status int, answer []byte, state string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "POST", n.URL+path, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Cookie", cookies)
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if answer, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	for _, c := range response.Cookies() {
		if c.Name == "bursar_state" {
			state = "bursar_state=" + c.Value
		}
	}
	return response.StatusCode, answer, state
}

// Anyone who gets hold of an answer and of the cookie that goes with it must not be let in
// by them, at no node.
func TestAPasskeyAnswersAChallengeOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.AtLocalhost())
		other := servertest.Start(t, store, func(c *config.Serve) { c.PublicURL = n.PublicURL })
		email := servertest.NewEmail()
		user := n.User(t, email)
		secret := n.Complete(t, n.OperatorsLink(t, email))
		session := "bursar_session=" + secret
		device := newAuthenticator(t, n.PublicURL, "localhost")

		_, options, state := post(t, n, "/account/passkeys", session, nil)
		made := device.make(options, user.UserID)
		register := func(n *servertest.Node) (int, []byte) {
			status, answer, _ := post(t, n, "/account/passkeys/finish?name=Laptop", session+"; "+state, made)
			return status, answer
		}
		if status, answer := register(n); status != http.StatusOK {
			t.Fatalf("the passkey is answered %d %s", status, answer)
		}
		t.Run("to sign in", func(t *testing.T) {
			_, options, state := post(t, n, "/signin/passkey", "", nil)
			signed := device.sign(options)
			if status, answer, _ := post(t, n, "/signin/passkey/finish", state, signed); status != http.StatusOK {
				t.Fatalf("the sign-in is answered %d %s", status, answer)
			}
			for name, node := range map[string]*servertest.Node{"the same node": n, "another node": other} {
				if status, answer, _ := post(t, node, "/signin/passkey/finish", state, signed); status != http.StatusUnauthorized {
					t.Errorf("%s answers %d %s to what was sent before", name, status, answer)
				}
			}
			_, options, state = post(t, other, "/signin/passkey", "", nil)
			if status, answer, _ := post(t, other, "/signin/passkey/finish", state, device.sign(options)); status != http.StatusOK {
				t.Errorf("another challenge is answered %d %s", status, answer)
			}
		})
		t.Run("to be registered", func(t *testing.T) {
			var id string
			if err := n.DB.Read(t.Context(), func(q db.Q) error {
				_, err := q.Row(`SELECT id FROM passkey WHERE account_id = $1`, user.UserID).Scan(&id)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if status, _, _ := n.Form(t, "/account/passkeys/"+id+"/remove", secret); status != http.StatusSeeOther {
				t.Fatalf("removing it is answered %d", status)
			}
			for name, node := range map[string]*servertest.Node{"the same node": n, "another node": other} {
				if status, answer := register(node); status == http.StatusOK {
					t.Errorf("%s makes a passkey again that was removed: %s", name, answer)
				}
			}
		})
	})
}

// Invitations that wait for a mail server must not keep anyone from recovering their
// account, and one that cannot be mailed is not stored.
func TestPeopleAreNotifiedOfNewPasskeys(t *testing.T) {
	servertest.OnMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		x, bob := n.Tenant(t), newResident(t, n)
		box.Down()
		for range 300 {
			if answer := x.Owner.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "viewer"}); answer.Status != http.StatusOK {
				break
			}
		}
		box.Up()
		bob.addPasskey(t)
		bob.removePasskeys(t)
		wanted := []string{"A passkey was added to your Bursar account", "A passkey was removed from your Bursar account"}
		for count := 1; len(wanted) > 0; count++ {
			got := box.Wait(t, count)[count-1]
			if got.To[0] != bob.email || got.Subject != wanted[0] {
				continue
			}
			if !strings.Contains(got.Text, "It is called “Laptop”.") {
				t.Errorf("the message says %q", got.Text)
			}
			wanted = wanted[1:]
		}
	}, servertest.AtLocalhost())
}

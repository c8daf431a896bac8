package console_test

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/mail/smtptest"
	"bursar/internal/server/servertest"
)

const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

// correspondent is a person who reads the mail about their account.
type correspondent struct {
	*visitor
	box  *smtptest.Server
	read int // how many messages were read
}

// onMail runs a test on every engine with a member who has signed in at a browser for the
// first time, of which no one is told.
func onMail(t *testing.T, run func(t *testing.T, vic *correspondent), options ...servertest.Option) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		box := smtptest.Start(t, smtptest.Options{})
		n := startOn(t, store, append(options, func(c *config.Serve) { c.SMTPURL, c.MailFrom = box.URL, "Bursar <bursar@example.com>" })...)
		n.RunBackground(t)
		n.Member(t, "vic@example.com", "viewer")
		v := browse(t, n, "vic@example.com")
		v.agent = firefox
		box.Wait(t, 1) // the invitation
		run(t, &correspondent{visitor: v, box: box, read: 1})
	})
}

// told demands that the next message is about something.
func (c *correspondent) told(what string) string {
	c.t.Helper()
	got := c.box.Wait(c.t, c.read+1)[c.read]
	c.read++
	if len(got.To) != 1 || got.To[0] != "vic@example.com" || got.Subject != what || !strings.Contains(got.Text, what+".") ||
		!strings.Contains(got.Text, "From: 127.0.0.1, with ") || !strings.Contains(got.Text, " UTC") ||
		!strings.Contains(got.Text, c.node.PublicURL+"/account") || !strings.Contains(got.HTML, "Open your account") {
		c.t.Fatalf("want %q, got %q to %v:\n%s", what, got.Subject, got.To, got.Text)
	}
	return got.Text
}

// key makes an API key.
func (c *correspondent) key(name string) {
	c.t.Helper()
	_, secret, err := c.node.Identity.CreateKeyFor(c.t.Context(), db.Caller{}, "vic@example.com", identity.NewKey{Name: "operator's", Scope: audit.Scope{Administer: true}})
	if err != nil {
		c.t.Fatal(err)
	}
	c.node.Login(c.t, secret).Post("/v1/api-keys", servertest.Body{"name": name}).OK()
}

func (v *visitor) signIn() {
	v.t.Helper()
	if got := v.post("/signin", "email", "vic@example.com", "password", password); got.status != http.StatusOK || strings.HasPrefix(got.path, "/signin") {
		v.t.Fatalf("the sign-in is answered %d at %s", got.status, got.path)
	}
}

func TestPeopleAreNotifiedOfSecurityEvents(t *testing.T) {
	onMail(t, func(t *testing.T, vic *correspondent) {
		n := vic.node
		vic.post("/account/password", "current", password, "password", password)
		if text := vic.told("The password of your Bursar account was changed"); !strings.Contains(text, "with Firefox on Linux") {
			t.Errorf("the browser is not named:\n%s", text)
		}

		found := regexp.MustCompile(`id="key">([A-Z2-7 ]+)<`).FindStringSubmatch(vic.get("/account/totp").body)
		if found == nil {
			t.Fatal("the page shows no key")
		}
		secret := strings.ReplaceAll(found[1], " ", "")
		vic.post("/account/totp", "code", code(t, n, secret))
		vic.told("Two-step sign-in was turned on for your Bursar account")
		n.Clock.Advance(time.Minute)
		vic.post("/account/totp/off", "code", code(t, n, secret))
		vic.told("Two-step sign-in was turned off for your Bursar account")

		vic.key("evil.example.com")
		if text := vic.told("An API key was made for your Bursar account"); !strings.Contains(text, "It is called “evil. example. com”.") {
			t.Errorf("the key is called otherwise:\n%s", text)
		}
	})
}

func TestPeopleAreNotifiedOfASignInFromANewBrowser(t *testing.T) {
	onMail(t, func(t *testing.T, vic *correspondent) {
		other := stranger(t, vic.node)
		other.signIn()
		vic.told("Your Bursar account was signed in to from a new browser")
		other.signIn()
		other.post("/signout")
		other.signIn()
		vic.post("/signout")
		vic.signIn() // the first browser is known, too
		stranger(t, vic.node).signIn()
		vic.told("Your Bursar account was signed in to from a new browser")

		t.Run("also of one by a link, which changes the password", func(t *testing.T) {
			browse(t, vic.node, "vic@example.com")
			vic.told("The password of your Bursar account was changed")
			vic.told("Your Bursar account was signed in to from a new browser")
		})
		t.Run("so many browsers are remembered and no more", func(t *testing.T) {
			for range 25 {
				stranger(t, vic.node).signIn()
			}
			if got := vic.node.Count(t, `SELECT count(*) FROM known_browser`); got != 20 {
				t.Errorf("%d are known", got)
			}
		})
	})
}

// Anyone who has got into an account must not be able to hide what they do by doing something
// else many times, nor to flood its owner.
func TestNoticesHaveABudgetForEachKind(t *testing.T) {
	onMail(t, func(t *testing.T, vic *correspondent) {
		for i := range 8 {
			vic.key("key " + strconv.Itoa(i))
		}
		for range 5 {
			vic.told("An API key was made for your Bursar account")
		}
		vic.post("/account/password", "current", password, "password", password)
		vic.told("The password of your Bursar account was changed")
		vic.node.Clock.Advance(20 * time.Minute)
		vic.key("later")
		vic.told("An API key was made for your Bursar account")
	}, servertest.RateLimit("1000/s"))
}

package identity_test

import (
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
)

func TestABrowserSessionDescribesItsUser(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		id := n.person("ada@example.com")
		session := n.begin(id, "")
		got, err := n.Browser(t.Context(), session.Secret, true)
		if err != nil || got.Actor.ID != id || got.Actor.Email != "ada@example.com" || got.Actor.Type != audit.User || got.Actor.SessionID == "" {
			t.Errorf("is %+v, %v", got, err)
		}
		if since := n.db.Now() - got.Actor.LoggedInAt; since < 0 || since > time.Minute.Milliseconds() {
			t.Errorf("signed in %d ms ago", since)
		}
		if r := n.last(audit.SessionCreated); r.ActorID != id || r.Resource != got.Actor.SessionID || r.Description != "Signed in to the console with a password" {
			t.Errorf("the audit log says %+v", r)
		}
	})
}

func TestTheSecretOfASessionIsStoredHashed(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		session := n.begin(n.person("ada@example.com"), "")
		if !strings.HasPrefix(session.Secret, "bws_") || len(session.Secret) < 36 {
			t.Errorf("the secret is %q", session.Secret)
		}
		if c := n.count(`SELECT count(*) FROM session WHERE secret_hash = $1 OR id = $1`, session.Secret); c != 0 {
			t.Error("it is stored as it is")
		}
	})
}

func TestUnknownSecretsAuthenticateNoOne(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		good := n.begin(n.person("ada@example.com"), "").Secret
		for _, secret := range []string{"", "bws_", good[:len(good)-1], good + "x", "bk_" + good[4:], strings.Repeat("bws_", 1000)} {
			if n.live(secret) {
				t.Errorf("%q is somebody", secret)
			}
		}
	})
}

func TestSigningInEndsTheSessionThatTheBrowserHad(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		ada, bob := n.person("ada@example.com"), n.person("bob@example.com")
		for name, next := range map[string]string{"as the same person": ada, "as another": bob} {
			t.Run(name, func(t *testing.T) {
				n := n.on(t)
				elsewhere := n.begin(ada, "").Secret
				old := n.begin(ada, "").Secret
				n.use(old)
				fresh := n.begin(next, old).Secret
				if n.live(old) || !n.live(fresh) || !n.live(elsewhere) || fresh == old {
					t.Errorf("the old one %v, the new one %v, that of another browser %v", n.live(old), n.live(fresh), n.live(elsewhere))
				}
				if r := n.last(audit.SessionRevoked); r.ActorID != ada {
					t.Errorf("the audit log says %+v", r)
				}
			})
		}
		t.Run("a cookie that is no session does not matter", func(t *testing.T) {
			n := n.on(t)
			if fresh := n.begin(ada, "garbage").Secret; !n.live(fresh) {
				t.Error("it does")
			}
		})
	})
}

func TestASessionEndsHoweverMuchItIsUsed(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		session := n.begin(n.person("ada@example.com"), "")
		if left := session.ExpiresAt - n.db.Now(); left > webTTL.Milliseconds() || left < (webTTL-time.Minute).Milliseconds() {
			t.Errorf("expires in %d ms", left)
		}
		step := webIdle - time.Minute
		for spent := time.Duration(0); spent+step < webTTL; spent += step {
			n.use(session.Secret)
			n.clock.Advance(step)
		}
		n.use(session.Secret)
		n.clock.Advance(step)
		if n.live(session.Secret) {
			t.Error("it lives on")
		}
	})
}

func TestASessionEndsWhenItIsNotUsed(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		ada := n.person("ada@example.com")
		t.Run("not before", func(t *testing.T) {
			n := n.on(t)
			secret := n.begin(ada, "").Secret
			n.clock.Advance(webIdle - time.Minute)
			if !n.live(secret) {
				t.Error("it ended early")
			}
		})
		t.Run("after", func(t *testing.T) {
			n := n.on(t)
			secret := n.begin(ada, "").Secret
			n.use(secret)
			n.clock.Advance(webIdle)
			if n.live(secret) {
				t.Error("it lives on")
			}
			if _, err := n.Browser(t.Context(), secret, true); err == nil {
				t.Error("using it wakes it up")
			}
		})
		t.Run("use keeps it", func(t *testing.T) {
			n := n.on(t)
			secret := n.begin(ada, "").Secret
			for range 4 {
				n.clock.Advance(webIdle - time.Minute)
				n.use(secret)
			}
		})
		t.Run("asking for news does not keep it", func(t *testing.T) {
			n := n.on(t)
			secret := n.begin(ada, "").Secret
			for range 29 {
				n.clock.Advance(time.Minute)
				if !n.live(secret) {
					t.Fatal("it ended early")
				}
			}
			n.clock.Advance(time.Minute)
			if n.live(secret) {
				t.Error("it lives on")
			}
		})
	})
}

func TestWhatOneNodeSeesKeepsTheSessionOnAnother(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		c := &dbtest.Clock{}
		here, there := open(t, store, c), open(t, store, c)
		secret := here.begin(here.person("ada@example.com"), "").Secret
		there.use(secret)
		c.Advance(webIdle - time.Minute)
		here.use(secret)
		c.Advance(webIdle - time.Minute)
		if !there.live(secret) || !here.live(secret) {
			t.Errorf("it lives here %v, there %v", here.live(secret), there.live(secret))
		}
	})
}

func TestWhatEndsASession(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		for name, end := range map[string]func(n *node, by db.Caller) error{
			"signing out": func(n *node, by db.Caller) error {
				_, err := n.Logout(n.t.Context(), by, struct{}{})
				return err
			},
			"its owner": func(n *node, by db.Caller) error {
				_, err := n.EndSession(n.t.Context(), by, by.SessionID)
				return err
			},
			"an operator who disables the account": func(n *node, by db.Caller) error {
				_, err := n.DisableUser(n.t.Context(), db.Caller{}, by.Email)
				return err
			},
		} {
			t.Run(name, func(t *testing.T) {
				n := n.on(t)
				secret := n.begin(n.person(strings.ReplaceAll(name, " ", ".")+"@example.com"), "").Secret
				by := n.use(secret)
				must(t, end(n, by))
				if n.live(secret) {
					t.Error("it lives on")
				}
			})
		}
	})
}

func TestADisabledAccountBeginsNoSession(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		id := n.person("ada@example.com")
		_, err := n.DisableUser(t.Context(), db.Caller{}, "ada@example.com")
		must(t, err)
		_, err = n.BeginWeb(t.Context(), stranger(), identity.WebSignIn{UserID: id, Method: identity.ByPassword})
		refused(t, err, api.CodeInvalidCredentials) // it began before
		_, err = n.BeginWeb(t.Context(), stranger(), identity.WebSignIn{UserID: id, Method: identity.ByPassword, Version: n.version(id)})
		refused(t, err, api.CodeUnauthorized)
		_, err = n.EnableUser(t.Context(), db.Caller{}, "ada@example.com")
		must(t, err)
		n.begin(id, "")
	})
}

func TestEnablingAnAccountDoesNotWakeItsSessions(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		secret := n.begin(n.person("ada@example.com"), "").Secret
		_, err := n.DisableUser(t.Context(), db.Caller{}, "ada@example.com")
		must(t, err)
		_, err = n.EnableUser(t.Context(), db.Caller{}, "ada@example.com")
		if must(t, err); n.live(secret) {
			t.Error("the session lives again")
		}
	})
}

func TestAPersonSeesTheirSessions(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		ada, bob := n.person("ada@example.com"), n.person("bob@example.com")
		idle := n.begin(ada, "")
		n.use(idle.Secret)
		n.clock.Advance(webIdle)
		one, two := n.begin(ada, "").Secret, n.begin(ada, "").Secret
		ended := n.use(n.begin(ada, "").Secret)
		_, err := n.Logout(t.Context(), ended, struct{}{})
		must(t, err)
		n.begin(bob, "")
		me, other := n.use(one), n.use(two)
		page, err := n.Sessions(t.Context(), me, identity.SessionsInput{})
		must(t, err)
		list := page.Rows()
		if len(list) != 2 || list[0].ID != other.SessionID || list[1].ID != me.SessionID {
			t.Fatalf("sees %+v", list)
		}
		got := list[1]
		if !got.Current || list[0].Current || got.Method != identity.ByPassword || got.Agent != "Firefox/140" || got.IP != "203.0.113.7" ||
			got.LastSeenAt == 0 || got.ExpiresAt-got.CreatedAt != webTTL.Milliseconds() {
			t.Errorf("shown as %+v", got)
		}
	})
}

func TestAPersonEndsTheirSessionsAndNoOthers(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		ada, bob := n.person("ada@example.com"), n.person("bob@example.com")
		t.Run("one", func(t *testing.T) {
			n := n.on(t)
			here, there := n.begin(ada, "").Secret, n.begin(ada, "").Secret
			me, other := n.use(here), n.use(there)
			_, err := n.EndSession(t.Context(), me, other.SessionID)
			must(t, err)
			if n.live(there) || !n.live(here) {
				t.Errorf("that one %v, this one %v", n.live(there), n.live(here))
			}
			if r := n.last(audit.SessionRevoked); r.ActorID != ada || r.Resource != other.SessionID {
				t.Errorf("the audit log says %+v", r)
			}
			_, err = n.EndSession(t.Context(), me, other.SessionID)
			refused(t, err, api.CodeNotFound)
		})
		t.Run("somebody else's is not there", func(t *testing.T) {
			n := n.on(t)
			me, theirs := n.use(n.begin(ada, "").Secret), n.begin(bob, "").Secret
			for _, id := range []string{n.use(theirs).SessionID, "ses_unknown", ""} {
				_, err := n.EndSession(t.Context(), me, id)
				refused(t, err, api.CodeNotFound)
			}
			if !n.live(theirs) {
				t.Error("it is ended")
			}
		})
		t.Run("all others", func(t *testing.T) {
			n := n.on(t)
			here, there, theirs := n.begin(ada, "").Secret, n.begin(ada, "").Secret, n.begin(bob, "").Secret
			me := n.use(here)
			must(t, n.EndOtherSessions(t.Context(), me))
			if !n.live(here) || n.live(there) || !n.live(theirs) {
				t.Errorf("this one %v, the other %v, somebody else's %v", n.live(here), n.live(there), n.live(theirs))
			}
		})
	})
}

func TestTheSecretOfABrowserIsNoToken(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		secret := n.begin(n.person("ada@example.com"), "").Secret
		for _, header := range []string{"Bearer " + secret, "Basic " + secret, secret} {
			_, err := n.Authenticate(t.Context(), header, func() error { return nil })
			refused(t, err, api.CodeUnauthorized)
		}
	})
}

func TestHousekeepingForgetsLinksThatAreLongOver(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		n.person("ada@example.com")
		_, err := n.CreateLink(t.Context(), db.Caller{}, identity.NewLinks("http://bursar.test", nil), "ada@example.com", false)
		must(t, err)
		tidy := func() int {
			_, err := db.Write(t.Context(), n.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
				return struct{}{}, audit.None("a test"), n.Expire(tx)
			})
			must(t, err)
			return n.count(`SELECT count(*) FROM account_link`)
		}
		n.clock.Advance(7 * 24 * time.Hour)
		if tidy() != 1 {
			t.Error("it is forgotten early")
		}
		n.clock.Advance(24*time.Hour + time.Minute)
		if tidy() != 0 {
			t.Error("it is kept")
		}
	})
}

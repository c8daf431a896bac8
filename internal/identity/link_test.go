package identity_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/mail"
	"bursar/internal/web"
)

// exchange turns a credential into a session token, as POST /v1/auth/token does.
func exchange(n *node, authorization string) (token string, err error) {
	n.t.Helper()
	request := httptest.NewRequest(http.MethodPost, "/v1/auth/token", nil).WithContext(n.t.Context())
	request.Header.Set("Authorization", authorization)
	answer := httptest.NewRecorder()
	site := &web.Endpoints{DB: n.db, Admit: func(*web.Exchange) error { return nil }}
	web.Open(site, api.CreateToken, n.Exchange).Endpoint(&web.Exchange{W: answer, R: request, IP: "203.0.113.7"})
	var got struct {
		Data  struct{ Token string }
		Error struct{ Code, Message string }
	}
	must(n.t, json.Unmarshal(answer.Body.Bytes(), &got))
	if got.Error.Code != "" {
		return "", fault.New(api.Code(got.Error.Code), "%s", got.Error.Message)
	}
	return got.Data.Token, nil
}

// makeLink makes an operator's link.
func (n *node) makeLink(by db.Caller, email string) (identity.Link, error) {
	return n.CreateLink(n.t.Context(), by, identity.NewLinks("http://bursar.test", nil), email, false)
}

func TestAnOperatorMakesALink(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		first := n.first()
		operator := db.Caller{Actor: audit.SystemActor("operator")}
		t.Run("that leads to the console", func(t *testing.T) {
			n := n.on(t)
			link, err := n.makeLink(operator, "ADMIN@example.com")
			must(t, err)
			secret, ok := strings.CutPrefix(link.URL, "http://bursar.test/invite/")
			if opened, err := n.OpenLink(t.Context(), secret); !ok || err != nil || opened.UserID != first.UserID {
				t.Errorf("the link is %q: %+v, %v", link.URL, opened, err)
			}
		})
		t.Run("which is on record, without the link", func(t *testing.T) {
			n := n.on(t)
			want := row{"system", "", "", first.OrganizationID, first.UserID, "Made a link for admin@example.com to set up how they sign in"}
			if got := n.last(audit.LinkCreated); got != want {
				t.Errorf("the audit log says %+v", got)
			}
		})
		t.Run("not for whom there is not", func(t *testing.T) {
			n := n.on(t)
			n.person("gone@example.com")
			_, err := n.DisableUser(t.Context(), db.Caller{}, "gone@example.com")
			must(t, err)
			for _, email := range []string{"nobody@example.com", "gone@example.com", ""} {
				_, err := n.makeLink(operator, email)
				refused(t, err, api.CodeNotFound)
			}
		})
	})
}

// A link that was used in a transaction that did not commit is as good as before.
func TestALinkThatFailedToBeUsedIsStillGood(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		n.person("ada@example.com")
		link, err := n.makeLink(db.Caller{}, "ada@example.com")
		must(t, err)
		secret := strings.TrimPrefix(link.URL, "http://bursar.test/invite/")
		use := func(fail error) error {
			_, err := db.Write(t.Context(), n.db, stranger(), func(tx *db.Tx) (struct{}, audit.Event, error) {
				_, event, err := identity.RedeemLink(tx, secret, "Ada")
				if err == nil {
					err = fail
				}
				return struct{}{}, event, err
			})
			return err
		}
		refused(t, use(fault.New(api.CodeValidation, "changed my mind")), api.CodeValidation)
		must(t, use(nil))
		refused(t, use(nil), api.CodeNotFound)
	})
}

// A link that no one is sent would keep its owner from having another one sent.
func TestALinkIsNotStoredIfThereIsNoRoomToMailIt(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		n.first()
		mailer, err := mail.New(mail.Config{URL: "smtp://127.0.0.1:1", From: "bursar@example.com"}, n.db, n.vault, slog.New(slog.DiscardHandler))
		must(t, err)
		links, id := identity.NewLinks("http://bursar.test", mailer), n.person("ada@example.com")
		inTransaction := func(fn func(tx *db.Tx) error) error {
			_, err := db.Write(t.Context(), n.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
				return struct{}{}, audit.None("a test"), fn(tx)
			})
			return err
		}
		for err == nil {
			err = inTransaction(func(tx *db.Tx) error {
				return mailer.Queue(tx, mail.Accounts, mail.AccountLink{To: "eve@example.com", Link: "http://bursar.test"}.Message())
			})
		}
		err = inTransaction(func(tx *db.Tx) error {
			_, err := links.Recover(tx, id, "ada@example.com")
			return err
		})
		if !errors.Is(err, mail.ErrFull) {
			t.Errorf("made a link: %v", err)
		}
		if got := n.count(`SELECT count(*) FROM account_link WHERE account_id = $1`, id); got != 0 {
			t.Errorf("%d links are stored", got)
		}
		_, err = n.CreateLink(t.Context(), db.Caller{}, links, "ada@example.com", false)
		must(t, err)
		if got := n.count(`SELECT count(*) FROM account_link WHERE account_id = $1 AND mailed = TRUE`, id); got != 0 {
			t.Errorf("%d links that an operator hands over count as mailed", got)
		}
	})
}

package signin_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/mail/smtptest"
	"bursar/internal/organization"
	"bursar/internal/wait"
	"bursar/internal/web"
	"bursar/internal/workspace"
)

// twice is someone whom two organizations invite, of which the first has the
// link and completes the user itself.
type twice struct {
	a, b   *tenant
	userID string
	linkB  string
}

const bobsAddress = "bob@x.example"

func invitedTwice(h *house) twice {
	h.t.Helper()
	w := twice{a: h.tenant("boss@a.example"), b: h.tenant("chief@b.example")}
	var linkA string
	w.userID, linkA = w.a.invite(bobsAddress, "viewer")
	_, w.linkB = w.b.invite(bobsAddress, "member")
	must(h.t, h.redeem(linkA, goodPassword))
	return w
}

func TestAnAccountMadeByOneOrganizationSeesNothingOfAnother(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		w := invitedTwice(h)
		t.Run("it is in the workspace of the first", func(t *testing.T) {
			if got := h.on(t).workspacesOf(w.userID); !slices.Equal(got, []string{w.a.workspaceID}) || !w.a.opensTo(w.userID) {
				t.Errorf("sees %v", got)
			}
		})
		t.Run("and of its organization", func(t *testing.T) {
			if got := h.on(t).organizationsOf(w.userID); !slices.Equal(got, []string{w.a.organizationID}) {
				t.Errorf("sees %v", got)
			}
		})
		t.Run("that of the second is not there", func(t *testing.T) {
			refused(t, h.authority.RequireInOrganization(t.Context(), audit.Actor{ID: w.userID}, w.b.organizationID, access.OrgRead), api.CodeNotFound)
			if w.b.opensTo(w.userID) {
				t.Error("the workspace is")
			}
		})
		t.Run("the second shows it as invited, the first as active", func(t *testing.T) {
			if a, b := w.a.status(w.userID), w.b.status(w.userID); a != "active" || b != "invited" {
				t.Errorf("shown as %q and %q", a, b)
			}
		})
		t.Run("what it does is filed under the first", func(t *testing.T) {
			h := h.on(t)
			if got := h.text(`SELECT home_org_id FROM account WHERE id = $1`, w.userID); got != w.a.organizationID {
				t.Errorf("the home is %q", got)
			}
			refused(t, h.identityOf(bobsAddress, newPassword), api.CodeInvalidCredentials)
			if row := h.last(audit.LoginFailed); row.OrganizationID != w.a.organizationID {
				t.Errorf("a failed sign-in is filed under %q", row.OrganizationID)
			}
		})
		t.Run("another role of the second does not open it", func(t *testing.T) {
			h := h.on(t)
			_, err := call(h, w.b.admin, h.workspaces.AddMember, workspace.AddMemberInput{ID: w.b.workspaceID, MemberAdd: api.MemberAdd{Email: bobsAddress, Role: "admin"}})
			must(t, err)
			if w.b.opensTo(w.userID) {
				t.Error("it does")
			}
		})
		t.Run("a third that invites it now has a link to be taken", func(t *testing.T) {
			h := h.on(t)
			c := h.tenant("head@c.example")
			_, link := c.invite(bobsAddress, "viewer")
			if link == "" || c.opensTo(w.userID) || c.status(w.userID) != "invited" {
				t.Errorf("link %q, shown as %s", link, c.status(w.userID))
			}
		})
		t.Run("another workspace of the first has a link to be taken, too", func(t *testing.T) {
			h := h.on(t)
			ws, err := call(h, w.a.admin, h.workspaces.Create, workspace.CreateInput{WorkspaceCreate: api.WorkspaceCreate{Name: "Second", OrganizationID: w.a.organizationID}})
			must(t, err)
			second := &tenant{h, w.a.admin, w.a.organizationID, ws.ID}
			if _, link := second.invite(bobsAddress, "viewer"); link == "" || second.opensTo(w.userID) {
				t.Errorf("the link is %q, open %v", link, second.opensTo(w.userID))
			}
		})
		t.Run("what it makes itself is its own", func(t *testing.T) {
			h := h.on(t)
			bob, _ := h.enter(w.userID)
			org, err := call(h, bob, h.organizations.Create, organization.CreateInput{OrganizationCreate: api.OrganizationCreate{Name: "Bob's"}})
			must(t, err)
			ws, err := call(h, bob, h.workspaces.Create, workspace.CreateInput{WorkspaceCreate: api.WorkspaceCreate{Name: "Bob's", OrganizationID: org.ID}})
			must(t, err)
			if !slices.Contains(h.workspacesOf(w.userID), ws.ID) {
				t.Error("the maker of a workspace is not in it")
			}
		})
	})
}

func (h *house) identityOf(email, password string) error {
	_, err := h.Password(h.t.Context(), stranger(), email, password)
	return err
}

func TestTakingTheInvitationOpensTheWorkspaceAtOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		w := invitedTwice(h)
		if w.b.opensTo(w.userID) { // and remember that it does not
			t.Fatal("it is open before")
		}
		bob, _ := h.enter(w.userID)
		_, err := h.identity.Accept(t.Context(), bob, w.linkB)
		must(t, err)
		member, _ := access.BuiltInRole("member")
		if held, _ := w.b.held(w.userID); held != member.Permissions {
			t.Errorf("holds %s", held)
		}
		if got := w.b.status(w.userID); got != "active" {
			t.Errorf("shown as %s", got)
		}
		if got := h.text(`SELECT home_org_id FROM account WHERE id = $1`, w.userID); got != w.a.organizationID {
			t.Errorf("the home moved to %q", got)
		}
	})
}

// settled demands that whose the address is, is settled for everyone: nothing opens by
// itself, but the person needs no link to accept.
func (w twice) settled(t *testing.T, h *house) {
	t.Helper()
	open := len(h.workspacesOf(w.userID))
	bob := db.Caller{Actor: audit.Actor{Type: audit.User, ID: w.userID, Email: bobsAddress}}
	invited, err := call(h, bob, h.workspaces.Invitations, workspace.InvitationsInput{})
	if must(t, err); len(invited.Rows()) == 0 {
		t.Errorf("is in %d workspaces and invited to none", open)
	}
	for _, i := range invited.Rows() {
		_, err := call(h, bob, h.workspaces.AcceptInvitation, workspace.InvitationInput{ID: i.ID})
		must(t, err)
	}
	for name, x := range map[string]*tenant{"the first": w.a, "the second": w.b} {
		if !x.opensTo(w.userID) || x.status(w.userID) != "active" {
			t.Errorf("%s organization shows it as %s", name, x.status(w.userID))
		}
	}
	if got := h.workspacesOf(w.userID); len(got) != open+len(invited.Rows()) {
		t.Errorf("sees %v", got)
	}
}

// pending is someone whom two organizations invite and who did nothing yet.
func pending(h *house) twice {
	h.t.Helper()
	w := twice{a: h.tenant("boss@a.example"), b: h.tenant("chief@b.example")}
	w.userID, _ = w.a.invite(bobsAddress, "viewer")
	_, w.linkB = w.b.invite(bobsAddress, "member")
	return w
}

func TestAnOperatorSettlesWhoseAnAddressIs(t *testing.T) {
	for name, settle := range map[string]func(h *house) error{
		"by an account": func(h *house) error {
			_, err := h.identity.CreateUser(h.t.Context(), db.Caller{}, bobsAddress, "Bob")
			return err
		},
		"by an API key": func(h *house) error {
			_, _, err := h.identity.CreateKeyFor(h.t.Context(), db.Caller{}, bobsAddress, identity.NewKey{Name: "k"})
			return err
		},
		"by a link": func(h *house) error { return h.redeem(h.userLink(bobsAddress), goodPassword) },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, h *house) {
				w := pending(h)
				must(t, settle(h))
				w.settled(t, h)
			})
		})
	}
}

// Anyone who completed the user by the link of one organization had chosen how it
// signs in. Once it is settled whose the address is, none of that is good any more:
// it would open what others have prepared.
func TestSettlingEndsWhatAnotherPersonHadSetUp(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		w := invitedTwice(h)
		wayIn := h.seize(w.userID)
		w.b.opensTo(w.userID) // remembered
		must(t, h.redeem(h.userLink(bobsAddress), newPassword))
		w.settled(t, h)
		wayIn.closed(t, h)
	})
}

// An operator who makes a key for a user says nothing about who has the others.
func TestAnAPIKeyDoesNotSettleAUserWhoHasSignedIn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		w := invitedTwice(h)
		_, _, err := h.identity.CreateKeyFor(t.Context(), db.Caller{}, bobsAddress, identity.NewKey{Name: "k"})
		must(t, err)
		if w.b.opensTo(w.userID) {
			t.Error("the second organization's workspace is open")
		}
	})
}

// seized is all that someone can set up to act as a user later.
type seized struct {
	id      string
	browser string
	apiKey  string
}

func (h *house) seize(userID string) seized {
	h.t.Helper()
	me, browser := h.enter(userID)
	s := seized{id: userID, browser: browser}
	key, err := call(h, me, h.identity.CreateKey, identity.NewKeyInput{APIKeyCreate: api.APIKeyCreate{Name: "mine"}})
	must(h.t, err)
	s.apiKey = key.APIKey
	h.secondFactor(me)
	_, err = db.Write(h.t.Context(), h.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test has no authenticator"), tx.Exec(`INSERT INTO passkey (id, account_id, credential_id, name, credential, created_at)
			VALUES ($1, $2, $2, 'mine', '{}', $3)`, tx.NewID("psk"), userID, tx.Now())
	})
	must(h.t, err)
	return s
}

func (s seized) closed(t *testing.T, h *house) {
	t.Helper()
	if h.signedIn(s.browser) {
		t.Error("the browser is signed in")
	}
	if h.knows(bobsAddress, goodPassword) {
		t.Error("the password is good")
	}
	if n := h.count(`SELECT count(*) FROM passkey WHERE account_id = $1`, s.id); n != 0 {
		t.Error("the passkey is there")
	}
	if n := h.count(`SELECT count(*) FROM totp WHERE account_id = $1`, s.id) + h.count(`SELECT count(*) FROM recovery_code WHERE account_id = $1`, s.id); n != 0 {
		t.Error("the second factor is there, and keeps the owner out")
	}
	if h.exchanges(s.apiKey) {
		t.Error("the API key is good")
	}
}

// exchanges says whether an API key begins a session.
func (h *house) exchanges(apiKey string) bool {
	h.t.Helper()
	request := httptest.NewRequest(http.MethodPost, "/v1/auth/token", nil).WithContext(h.t.Context())
	request.Header.Set("Authorization", "Bearer "+apiKey)
	answer := httptest.NewRecorder()
	site := &web.Endpoints{DB: h.db, Admit: func(*web.Exchange) error { return nil }}
	web.Open(site, api.CreateToken, h.identity.Exchange).Endpoint(&web.Exchange{W: answer, R: request, IP: home})
	if answer.Code != http.StatusOK && answer.Code != http.StatusUnauthorized {
		h.t.Fatalf("the exchange is answered %d %s", answer.Code, answer.Body)
	}
	return answer.Code == http.StatusOK
}

// A link is for a lost password, not for a lost phone, so the second factor of a user
// whose address is verified stays. Its API keys do not: whoever knew the password may have
// made some.
func TestALinkKeepsTheOtherWaysInOfASettledAccountButNotItsKeys(t *testing.T) {
	eachWithMail(t, func(t *testing.T, h *house, box *smtptest.Server) {
		for name, link := range map[string]func(email string) string{
			"operator": h.userLink,
			"recovery": func(email string) string {
				must(t, h.Recover(t.Context(), stranger(), email))
				for all := 1; ; all++ { // other mail reports what happens to users
					if m := box.Wait(t, all)[all-1]; mailedLink.MatchString(m.Text) {
						return linkIn(t, m)
					}
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				h, email := h.on(t), name+"@example.com"
				id := h.resident(email)
				s := h.seize(id)
				must(t, h.redeem(link(email), newPassword))
				f, err := h.Factors(t.Context(), db.Caller{Actor: audit.Actor{ID: id}})
				if err != nil || len(f.Passkeys) != 1 || f.TOTPSince == 0 || f.RecoveryCodes != 10 || h.exchanges(s.apiKey) {
					t.Errorf("left are %+v, %v", f, err)
				}
			})
		}
	})
}

// Both links find the user invited, and both wait for it: only one may say how
// it signs in, or the other organization could enter the first one's workspace.
func TestLinksOfOneAccountCannotBothSetItUp(t *testing.T) {
	t.Parallel()
	h := build(t, dbtest.Postgres(t))
	w := twice{a: h.tenant("boss@a.example"), b: h.tenant("chief@b.example")}
	id, linkA := w.a.invite(bobsAddress, "viewer")
	_, linkB := w.b.invite(bobsAddress, "viewer")
	links, passwords := []string{linkA, linkB}, []string{goodPassword, newPassword}
	errs := h.meet(id, 2, func(i int) error { return h.redeem(links[i], passwords[i]) })
	if n := succeeded(errs); n != 1 {
		t.Errorf("%d set it up: %v", n, errs)
	}
	open := 0
	for i, x := range []*tenant{w.a, w.b} {
		if x.opensTo(id) {
			open++
			if !h.knows(bobsAddress, passwords[i]) {
				t.Error("the workspace that is open is not that of whose password is good")
			}
		}
	}
	if open != 1 {
		t.Errorf("%d workspaces are open", open)
	}
}

// waiting counts the sessions of PostgreSQL that wait for one, at first or second hand.
const waiting = `WITH next AS (SELECT pid FROM pg_stat_activity WHERE $1::int = ANY (pg_blocking_pids(pid)))
	SELECT count(*) FROM pg_stat_activity a
	WHERE a.pid IN (SELECT pid FROM next) OR EXISTS (SELECT 1 FROM next WHERE next.pid = ANY (pg_blocking_pids(a.pid)))`

// meet runs something several times while a user is locked, until all of them
// are in the middle of their transactions.
func (h *house) meet(userID string, n int, act func(i int) error) (errs []error) {
	h.t.Helper()
	done := make(chan struct{})
	_, err := db.Write(h.t.Context(), h.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		exempt := audit.None("a test holds a lock")
		var pid int
		if _, err := tx.Row(`UPDATE account SET name = name WHERE id = $1 RETURNING pg_backend_pid()`, userID).Scan(&pid); err != nil {
			return struct{}{}, exempt, err
		}
		go func() {
			defer close(done)
			errs = sideBySide(n, act)
		}()
		for deadline := time.Now().Add(wait.Limit()); h.count(waiting, pid) < n; {
			if time.Now().After(deadline) {
				h.t.Error("they never met")
				break
			}
		}
		return struct{}{}, exempt, nil
	})
	must(h.t, err)
	<-done
	return errs
}

func TestAnInvitedAdminIsNotTheOneWhoIsLeft(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		w := twice{a: h.tenant("boss@a.example"), b: h.tenant("chief@b.example")}
		leave := func(x *tenant) error {
			_, err := call(h, x.admin, h.workspaces.RemoveMember, workspace.MemberInput{ID: x.workspaceID, UserID: x.admin.ID})
			return err
		}
		id, linkA := w.a.invite(bobsAddress, "admin")
		_, linkB := w.b.invite(bobsAddress, "admin")
		refused(t, leave(w.a), api.CodeLastAdmin)
		must(t, h.redeem(linkA, goodPassword))
		t.Run("while they took another's invitation", func(t *testing.T) {
			refused(t, leave(w.b), api.CodeLastAdmin)
		})
		t.Run("until they take it", func(t *testing.T) {
			h := h.on(t)
			bob, _ := h.enter(id)
			_, err := h.identity.Accept(t.Context(), bob, linkB)
			must(t, err)
			must(t, leave(w.a))
			must(t, leave(w.b))
		})
	})
}

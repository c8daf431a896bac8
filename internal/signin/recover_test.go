package signin_test

import (
	"context"
	"log/slog"
	"regexp"
	"testing"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/mail/smtptest"
	"bursar/internal/web"
	"bursar/internal/workspace"
)

// eachWithMail runs a test on every engine in a house that sends mail.
func eachWithMail(t *testing.T, run func(t *testing.T, h *house, box *smtptest.Server)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		box := smtptest.Start(t, smtptest.Options{})
		h := build(t, store, mailing(box))
		h.background(func(ctx context.Context) { h.Run(ctx, slog.New(slog.DiscardHandler)) })
		run(t, h, box)
	})
}

var mailedLink = regexp.MustCompile(`http://bursar\.test/invite/(bln_[0-9A-Za-z]+)`)

// linkIn is the secret of the link in a message.
func linkIn(t testing.TB, m smtptest.Received) string {
	t.Helper()
	found := mailedLink.FindStringSubmatch(m.Text)
	if found == nil {
		t.Fatalf("there is no link in %q", m.Text)
	}
	return found[1]
}

func TestRecoveringMailsALinkThatWorksOnce(t *testing.T) {
	eachWithMail(t, func(t *testing.T, h *house, box *smtptest.Server) {
		id := h.resident("ada@example.com")
		_, session := h.enter(id)
		must(t, h.Recover(t.Context(), stranger(), "ADA@example.com"))
		got := box.Wait(t, 1)[0]
		if len(got.To) != 1 || got.To[0] != "ada@example.com" {
			t.Errorf("sent to %v", got.To)
		}
		link := linkIn(t, got)
		if !h.signedIn(session) || !h.knows("ada@example.com", goodPassword) {
			t.Error("asking alone changed something")
		}
		must(t, h.redeem(link, newPassword))
		if !h.knows("ada@example.com", newPassword) || h.signedIn(session) {
			t.Error("the new password is not good, or the old session is")
		}
		h.dead(link)
		row := h.last(audit.LinkCreated)
		if row.ActorID != id || row.Resource != id || row.ActorType != "user" || row.IP != home {
			t.Errorf("the audit log says %+v", row)
		}
	})
}

// Nothing goes to whom there is not. The message to Ada, asked for last, shows that
// the others have been seen to.
func TestOnlyWhoCanSignInIsSentALink(t *testing.T) {
	eachWithMail(t, func(t *testing.T, h *house, box *smtptest.Server) {
		h.person("ada@example.com")
		h.person("gone@example.com")
		_, err := h.identity.DisableUser(t.Context(), db.Caller{}, "gone@example.com")
		must(t, err)
		h.tenant("boss@example.com").invite("invited@example.com", "viewer")
		invitation := box.Wait(t, 1)
		for _, email := range []string{"nobody@example.com", "gone@example.com", "invited@example.com", "ada@example.com"} {
			must(t, h.Recover(t.Context(), stranger(), email))
		}
		got := box.Wait(t, 2)
		if len(got) != 2 || invitation[0].To[0] != "invited@example.com" || got[1].To[0] != "ada@example.com" {
			t.Errorf("sent %d messages, the last to %v", len(got), got[len(got)-1].To)
		}
	})
}

func TestWithoutMailRecoveryIsUnavailable(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		if h.Recovers() {
			t.Error("recovery is offered")
		}
	})
}

// Anyone who invites an address must not be able to act as the person who has it.
func TestAMailedInvitationGoesToTheMailboxAlone(t *testing.T) {
	eachWithMail(t, func(t *testing.T, h *house, box *smtptest.Server) {
		x := h.tenant("boss@example.com")
		for i, email := range []string{"new@example.com", "known@example.com"} {
			if i == 1 {
				h.person(email)
			}
			in := api.MemberAdd{Email: email, Role: "viewer"}
			added, err := call(h, x.admin, h.workspaces.AddMember, workspace.AddMemberInput{ID: x.workspaceID, MemberAdd: in})
			must(t, err)
			first := linkIn(t, box.Wait(t, 2*i+1)[2*i])
			again, err := call(h, x.admin, h.workspaces.Reinvite, workspace.MemberInput{ID: x.workspaceID, UserID: added.UserID})
			must(t, err)
			if added.InvitationURL != "" || again.InvitationURL != "" {
				t.Errorf("%s: shown are %q and %q", email, added.InvitationURL, again.InvitationURL)
			}
			h.dead(first)
			_, err = h.identity.OpenLink(t.Context(), linkIn(t, box.Wait(t, 2*i+2)[2*i+1]))
			must(t, err)
		}
	})
}

func TestAMailThatArrivedSettlesWhoseAnAddressIs(t *testing.T) {
	eachWithMail(t, func(t *testing.T, h *house, box *smtptest.Server) {
		w := twice{a: h.tenant("boss@a.example"), b: h.tenant("chief@b.example")}
		w.userID, _ = w.a.invite(bobsAddress, "viewer")
		mailed := linkIn(t, box.Wait(t, 1)[0])
		_, w.linkB = w.b.invite(bobsAddress, "member")
		must(t, h.redeem(mailed, goodPassword))
		w.settled(t, h)
	})
}

// byHand is invitedTwice as it was before the server could send mail.
func (h *house) byHand() twice {
	h.t.Helper()
	mails := h.workspaces
	h.workspaces = workspace.New(h.db, h.authority, web.NewCursors(nil), identity.NewLinks(publicURL, nil), h.approvals)
	defer func() { h.workspaces = mails }()
	return invitedTwice(h)
}

// The same holds where the user was completed by hand before: what whoever did
// so set up is void.
func TestRecoveringByMailTakesAnAccountBack(t *testing.T) {
	eachWithMail(t, func(t *testing.T, h *house, box *smtptest.Server) {
		w := h.byHand()
		wayIn := h.seize(w.userID)
		c := h.tenant("head@c.example")
		ghost := h.person("ghost@example.com")
		_, err := db.Write(t.Context(), h.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			_, err := access.Invite(tx, c.workspaceID, ghost, "viewer", "whoever completed the account")
			if err == nil {
				err = access.NoteOrigin(tx, audit.Actor{ID: w.userID}, c.workspaceID, ghost)
			}
			return struct{}{}, audit.None("a test"), err
		})
		must(t, err)
		must(t, h.Recover(t.Context(), stranger(), bobsAddress))
		must(t, h.redeem(linkIn(t, box.Wait(t, 1)[0]), newPassword))
		w.settled(t, h)
		wayIn.closed(t, h)
		if c.invitation("ghost@example.com") != "" || h.last(audit.MemberRemoved).WorkspaceID != c.workspaceID {
			t.Error("an invitation is left that whoever completed the account made")
		}
	})
}

func TestAMailedInvitationTakesAnAccountBack(t *testing.T) {
	eachWithMail(t, func(t *testing.T, h *house, box *smtptest.Server) {
		w := h.byHand()
		wayIn := h.seize(w.userID)
		c := h.tenant("head@c.example")
		c.invite(bobsAddress, "viewer")
		mailed := linkIn(t, box.Wait(t, 1)[0])
		bob, _ := h.enter(w.userID)
		_, err := h.identity.Accept(t.Context(), bob, mailed) // whoever is signed in may be who completed it
		refused(t, err, api.CodeNotFound)
		must(t, h.redeem(mailed, newPassword))
		wayIn.closed(t, h)
		if !c.opensTo(w.userID) || !h.knows(bobsAddress, newPassword) {
			t.Error("the invitation is not taken")
		}
		w.settled(t, h)
	})
}

func TestTakingAMailedInvitationKeepsWhoTakesItSignedIn(t *testing.T) {
	eachWithMail(t, func(t *testing.T, h *house, box *smtptest.Server) {
		x, id := h.tenant("boss@a.example"), h.resident(bobsAddress)
		bob, session := h.enter(id)
		x.invite(bobsAddress, "viewer")
		_, err := h.identity.Accept(t.Context(), bob, linkIn(t, box.Wait(t, 1)[0]))
		must(t, err)
		if !x.opensTo(id) {
			t.Error("the invitation is not taken")
		}
		if !h.signedIn(session) || !h.knows(bobsAddress, goodPassword) {
			t.Error("who took it can sign in no more")
		}
	})
}

// A link that has ended does not delay the next one.
func TestAChangedPasswordEndsALinkToRecover(t *testing.T) {
	eachWithMail(t, func(t *testing.T, h *house, box *smtptest.Server) {
		me, _ := h.enter(h.resident("ada@example.com"))
		must(t, h.Recover(t.Context(), stranger(), "ada@example.com"))
		old := linkIn(t, box.Wait(t, 1)[0])
		must(t, h.ChangePassword(t.Context(), me, goodPassword, newPassword, true))
		h.dead(old)
		must(t, h.Recover(t.Context(), stranger(), "ada@example.com"))
		must(t, h.redeem(linkIn(t, box.Wait(t, 2)[1]), goodPassword))
	})
}

// Anyone who signed in as the user may have invited someone who lets them in again.
func TestAResetEndsTheInvitationsThatThePersonMade(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		x, y := h.tenant("boss@example.com"), h.tenant("chief@example.com")
		_, link := x.invite("ghost@example.com", "viewer")
		y.invite("ghost@example.com", "viewer")
		ghost := x.invitation("ghost@example.com")
		must(t, h.redeem(x.linkTo("member@example.com"), goodPassword))
		_, err := h.Reset(t.Context(), db.Caller{}, "boss@example.com", false)
		must(t, err)
		h.dead(link)
		if x.invitation("ghost@example.com") != "" || x.invitation("member@example.com") == "" || y.invitation("ghost@example.com") == "" {
			t.Error("an invitation of theirs is left, or another one has ended")
		}
		if row := h.last(audit.MemberRemoved); row.WorkspaceID != x.workspaceID || row.Resource != ghost {
			t.Errorf("the audit log says %+v", row)
		}
	})
}

// What is revoked with all keys of a person is what revoking each would end.
func TestAPasswordChangeThatRevokesTheKeysEndsTheInvitationsMadeWithThem(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		x := h.tenant("boss@example.com")
		key, err := call(h, x.admin, h.identity.CreateKey, identity.NewKeyInput{APIKeyCreate: api.APIKeyCreate{Name: "mine"}})
		must(t, err)
		x.invite("kept@example.com", "viewer")
		by := *x
		by.admin.KeyID = key.ID
		by.invite("ghost@example.com", "viewer")
		must(t, h.ChangePassword(t.Context(), x.admin, "", goodPassword, true))
		ghost := x.invitation("ghost@example.com")
		if ghost == "" {
			t.Error("the invitation ended, and the keys were kept")
		}
		must(t, h.ChangePassword(t.Context(), x.admin, goodPassword, newPassword, false))
		if x.invitation("ghost@example.com") != "" || x.invitation("kept@example.com") == "" {
			t.Error("the invitation of the key is left, or another has ended")
		}
		if row := h.last(audit.MemberRemoved); row.WorkspaceID != x.workspaceID || row.Resource != ghost {
			t.Errorf("the audit log says %+v", row)
		}
	})
}

// linkTo is the secret of the link of an invitation.
func (x *tenant) linkTo(email string) string {
	_, link := x.invite(email, "viewer")
	return link
}

func TestAnOperatorTakesAllWaysInAway(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		id := h.resident(bobsAddress)
		s := h.seize(id)
		link, err := h.Reset(t.Context(), db.Caller{Actor: audit.SystemActor("operator")}, "BOB@x.example", false)
		must(t, err)
		f, err := h.Factors(t.Context(), db.Caller{Actor: audit.Actor{ID: id}})
		if err != nil || f.HasPassword || len(f.Passkeys) != 0 || f.TOTPSince != 0 || f.RecoveryCodes != 0 || h.signedIn(s.browser) {
			t.Errorf("left are %+v, the session %v, %v", f, h.signedIn(s.browser), err)
		}
		got, err := h.RedeemWithPassword(t.Context(), stranger(), secretOf(link.URL), "Bob", newPassword)
		if err != nil || got.NeedsCode {
			t.Errorf("beginning anew: %+v, %v", got, err)
		}
		if row := h.last(audit.FactorsReset); row.ActorType != "system" || row.Resource != id || row.OrganizationID != h.first.OrganizationID {
			t.Errorf("the audit log says %+v", row)
		}
		_, err = h.Reset(t.Context(), db.Caller{}, "nobody@example.com", false)
		refused(t, err, api.CodeNotFound)
	})
}

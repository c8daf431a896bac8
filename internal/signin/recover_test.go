package signin_test

import (
	"context"
	"log/slog"
	"regexp"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/fault"
	"bursar/internal/mail/smtptest"
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

func TestWithoutMailNobodyRecovers(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		if h.Recovers() {
			t.Error("recovery is offered")
		}
	})
}

func TestAMailedInvitationIsAnotherThanTheOneShown(t *testing.T) {
	eachWithMail(t, func(t *testing.T, h *house, box *smtptest.Server) {
		x := h.tenant("boss@example.com")
		t.Run("using the mailed one ends the shown one", func(t *testing.T) {
			h := h.on(t)
			_, shown := x.invite("one@example.com", "viewer")
			mailed := linkIn(t, box.Wait(t, 1)[0])
			if mailed == shown {
				t.Fatal("they are the same")
			}
			must(t, h.redeem(mailed, goodPassword))
			h.dead(shown)
		})
		t.Run("using the shown one ends the mailed one", func(t *testing.T) {
			h := h.on(t)
			_, shown := x.invite("two@example.com", "viewer")
			mailed := linkIn(t, box.Wait(t, 2)[1])
			must(t, h.redeem(shown, goodPassword))
			h.dead(mailed)
		})
		t.Run("inviting again ends both", func(t *testing.T) {
			h := h.on(t)
			id, shown := x.invite("three@example.com", "viewer")
			mailed := linkIn(t, box.Wait(t, 3)[2])
			_, err := call(h, x.admin, h.workspaces.Reinvite, workspace.MemberInput{ID: x.workspaceID, UserID: id})
			must(t, err)
			h.dead(shown)
			h.dead(mailed)
			must(t, h.redeem(linkIn(t, box.Wait(t, 4)[3]), goodPassword))
		})
	})
}

func TestAMailThatArrivedSettlesWhoseAnAddressIs(t *testing.T) {
	eachWithMail(t, func(t *testing.T, h *house, box *smtptest.Server) {
		w := twice{a: h.tenant("boss@a.example"), b: h.tenant("chief@b.example")}
		w.accountID, _ = w.a.invite(bobsAddress, "viewer")
		mailed := linkIn(t, box.Wait(t, 1)[0])
		_, w.linkB = w.b.invite(bobsAddress, "member")
		must(t, h.redeem(mailed, goodPassword))
		w.settled(t, h)
	})
}

// The same holds where the account was completed by hand before: what whoever did
// so set up is void.
func TestRecoveringByMailTakesAnAccountBack(t *testing.T) {
	eachWithMail(t, func(t *testing.T, h *house, box *smtptest.Server) {
		w := invitedTwice(h)
		wayIn := h.seize(w.accountID)
		box.Wait(t, 2)
		must(t, h.Recover(t.Context(), stranger(), bobsAddress))
		must(t, h.redeem(linkIn(t, box.Wait(t, 3)[2]), newPassword))
		w.settled(t, h)
		wayIn.closed(t, h)
	})
}

func TestTakingAMailedInvitationKeepsWhoTakesItSignedIn(t *testing.T) {
	eachWithMail(t, func(t *testing.T, h *house, box *smtptest.Server) {
		a, b := h.tenant("boss@a.example"), h.tenant("chief@b.example")
		id, handed := a.invite(bobsAddress, "viewer")
		must(t, h.redeem(handed, goodPassword))
		bob, session := h.enter(id)
		b.invite(bobsAddress, "viewer")
		_, err := h.identity.Accept(t.Context(), bob, linkIn(t, box.Wait(t, 2)[1]))
		must(t, err)
		if !b.opensTo(id) || !a.opensTo(id) {
			t.Error("the invitation is not taken")
		}
		if !h.signedIn(session) || !h.knows(bobsAddress, goodPassword) {
			t.Error("who took it can sign in no more")
		}
	})
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
		refused(t, err, fault.ResourceNotFound)
	})
}

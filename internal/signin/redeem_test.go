package signin_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/signin"
	"bursar/internal/workspace"
)

// redeem sets a user up by a link.
func (h *house) redeem(link, password string) error {
	_, err := h.RedeemWithPassword(h.t.Context(), stranger(), link, "Somebody", password)
	return err
}

func TestALinkSetsAnAccountUp(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		x := h.tenant("boss@example.com")
		t.Run("of an operator", func(t *testing.T) {
			h := h.on(t)
			id := h.person("ada@example.com")
			got, err := h.RedeemWithPassword(t.Context(), stranger(), h.userLink("ada@example.com"), "Ada", goodPassword)
			if want := (signin.Proven{UserID: id, Method: identity.ByLink, Version: 1}); err != nil || got != want {
				t.Fatalf("proves %+v, %v", got, err)
			}
			if name := h.text(`SELECT name FROM account WHERE id = $1`, id); name != "Ada" || !h.knows("ada@example.com", goodPassword) {
				t.Errorf("the name is %q", name)
			}
			row := h.last(audit.UserRecovered)
			if row.ActorID != id || row.ActorType != "user" || row.Resource != id || row.IP != home {
				t.Errorf("the audit log says %+v", row)
			}
		})
		t.Run("to an invitation", func(t *testing.T) {
			h := h.on(t)
			id, link := x.invite("bob@example.com", "viewer")
			got, err := h.RedeemWithPassword(t.Context(), stranger(), link, "Bob", goodPassword)
			if want := (signin.Proven{UserID: id, Method: identity.ByLink, Version: 1}); err != nil || got != want {
				t.Fatalf("proves %+v, %v", got, err)
			}
			row := h.last(audit.MemberAccepted)
			if row.ActorID != id || row.WorkspaceID != x.workspaceID || row.Resource != id || row.ActorType != "user" {
				t.Errorf("the audit log says %+v", row)
			}
			if !h.knows("bob@example.com", goodPassword) || x.status(id) != "active" {
				t.Errorf("shown as %s", x.status(id))
			}
		})
	})
}

func TestALinkDescribesItsPurpose(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		x := h.tenant("boss@example.com")
		_, link := x.invite("bob@example.com", "viewer")
		got, err := h.identity.OpenLink(t.Context(), link)
		if err != nil || got.Email != "bob@example.com" || got.Workspace != "Place of boss@example.com" || got.Organization != "Org of boss@example.com" ||
			got.Inviter != "User boss@example.com" || !got.SetsUp || got.WorkspaceID() != x.workspaceID {
			t.Errorf("opened as %+v, %v", got, err)
		}
		h.person("ada@example.com")
		got, err = h.identity.OpenLink(t.Context(), h.userLink("ada@example.com"))
		if err != nil || got.Email != "ada@example.com" || got.Workspace != "" || !got.SetsUp {
			t.Errorf("opened as %+v, %v", got, err)
		}
	})
}

func TestOpeningALinkLeavesItUnused(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.person("ada@example.com")
		link := h.userLink("ada@example.com")
		for range 3 {
			_, err := h.identity.OpenLink(t.Context(), link)
			must(t, err)
		}
		must(t, h.redeem(link, goodPassword))
	})
}

func TestALinkNeedsANameAndAGoodPassword(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		id := h.person("ada@example.com")
		link := h.userLink("ada@example.com")
		for field, c := range map[string]struct{ name, password string }{
			"name":     {"", goodPassword},
			"password": {"Ada", "short"},
		} {
			_, err := h.RedeemWithPassword(t.Context(), stranger(), link, c.name, c.password)
			invalid(t, err, field)
		}
		_, err := h.RedeemWithPassword(t.Context(), stranger(), link, strings.Repeat("a", 101), goodPassword)
		invalid(t, err, "name")
		if hash := h.text(`SELECT password_hash FROM account WHERE id = $1`, id); hash != "" {
			t.Error("a password is stored")
		}
		must(t, h.redeem(link, goodPassword)) // it is not used up
	})
}

// dead demands that a link can be neither opened nor used.
func (h *house) dead(link string) {
	h.t.Helper()
	_, err := h.identity.OpenLink(h.t.Context(), link)
	refused(h.t, err, api.CodeNotFound)
	refused(h.t, h.redeem(link, newPassword), api.CodeNotFound)
}

func TestALinkIsGoodOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		x := h.tenant("boss@example.com")
		h.person("ada@example.com")
		_, invitation := x.invite("bob@example.com", "viewer")
		for name, link := range map[string]string{"of an operator": h.userLink("ada@example.com"), "to an invitation": invitation} {
			t.Run(name, func(t *testing.T) {
				h := h.on(t)
				must(t, h.redeem(link, goodPassword))
				h.dead(link)
			})
		}
	})
}

func TestOfLinksUsedSideBySideOneWins(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		x := h.tenant("boss@example.com")
		h.person("ada@example.com")
		_, invitation := x.invite("bob@example.com", "viewer")
		for name, c := range map[string]struct{ email, link string }{
			"of an operator":   {"ada@example.com", h.userLink("ada@example.com")},
			"to an invitation": {"bob@example.com", invitation},
		} {
			t.Run(name, func(t *testing.T) {
				h := h.on(t)
				passwords := []string{"the first of four words", "the second of four words", "the third of four words", "the fourth of four words"}
				errs := sideBySide(len(passwords), func(i int) error { return h.redeem(c.link, passwords[i]) })
				if n := succeeded(errs); n != 1 {
					t.Fatalf("%d were let in: %v", n, errs)
				}
				for i, password := range passwords {
					if h.knows(c.email, password) != (errs[i] == nil) {
						t.Errorf("password %d: told %v", i, errs[i])
					}
				}
			})
		}
	})
}

func TestLinksExpire(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for name, c := range map[string]struct {
			life time.Duration
			make func(h *house) string
		}{
			"of an operator, after a day": {24 * time.Hour, func(h *house) string {
				h.person("ada@example.com")
				return h.userLink("ada@example.com")
			}},
			"to an invitation, after a week": {7 * 24 * time.Hour, func(h *house) string {
				_, link := h.tenant("boss@example.com").invite("bob@example.com", "viewer")
				return link
			}},
		} {
			t.Run(name, func(t *testing.T) {
				h := h.on(t)
				link := c.make(h)
				h.clock.Advance(c.life - time.Minute)
				_, err := h.identity.OpenLink(t.Context(), link)
				must(t, err)
				h.clock.Advance(time.Minute)
				h.dead(link)
			})
		}
	})
}

func TestANewerLinkEndsTheOlder(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		x := h.tenant("boss@example.com")
		t.Run("of an operator", func(t *testing.T) {
			h := h.on(t)
			h.person("ada@example.com")
			old := h.userLink("ada@example.com")
			newer := h.userLink("ada@example.com")
			h.dead(old)
			must(t, h.redeem(newer, goodPassword))
		})
		t.Run("to an invitation", func(t *testing.T) {
			h := h.on(t)
			_, old := x.invite("bob@example.com", "viewer")
			id := x.invitation("bob@example.com")
			again, err := call(h, x.admin, h.workspaces.Reinvite, workspace.MemberInput{ID: x.workspaceID, UserID: id})
			must(t, err)
			h.dead(old)
			must(t, h.redeem(secretOf(again.InvitationURL), goodPassword))
			if row := h.last(audit.MemberInvited); row.ActorID != x.admin.ID || row.WorkspaceID != x.workspaceID || row.Resource != id {
				t.Errorf("the audit log says %+v", row)
			}
		})
		t.Run("but not those of another workspace or of the operator", func(t *testing.T) {
			h := h.on(t)
			y := h.tenant("chief@example.com")
			_, here := x.invite("carla@example.com", "viewer")
			_, there := y.invite("carla@example.com", "viewer")
			h.userLink("carla@example.com")
			for _, link := range []string{here, there} {
				_, err := h.identity.OpenLink(t.Context(), link)
				must(t, err)
			}
		})
	})
}

func TestALinkDiesWithWhatItIsFor(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		x := h.tenant("boss@example.com")
		t.Run("the member was removed", func(t *testing.T) {
			h := h.on(t)
			_, link := x.invite("bob@example.com", "viewer")
			_, err := call(h, x.admin, h.workspaces.RemoveMember, workspace.MemberInput{ID: x.workspaceID, UserID: x.invitation("bob@example.com")})
			must(t, err)
			h.dead(link)
		})
		t.Run("the account was disabled", func(t *testing.T) {
			h := h.on(t)
			h.person("ada@example.com")
			_, invitation := x.invite("carla@example.com", "viewer")
			links := []string{h.userLink("ada@example.com"), invitation}
			for _, change := range []func(context.Context, db.Caller, string) (string, error){h.identity.DisableUser, h.identity.EnableUser} {
				for _, email := range []string{"ada@example.com", "carla@example.com"} {
					_, err := change(t.Context(), db.Caller{}, email)
					must(t, err)
				}
				for _, link := range links {
					h.dead(link)
				}
			}
		})
		for name, change := range map[string]func(h *house, me db.Caller) error{
			"the password was changed": func(h *house, me db.Caller) error {
				return h.ChangePassword(h.t.Context(), me, goodPassword, newPassword, true)
			},
			"a second factor was added": func(h *house, me db.Caller) error { h.secondFactor(me); return nil },
			"the way to sign in was reset": func(h *house, me db.Caller) error {
				_, err := h.Reset(h.t.Context(), db.Caller{}, me.Email, true)
				return err
			},
		} {
			t.Run(name, func(t *testing.T) {
				h, email := h.on(t), strings.ReplaceAll(name, " ", ".")+"@example.com"
				me, _ := h.enter(h.resident(email))
				_, invitation := x.invite(email, "viewer")
				link := h.userLink(email)
				must(t, change(h, me))
				h.dead(link)
				_, err := h.identity.OpenLink(t.Context(), invitation) // which whoever signs in as the user cannot end
				must(t, err)
			})
		}
	})
}

func TestUnknownLinksAreDead(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.person("ada@example.com")
		good := h.userLink("ada@example.com")
		for _, link := range []string{"", "bln_", "x", good[:len(good)-1], good + "0", strings.ToLower(good), "bk_" + strings.TrimPrefix(good, "bln_"), strings.Repeat("bln_", 1000)} {
			if link != good {
				h.dead(link)
			}
		}
	})
}

func TestLinksAreStoredHashed(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.person("ada@example.com")
		_, invitation := h.tenant("boss@example.com").invite("bob@example.com", "viewer")
		for _, link := range []string{h.userLink("ada@example.com"), invitation} {
			for _, table := range []string{
				`SELECT count(*) FROM account_link WHERE hash LIKE '%' || $1 || '%' OR id = $1`,
				`SELECT count(*) FROM audit_entry WHERE description LIKE '%' || $1 || '%' OR resource_id = $1`,
			} {
				if n := h.count(table, strings.TrimPrefix(link, "bln_")); n != 0 {
					t.Errorf("the link is stored as it is: %s", table)
				}
			}
		}
	})
}

func TestAnAccountLinkEndsAllSessions(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		id := h.resident("ada@example.com")
		_, one := h.enter(id)
		_, two := h.enter(id)
		_, others := h.enter(h.resident("bob@example.com"))
		must(t, h.redeem(h.userLink("ada@example.com"), newPassword))
		if h.signedIn(one) || h.signedIn(two) || !h.signedIn(others) {
			t.Errorf("sessions live: %v, %v, somebody else's %v", h.signedIn(one), h.signedIn(two), h.signedIn(others))
		}
		if h.knows("ada@example.com", goodPassword) {
			t.Error("the old password is good")
		}
	})
}

// A link stands for the password alone: who has the mailbox does not have the
// authenticator app.
func TestALinkDoesNotGoAroundTheSecondFactor(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		id := h.resident("ada@example.com")
		me, _ := h.enter(id)
		h.secondFactor(me)
		got, err := h.RedeemWithPassword(t.Context(), stranger(), h.userLink("ada@example.com"), "Ada", newPassword)
		if want := (signin.Proven{UserID: id, Method: identity.ByLink, NeedsCode: true, Version: 3}); err != nil || got != want {
			t.Errorf("proves %+v, %v", got, err)
		}
	})
}

func TestALinkMakesNoPasskeyThatGoesAroundTheSecondFactor(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		id := h.resident("ada@example.com")
		me, _ := h.enter(id)
		h.secondFactor(me)
		_, err := h.OfferLinkPasskey(t.Context(), h.userLink("ada@example.com"))
		refused(t, err, api.CodeValidation)
	})
}

func TestWhoCanSignInTakesAnInvitationSignedIn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		// A's invitation completed the user, so that it is B's turn to be taken.
		a, b := h.tenant("boss@example.com"), h.tenant("chief@example.com")
		id, first := a.invite("bob@example.com", "viewer")
		_, link := b.invite("bob@example.com", "member")
		must(t, h.redeem(first, goodPassword))
		bob, _ := h.enter(id)

		t.Run("it sets no password", func(t *testing.T) {
			h := h.on(t)
			refused(t, h.redeem(link, newPassword), api.CodeForbidden)
			if h.knows("bob@example.com", newPassword) || b.opensTo(id) {
				t.Error("the password was set, or the invitation taken")
			}
			if opened, err := h.identity.OpenLink(t.Context(), link); err != nil || opened.SetsUp {
				t.Errorf("opened as %+v, %v", opened, err)
			}
			_, err := h.OfferLinkPasskey(t.Context(), link)
			refused(t, err, api.CodeForbidden)
		})
		t.Run("nobody else can take it", func(t *testing.T) {
			h := h.on(t)
			other, _ := h.enter(h.person("carla@example.com"))
			for _, by := range []db.Caller{other, a.admin, b.admin} {
				_, err := h.identity.Accept(t.Context(), by, link)
				refused(t, err, api.CodeNotFound)
			}
			if b.opensTo(id) || b.opensTo(other.ID) {
				t.Error("it was taken")
			}
		})
		t.Run("the account itself takes it, once", func(t *testing.T) {
			h := h.on(t)
			workspaceID, err := h.identity.Accept(t.Context(), bob, link)
			if err != nil || workspaceID != b.workspaceID || !b.opensTo(id) {
				t.Fatalf("took %q, %v", workspaceID, err)
			}
			_, err = h.identity.Accept(t.Context(), bob, link)
			refused(t, err, api.CodeNotFound)
			row := h.last(audit.MemberAccepted)
			if row.ActorID != id || row.WorkspaceID != b.workspaceID || row.ActorEmail != "bob@example.com" {
				t.Errorf("the audit log says %+v", row)
			}
		})
		t.Run("an account link is nothing to take", func(t *testing.T) {
			h := h.on(t)
			_, err := h.identity.Accept(t.Context(), bob, h.userLink("bob@example.com"))
			refused(t, err, api.CodeNotFound)
		})
	})
}

func TestTakingAnInvitationSideBySideHappensOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		a, b := h.tenant("boss@example.com"), h.tenant("chief@example.com")
		id, first := a.invite("bob@example.com", "viewer")
		_, link := b.invite("bob@example.com", "member")
		must(t, h.redeem(first, goodPassword))
		bob, _ := h.enter(id)
		if n := succeeded(sideBySide(8, func(int) error {
			_, err := h.identity.Accept(t.Context(), bob, link)
			return err
		})); n != 1 {
			t.Errorf("it was taken %d times", n)
		}
		if n := h.count(`SELECT count(*) FROM audit_entry WHERE action = $1 AND workspace_id = $2`, string(audit.MemberAccepted), b.workspaceID); n != 1 {
			t.Errorf("%d rows say so", n)
		}
	})
}

func TestAnInvitedAccountThatIsEnabledAgainIsInvited(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		x := h.tenant("boss@example.com")
		id, link := x.invite("bob@example.com", "viewer")
		_, err := h.identity.DisableUser(t.Context(), db.Caller{}, "bob@example.com")
		must(t, err)
		_, err = h.identity.EnableUser(t.Context(), db.Caller{}, "bob@example.com")
		must(t, err)
		if got := x.status(id); got != "invited" {
			t.Errorf("shown as %s", got)
		}
		h.dead(link)
		again, err := call(h, x.admin, h.workspaces.Reinvite, workspace.MemberInput{ID: x.workspaceID, UserID: x.invitation("bob@example.com")})
		must(t, err)
		must(t, h.redeem(secretOf(again.InvitationURL), goodPassword))
	})
}

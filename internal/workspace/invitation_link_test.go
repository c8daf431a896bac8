package workspace_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestInvitationIsShownToTheInviter(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		t.Run("an address that nobody has", func(t *testing.T) {
			link := x.Invite(t, servertest.NewEmail(), "viewer").Text("invitation_url")
			if !strings.HasPrefix(link, n.PublicURL+"/invite/bln_") {
				t.Errorf("shown is %q", link)
			}
		})
		t.Run("an address that somebody has", func(t *testing.T) {
			email := servertest.NewEmail()
			n.User(t, email)
			if link := x.Invite(t, email, "viewer").Text("invitation_url"); !strings.HasPrefix(link, n.PublicURL+"/invite/bln_") {
				t.Errorf("shown is %q", link)
			}
		})
		t.Run("not for whom the organization knows", func(t *testing.T) {
			y := *x
			y.WorkspaceID = x.Owner.On(t).Post("/v1/workspaces", body{"name": "Second", "organization_id": x.OrganizationID}).OK().Text("id")
			if _, shown := y.Invite(t, x.Member("viewer").Email(), "viewer").Object()["invitation_url"]; shown {
				t.Error("it is shown")
			}
		})
		t.Run("not for another role of an invited member", func(t *testing.T) {
			email := servertest.NewEmail()
			x.Invite(t, email, "viewer")
			if _, shown := x.Invite(t, email, "member").Object()["invitation_url"]; shown {
				t.Error("it is shown")
			}
		})
		t.Run("to each of several who invite the same address", func(t *testing.T) {
			email, y := servertest.NewEmail(), n.Tenant(t)
			one, two := x.Invite(t, email, "viewer").Text("invitation_url"), y.Invite(t, email, "viewer").Text("invitation_url")
			if one == "" || two == "" || one == two {
				t.Errorf("shown are %q and %q", one, two)
			}
		})
	})
}

func TestInvitationIsTheSameWhenARequestIsRepeated(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		request := body{"email": servertest.NewEmail(), "role": "viewer"}
		first := x.Owner.Once("invite", "POST", x.Path("/members"), request).OK()
		again := x.Owner.Once("invite", "POST", x.Path("/members"), request).OK()
		if again.Header.Get("Idempotent-Replayed") != "true" || !bytes.Equal(again.Body, first.Body) {
			t.Errorf("the first answer was %s, the second %s", first.Body, again.Body)
		}
		if first.Text("invitation_url") == "" {
			t.Error("there is no link")
		}
		n.Complete(t, again.Text("invitation_url"))
	})
}

func TestInvitationIsVisibleOnlyToTheInvited(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		answer := x.Owner.Once("invite", "POST", x.Path("/members"), body{"email": servertest.NewEmail(), "role": "viewer"}).OK()
		link := answer.Text("invitation_url")
		_, secret, _ := strings.Cut(link, "/invite/")
		n.Complete(t, link)
		n.Page(t, "/invite/"+secret, "")
		if strings.Contains(n.Dump(t), secret) {
			t.Error("it is stored as it is")
		}
		if strings.Contains(n.Log.String(), secret) {
			t.Error("it is logged")
		}
		for _, row := range x.Audit("") {
			for name, value := range row {
				if text, _ := value.(string); strings.Contains(text, secret) {
					t.Errorf("the audit log tells it as %s", name)
				}
			}
		}
	})
}

func TestInvitationThatIsTakenIsOnRecordInTheWorkspace(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, email := n.Tenant(t), servertest.NewEmail()
		added := x.Invite(t, email, "viewer")
		session := n.Complete(t, added.Text("invitation_url"))
		row := x.Owner.Get(x.AuditPath() + "&action=iam.member.accepted").OK().LastRow("iam.member.accepted")
		userID := n.CommandLine(t, session).Get("/v1/auth/me").OK().Text("id")
		if row["actor_id"] != userID || row["actor_email"] != email || row["actor_type"] != "user" || row["resource_id"] != userID {
			t.Errorf("the row is %v", row)
		}
		t.Run("and the sign-in is the person's own activity", func(t *testing.T) {
			own := n.CommandLine(t, session).Get("/v1/auth/activity").OK()
			if got := own.Column("action"); !slices.Contains(got, "auth.session.created") || slices.Contains(got, "iam.member.accepted") {
				t.Errorf("it says %v", got)
			}
		})
	})
}

// hijack is an account that two organizations invite, completed by the link that
// the first one's admin was shown.
type hijack struct {
	a, b    *servertest.Tenant
	email   string
	userID  string
	idB     string // of the second one's invitation
	linkB   string
	session string
	caller  *servertest.Client
}

func invitedByTwo(t testing.TB, n *servertest.Node) hijack {
	t.Helper()
	h := hijack{a: n.Tenant(t), b: n.Tenant(t), email: servertest.NewEmail()}
	first, second := h.a.Invite(t, h.email, "viewer"), h.b.Invite(t, h.email, "directory_manager")
	h.idB, h.linkB = second.Text("user_id"), second.Text("invitation_url")
	h.session = n.Complete(t, first.Text("invitation_url"))
	h.caller = n.CommandLine(t, h.session)
	h.userID = h.caller.Get("/v1/auth/me").OK().Text("id")
	return h
}

func TestInvitationOfOneOrganizationOpensNothingOfAnother(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		h := invitedByTwo(t, n)
		entry := h.b.Entry("Secret supplier")
		t.Run("by the API", func(t *testing.T) {
			bob := h.caller.On(t)
			bob.Get(h.a.Path("")).OK()
			if got := bob.Get("/v1/workspaces").OK().Column("id"); !slices.Equal(got, []string{h.a.WorkspaceID}) {
				t.Errorf("workspaces are %v", got)
			}
			if got := bob.Get("/v1/organizations").OK().Column("id"); !slices.Equal(got, []string{h.a.OrganizationID}) {
				t.Errorf("organizations are %v", got)
			}
			for _, path := range []string{h.b.Path(""), h.b.Path("/members"), h.b.Path("/roles"), "/v1/organizations/" + h.b.OrganizationID,
				"/v1/directory?workspace_id=" + h.b.WorkspaceID, h.b.AuditPath()} {
				bob.Get(path).Fails(404, "RESOURCE_NOT_FOUND")
			}
			if answer := bob.Get("/v1/directory/" + entry); answer.Status != 404 {
				t.Errorf("an entry is answered %d", answer.Status)
			}
			if answer := bob.Delete("/v1/directory/" + entry); answer.Status != 404 {
				t.Errorf("deleting an entry is answered %d", answer.Status)
			}
			bob.Post(h.b.Path("/members"), body{"email": servertest.NewEmail(), "role": "viewer"}).Fails(404, "RESOURCE_NOT_FOUND")
		})
		t.Run("in the console", func(t *testing.T) {
			for path, want := range map[string]int{
				"/w/" + h.a.WorkspaceID:                         200,
				"/w/" + h.b.WorkspaceID:                         404,
				"/w/" + h.b.WorkspaceID + "/members":            404,
				"/w/" + h.b.WorkspaceID + "/directory":          404,
				"/w/" + h.b.WorkspaceID + "/directory/" + entry: 404,
				"/w/" + h.a.WorkspaceID + "/directory/" + entry: 404,
				"/w/" + h.b.WorkspaceID + "/organization":       404,
			} {
				if got := n.Page(t, path, h.session); got != want {
					t.Errorf("%s is answered %d, want %d", path, got, want)
				}
			}
		})
		t.Run("the list of members tells that it is invited", func(t *testing.T) {
			if a, b := h.a.MemberWith(t, h.userID), h.b.MemberWith(t, h.idB); a.Status != "active" || b.Status != "invited" {
				t.Errorf("listed as %q and %q", a.Status, b.Status)
			}
		})
		t.Run("what it does is the first one's to see", func(t *testing.T) {
			for path, want := range map[string]bool{
				"/v1/audit?limit=100&organization_id=" + h.a.OrganizationID: true,
				"/v1/audit?limit=100&organization_id=" + h.b.OrganizationID: false,
			} {
				owner := h.a.Owner
				if !want {
					owner = h.b.Owner
				}
				seen := 0
				for _, row := range owner.On(t).Get(path + "&actor=" + h.userID).OK().List() {
					if row["action"] == "auth.session.created" {
						seen++
					}
				}
				if (seen > 0) != want {
					t.Errorf("%s tells of %d sign-ins", path, seen)
				}
			}
		})
	})
}

func TestInvitationThatIsTakenOpensTheWorkspaceAtOnce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		h := invitedByTwo(t, n)
		h.caller.Get(h.b.Path("")).Fails(404, "RESOURCE_NOT_FOUND") // remembered
		status, location, _ := n.Form(t, strings.TrimPrefix(h.linkB, n.PublicURL)+"/accept", h.session)
		if status != http.StatusSeeOther || location != "/w/"+h.b.WorkspaceID {
			t.Fatalf("it is answered %d %s", status, location)
		}
		h.caller.Get(h.b.Path("")).OK()
		h.caller.Post("/v1/directory", body{"workspace_id": h.b.WorkspaceID, "type": "person", "fields": body{}, "name": "Mine"}).OK()
		h.caller.Get(h.b.AuditPath()).Fails(403, "FORBIDDEN")
		if got := h.b.MemberWith(t, h.userID).Status; got != "active" {
			t.Errorf("listed as %q", got)
		}
		if got := n.Page(t, "/w/"+h.b.WorkspaceID, h.session); got != 200 {
			t.Errorf("the console answers %d", got)
		}
	})
}

func TestInvitedAdminsDoNotCountAsAdmins(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		h := invitedByTwo(t, n)
		h.b.Owner.Post(h.b.Path("/roles"), body{"user_id": h.idB, "role": "admin"}).OK()
		leave := func(t *testing.T) *servertest.Answer {
			return h.b.Owner.On(t).Delete(h.b.Path("/members/" + h.b.Owner.UserID))
		}
		t.Run("neither may the last one leave", func(t *testing.T) { leave(t).Fails(422, "LAST_ADMIN") })
		t.Run("nor give up the role", func(t *testing.T) {
			h.b.Owner.On(t).Delete(h.b.Path("/roles/"+h.b.Owner.UserID+"/admin")).Fails(422, "LAST_ADMIN")
		})
		t.Run("until the invitation is taken", func(t *testing.T) {
			n.Form(t, strings.TrimPrefix(h.linkB, n.PublicURL)+"/accept", h.session)
			leave(t).OK()
		})
	})
}

// The operator says whose the address is: then the person can accept every invitation to it.
func TestInvitationsCanBeAcceptedOnceAnOperatorMakesTheUser(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		a, b, email := n.Tenant(t), n.Tenant(t), servertest.NewEmail()
		a.Invite(t, email, "viewer")
		b.Invite(t, email, "viewer")
		if _, err := n.Identity.CreateUser(t.Context(), db.Caller{}, email, "Bob"); err != nil {
			t.Fatal(err)
		}
		session := n.Complete(t, n.OperatorsLink(t, email))
		bob := n.CommandLine(t, session)
		for _, x := range []*servertest.Tenant{a, b} {
			bob.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
		}
		for _, id := range bob.Get("/v1/invitations").OK().Column("id") {
			bob.Join(id)
		}
		for _, x := range []*servertest.Tenant{a, b} {
			bob.Get(x.Path("")).OK()
		}
	})
}

// The link of one workspace must not open what another of the same organization
// has prepared: who invites to the one may not invite to the other.
func TestLinkOfOneWorkspaceTakesNoPlaceInAnother(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		second := admin.Post("/v1/workspaces", servertest.Body{"name": "Payroll", "organization_id": n.First.OrganizationID}).OK().Text("id")
		admin.Post("/v1/workspaces/"+n.First.WorkspaceID+"/members", servertest.Body{"email": "bob@example.com", "role": "admin"}).OK()
		link := admin.Post("/v1/workspaces/"+second+"/members", servertest.Body{"email": "bob@example.com", "role": "viewer"}).OK().Text("invitation_url")
		bob := n.CommandLine(t, n.Complete(t, link))
		bob.Get("/v1/workspaces/" + second).OK()
		bob.Get("/v1/workspaces/"+n.First.WorkspaceID).Fails(404, "RESOURCE_NOT_FOUND")
	})
}

// Someone who may invite to one workspace completes an address themselves, by the link
// that they were shown, and waits until it is added to another.
func TestWhoCompletedAnAddressGetsNothingThatItsOwnerIsGiven(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		payments, cfo := n.Tenant(t), servertest.NewEmail()
		sandbox := *payments
		sandbox.WorkspaceID = payments.Owner.Post("/v1/workspaces", body{"name": "Sandbox", "organization_id": payments.OrganizationID}).OK().Text("id")
		inviter := sandbox.Member("admin")
		link := inviter.Post(sandbox.Path("/members"), body{"email": cfo, "role": "viewer"}).OK().Text("invitation_url")
		session := n.Complete(t, link)
		mallory := n.CommandLine(t, session)
		mallory.Get(sandbox.Path("")).OK()

		added := payments.Invite(t, cfo, "admin")
		id, right := added.Text("user_id"), added.Text("invitation_url")
		outside := func(t *testing.T) {
			t.Helper()
			mallory.On(t).Get(payments.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
			if status := n.Page(t, "/w/"+payments.WorkspaceID+"/members", session); status != http.StatusNotFound {
				t.Errorf("the console answers %d", status)
			}
			if got := payments.MemberWith(t, id); got.Status != "invited" || got.Name != "" || got.Email != cfo {
				t.Errorf("listed as %+v", got)
			}
		}
		outside(t)
		t.Run("they neither see nor answer the invitation", func(t *testing.T) {
			if got := mallory.On(t).Get("/v1/invitations").OK().List(); len(got) != 0 {
				t.Errorf("listed are %v", got)
			}
			for _, decision := range []string{"accept", "decline"} {
				mallory.On(t).Post("/v1/invitations/"+id+"/"+decision, nil).Fails(404, "RESOURCE_NOT_FOUND")
			}
			outside(t)
		})
		t.Run("they become no owner", func(t *testing.T) {
			me := mallory.On(t).Get("/v1/auth/me").OK().Text("id")
			payments.Owner.On(t).Post(payments.OrganizationPath("/owners"), body{"user_id": me}).Invalid("user_id")
		})
		t.Run("the operator gives the address back to its owner, who accepts", func(t *testing.T) {
			owner := n.Complete(t, n.OperatorsLink(t, cfo))
			mallory.On(t).Get("/v1/auth/me").Fails(401, "UNAUTHORIZED")
			status, location, _ := n.Form(t, strings.TrimPrefix(right, n.PublicURL)+"/accept", owner)
			if status != http.StatusSeeOther || location != "/w/"+payments.WorkspaceID {
				t.Errorf("it is answered %d %s", status, location)
			}
			n.CommandLine(t, owner).Get(payments.Path("/members")).OK()
		})
	})
}

// What someone agreed to who completed an address by a link that they were shown, its owner
// has not agreed to. Nor do the owners of that organization read of the owner's logins.
func TestTakingAnAddressBackAsksForAcceptanceAgain(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		h := invitedByTwo(t, n)
		link := n.OperatorsLink(t, h.email)
		before := h.a.Owner.Get(h.a.OrganizationAuditPath() + "&limit=100").OK().Column("id")
		bob := n.CommandLine(t, n.Complete(t, link))
		if got := bob.Get("/v1/workspaces").OK().Column("id"); len(got) != 0 {
			t.Errorf("is in %v", got)
		}
		bob.Get(h.a.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
		if after := h.a.Owner.Get(h.a.OrganizationAuditPath() + "&limit=100").OK().Column("id"); !slices.Equal(after, before) {
			t.Errorf("whoever invited them reads %d rows, before %d", len(after), len(before))
		}
		invitations := bob.Get("/v1/invitations").OK().Column("id")
		if len(invitations) != 2 || !slices.Contains(invitations, h.idB) {
			t.Fatalf("invitations are %v", invitations)
		}
		for _, id := range invitations {
			x := h.b
			if id != h.idB {
				x = h.a
			}
			if got := x.MemberWith(t, id); got.Status != "invited" || got.Name != "" {
				t.Errorf("listed as %+v", got)
			}
			bob.Join(id)
			bob.Get(x.Path("")).OK()
		}
	})
}

// Anyone who was shown a link can act as the person whom it invites, so it is worth no more
// than what they may do themselves.
func TestALinkIsWorthNoMoreThanWhoWasShownIt(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for name, lose := range map[string]func(x *servertest.Tenant, inviter *servertest.Client, invitation string){
			"they were removed": func(x *servertest.Tenant, inviter *servertest.Client, _ string) {
				x.Owner.Delete(x.Path("/members/" + inviter.UserID)).OK()
			},
			"they may not invite any more": func(x *servertest.Tenant, inviter *servertest.Client, _ string) {
				x.Owner.Post(x.Path("/roles"), body{"user_id": inviter.UserID, "role": "viewer"}).OK()
				x.Owner.Delete(x.Path("/roles/" + inviter.UserID + "/inviter")).OK()
			},
			"they were disabled": func(_ *servertest.Tenant, inviter *servertest.Client, _ string) {
				if _, err := n.Identity.DisableUser(t.Context(), db.Caller{}, inviter.Email()); err != nil {
					t.Error(err)
				}
			},
			"the API key that it was made with was revoked": func(_ *servertest.Tenant, inviter *servertest.Client, _ string) {
				for _, id := range inviter.Get("/v1/api-keys").OK().Column("id") {
					inviter.Delete("/v1/api-keys/" + id)
				}
			},
			"the API key that it was made with was rotated": func(_ *servertest.Tenant, inviter *servertest.Client, _ string) {
				for _, id := range inviter.Get("/v1/api-keys").OK().Column("id") {
					inviter.Post("/v1/api-keys/"+id+"/rotate", body{"grace_seconds": 0}).OK()
				}
			},
			"somebody gave the invited person more than they have": func(x *servertest.Tenant, _ *servertest.Client, invitation string) {
				x.Owner.Post(x.Path("/roles"), body{"user_id": invitation, "role": "admin"}).OK()
			},
		} {
			t.Run(name, func(t *testing.T) {
				x, email := n.Tenant(t), servertest.NewEmail()
				x.Define("inviter", "ws.read", "ws.members.write", "ws.members.read", "ws.directory.read", "ws.payouts.read", "ws.accounts.read")
				inviter := x.Member("inviter")
				added := inviter.Post(x.Path("/members"), body{"email": email, "role": "viewer"}).OK()
				lose(x, inviter, added.Text("user_id"))
				if !deadLink(t, n, added.Text("invitation_url")) {
					t.Error("the link is good")
				}
				// The invitation itself is the workspace's: whoever proves the address accepts it, unless it ended with who made it.
				user := n.User(t, email)
				if name == "the API key that it was made with was revoked" || name == "they were disabled" {
					user.Post("/v1/invitations/"+added.Text("user_id")+"/accept", nil).Fails(404, "RESOURCE_NOT_FOUND")
					return
				}
				user.Join(added.Text("user_id"))
				user.Get(x.Path("")).OK()
			})
		}
	})
}

package organization_test

import (
	"slices"
	"sync"
	"testing"

	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

// owners are the ids of the tenant's owners, as someone sees them.
func owners(t *testing.T, x *servertest.Tenant, who *servertest.Client) []string {
	t.Helper()
	return who.On(t).Get(x.OrganizationPath("/owners")).OK().Column("id")
}

func addOwner(t *testing.T, x *servertest.Tenant, by *servertest.Client, userID string) *servertest.Answer {
	t.Helper()
	return by.On(t).Post(x.OrganizationPath("/owners"), body{"user_id": userID})
}

func removeOwner(t *testing.T, x *servertest.Tenant, by *servertest.Client, userID string) *servertest.Answer {
	t.Helper()
	return by.On(t).Delete(x.OrganizationPath("/owners/" + userID))
}

func TestAFounderCanBeRemoved(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		founder, second := x.Owner, x.Member("admin")
		rename := func(by *servertest.Client) *servertest.Answer {
			return by.Patch(x.OrganizationPath("/settings"), body{"name": servertest.NewEmail()})
		}
		rename(second).Fails(403, "FORBIDDEN")
		addOwner(t, x, founder, second.UserID).OK()
		if got, want := owners(t, x, founder), []string{founder.UserID, second.UserID}; !slices.Equal(got, want) {
			t.Errorf("the owners are %v, want %v", got, want)
		}
		rename(second).OK()
		second.Delete(x.Path("/members/" + founder.UserID)).OK()
		rename(founder).OK() // leaving the workspace is not leaving the organization
		removeOwner(t, x, second, founder.UserID).OK()
		rename(founder).Fails(404, "RESOURCE_NOT_FOUND")
		founder.Post("/v1/workspaces", body{"name": "Mine", "organization_id": x.OrganizationID}).Fails(404, "RESOURCE_NOT_FOUND")
		founder.Get(x.OrganizationAuditPath()).Fails(404, "RESOURCE_NOT_FOUND")
		actions := second.Get(x.OrganizationAuditPath() + "&limit=100").OK().Column("action")
		for _, want := range []string{"iam.organization.owner_added", "iam.organization.owner_removed"} {
			if !slices.Contains(actions, want) {
				t.Errorf("%s is not on record: %v", want, actions)
			}
		}
	})
}

func TestTheLastOwnerStays(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		removeOwner(t, x, x.Owner, x.Owner.UserID).Fails(422, "LAST_OWNER")

		t.Run("also if the other one is disabled", func(t *testing.T) {
			email := servertest.NewEmail()
			second := n.User(t, email)
			second.Join(x.Add(email, "viewer"))
			addOwner(t, x, x.Owner, second.UserID).OK()
			if _, err := n.Identity.DisableUser(t.Context(), db.Caller{}, email); err != nil {
				t.Fatal(err)
			}
			removeOwner(t, x, x.Owner, x.Owner.UserID).Fails(422, "LAST_OWNER")
			removeOwner(t, x, x.Owner, second.UserID).OK()
		})

		t.Run("also if two remove each other at once", func(t *testing.T) {
			second := x.Member("viewer")
			addOwner(t, x, x.Owner, second.UserID).OK()
			var both sync.WaitGroup
			both.Go(func() { x.Owner.Delete(x.OrganizationPath("/owners/" + second.UserID)) })
			both.Go(func() { second.Delete(x.OrganizationPath("/owners/" + x.Owner.UserID)) })
			both.Wait()
			if left := owners(t, x, x.Member("viewer")); len(left) != 1 {
				t.Errorf("left are %v", left)
			}
		})
	})
}

func TestOnlyPeopleOfTheOrganizationBecomeOwners(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		machine, _, err := n.Identity.CreateClient(t.Context(), db.Caller{}, x.WorkspaceID, "Robot", "admin")
		if err != nil {
			t.Fatal(err)
		}
		for name, id := range map[string]string{
			"nobody":                    "usr_nobody",
			"somebody from elsewhere":   n.Tenant(t).Owner.UserID,
			"somebody who did not come": x.Add(servertest.NewEmail(), "admin"),
			"a machine client":          machine,
		} {
			t.Run(name, func(t *testing.T) { addOwner(t, x, x.Owner, id).Fails(404, "RESOURCE_NOT_FOUND") })
		}
		removeOwner(t, x, x.Owner, x.Member("admin").UserID).Fails(404, "RESOURCE_NOT_FOUND")

		t.Run("to be one already changes nothing", func(t *testing.T) {
			before := organizationRows(t, x)
			addOwner(t, x, x.Owner, x.Owner.UserID).OK()
			if added := organizationRows(t, x) - before; added != 0 {
				t.Errorf("%d audit rows were added", added)
			}
		})
	})
}

func TestWhoSeesAndChangesOwners(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		admin, stranger := x.Member("admin"), n.Tenant(t).Owner
		if got := owners(t, x, x.Bystander()); !slices.Equal(got, []string{x.Owner.UserID}) {
			t.Errorf("a member sees %v", got)
		}
		stranger.Get(x.OrganizationPath("/owners")).Fails(404, "RESOURCE_NOT_FOUND")
		for by, want := range map[*servertest.Client]int{admin: 403, stranger: 404} {
			for _, got := range []*servertest.Answer{addOwner(t, x, by, admin.UserID), removeOwner(t, x, by, x.Owner.UserID)} {
				if got.Status != want || want == 403 && got.Detail("permission") != "org.settings.write" {
					t.Errorf("want %d, got %d %s", want, got.Status, got.Body)
				}
			}
		}
	})
}

// The maker of an owner may be removed a moment after the request was authorized.
func TestWhoIsRemovedMeanwhileMakesNoOwner(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		thief, ghost := x.Member("admin"), x.Member("viewer")
		for name, send := range map[string]func() *servertest.Answer{
			"adds one":    func() *servertest.Answer { return addOwner(t, x, thief, ghost.UserID) },
			"removes one": func() *servertest.Answer { return removeOwner(t, x, thief, x.Owner.UserID) },
		} {
			addOwner(t, x, x.Owner, thief.UserID).OK()
			owners(t, x, thief)
			answer := servertest.WhileUnderWay(t, n.DB, func(tx *db.Tx) error {
				if err := tx.Exec(`UPDATE organization SET name = name WHERE id = $1`, x.OrganizationID); err != nil { // as whoever removes an owner
					return err
				}
				return tx.Exec(`DELETE FROM organization_member WHERE organization_id = $1 AND account_id = $2`, x.OrganizationID, thief.UserID)
			}, send)
			if answer.Status != 403 {
				t.Errorf("%s: %d %s", name, answer.Status, answer.Body)
			}
		}
	})
}

// The report of a key locks the user, and no organization into which no one came through the key.
func TestAnOwnerWhoseSessionsEndMeanwhileMakesNoOwner(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		thief, ghost := x.Member("admin"), x.Member("viewer")
		addOwner(t, x, x.Owner, thief.UserID).OK()
		owners(t, x, thief)
		servertest.WhileUnderWay(t, n.DB, func(tx *db.Tx) error {
			if err := tx.Exec(`UPDATE account SET name = name WHERE id = $1`, thief.UserID); err != nil {
				return err
			}
			return tx.Exec(`UPDATE session SET revoked_at = 1 WHERE account_id = $1`, thief.UserID)
		}, func() *servertest.Answer { return addOwner(t, x, thief, ghost.UserID) }).Fails(401, "UNAUTHORIZED")
	})
}

func TestASandboxCredentialDecidesNothingAboutAnOrganizationWithLiveMoney(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := stolenOwnership(t, n)
		x.report(t, x.Owner)
		viewer, user := x.Member("viewer"), x.LiveAccount()
		key := func(mode string) *servertest.Client {
			return n.Login(t, n.Person(t, x.Owner).Post("/v1/api-keys", body{"name": mode, "mode": mode, "administer": true}).OK().Text("api_key"))
		}
		sandbox, suspended := key("sandbox"), x.OrganizationPath("/suspended/"+x.waiting(x.Owner)[0].ID)
		for _, answer := range []*servertest.Answer{
			sandbox.Post(x.OrganizationPath("/owners"), body{"user_id": viewer.UserID}),
			sandbox.Delete(x.OrganizationPath("/owners/" + x.Owner.UserID)),
			sandbox.Patch(x.OrganizationPath("/settings"), body{"name": "Renamed"}),
			sandbox.Post(suspended+"/confirm", nil),
			sandbox.Post(suspended+"/remove", nil),
			sandbox.Post(x.OrganizationPath("/leavers"), body{"user_id": viewer.UserID}),
			sandbox.Post(x.OrganizationPath("/leavers"), body{"user_id": viewer.UserID, "dry_run": true}),
		} {
			if permission := answer.Fails(403, "FORBIDDEN").Detail("permission"); permission != "mode:live" {
				t.Errorf("it takes %s", permission)
			}
		}
		key("live").Patch(x.OrganizationPath("/settings"), body{"name": "Renamed"}).OK()
		x.Owner.Patch("/v2/accounts/"+user, body{"status": "closed"}).OK()
		sandbox.Post(x.OrganizationPath("/owners"), body{"user_id": viewer.UserID}).OK()
	})
}

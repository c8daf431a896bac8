package approval_test

import (
	"slices"
	"strings"
	"testing"

	"bursar/internal/db"
	"bursar/internal/mail/smtptest"
	"bursar/internal/server/servertest"
	"bursar/internal/workspace"
)

// Approvers and owners are mailed when the last second person has gone, who was removed included, and when someone is made an approver
// without one.
func TestApproversAndOwnersAreMailedAboutAMissingSecondPerson(t *testing.T) {
	servertest.OnMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		x, ada, bob := n.Pair(t)
		bobs, read := bob.Email(), 0
		told := func(subject string, want ...string) {
			t.Helper()
			if err := n.Server.Tidy(t.Context()); err != nil {
				t.Fatal(err)
			}
			var to []string
			for ; len(to) < len(want); read++ {
				if m := box.Wait(t, read+1)[read]; m.Subject == subject {
					to = append(to, m.To...)
					if !strings.Contains(m.Text, n.PublicURL) {
						t.Errorf("%q has no link: %s", subject, m.Text)
					}
				}
			}
			slices.Sort(to)
			slices.Sort(want)
			if !slices.Equal(to, want) {
				t.Errorf("%q went to %v, want %v", subject, to, want)
			}
		}
		ada.Delete(x.Path("/members/" + bob.UserID)).OK()
		told("A workspace has no second person to approve", ada.Email(), bobs)
		ada.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "admin"}).OK()
		told("An approver was added without a second person", ada.Email(), bobs)
		appointed := n.User(t, servertest.NewEmail())
		if _, err := workspace.Appoint(t.Context(), n.DB, db.Caller{}, x.WorkspaceID, appointed.Email()); err != nil {
			t.Fatal(err)
		}
		told("The operator has appointed an approver", ada.Email(), bobs, appointed.Email())
		p := servertest.Decoded[struct {
			Approvers []struct {
				ID         string `json:"id"`
				CountsFrom int64  `json:"counts_from"`
			}
			DemandedUntil int64 `json:"demanded_until"`
		}](ada.Get(x.Path("/receiving-policy")))
		for _, a := range p.Approvers {
			if a.ID == appointed.UserID && (a.CountsFrom >= p.DemandedUntil || a.CountsFrom <= n.DB.Now()) {
				t.Errorf("who was appointed counts from %d, and the demand ends at %d", a.CountsFrom, p.DemandedUntil)
			}
		}
	})
}

// The only approver, beside someone who requests, adds another one.
func TestApproversAndOwnersAreMailedWhomTheOnlyApproverAdds(t *testing.T) {
	servertest.OnMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		x := n.Tenant(t)
		owner := x.Member("disbursement_manager")
		x.Owner.Post("/v1/organizations/"+x.OrganizationID+"/owners", body{"user_id": owner.UserID}).OK()
		added := x.Member("viewer")
		x.Owner.Post(x.Path("/roles"), body{"user_id": added.UserID, "role": "disbursement_authorizer"}).OK()
		want := []string{x.Owner.Email(), owner.Email()}
		var to []string
		for read := 0; len(to) < len(want); read++ {
			if m := box.Wait(t, read+1)[read]; m.Subject == "An approver was added without a second person" {
				to = append(to, m.To...)
				if !strings.Contains(m.Text, "extend the time by 72 hours") {
					t.Errorf("the mail says %s", m.Text)
				}
			}
		}
		slices.Sort(to)
		slices.Sort(want)
		if !slices.Equal(to, want) {
			t.Errorf("it went to %v, want %v", to, want)
		}
	})
}

func TestApproversAndOwnersAreMailedWhomAnAdminConfirms(t *testing.T) {
	servertest.OnMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		x := n.Tenant(t)
		x.Member("disbursement_manager")
		added := x.Member("viewer")
		person := n.Person(t, x.Owner)
		key := person.Post("/v1/api-keys", body{"name": "stolen", "administer": true}).OK()
		n.Login(t, key.Text("api_key")).Post(x.Path("/roles"), body{"user_id": added.UserID, "role": "disbursement_authorizer"}).OK()
		person.Post("/v1/api-keys/"+key.Text("id")+"/compromised", nil).OK()
		for _, id := range person.Get(x.Path("/suspended")).OK().Column("id") {
			person.Post(x.Path("/suspended/"+id+"/confirm"), nil).OK()
		}
		for read, mails := 0, 0; mails < 2; read++ { // of the grant and of the confirmation
			if m := box.Wait(t, read+1)[read]; m.Subject == "An approver was added without a second person" && slices.Contains(m.To, x.Owner.Email()) {
				mails++
			}
		}
	})
}

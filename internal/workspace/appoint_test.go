package workspace_test

import (
	"strings"
	"testing"

	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
	"bursar/internal/workspace"
)

// The link of an invitation must not outlive it: whoever was shown it is another person than the one who was appointed.
func TestTheInvitationOfOneWhoIsAppointedEndsWithItsLink(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		user := n.User(t, servertest.NewEmail())
		id := x.Add(user.Email(), "viewer")
		x.Owner.Post(x.Path("/members/"+id+"/link"), nil)
		open := func() int {
			return n.Count(t, `SELECT count(*) FROM account_link WHERE account_id = $1 AND workspace_id = $2 AND used_at IS NULL`, user.UserID, x.WorkspaceID)
		}
		if open() == 0 {
			t.Fatal("the invitation has no link")
		}
		if _, err := workspace.Appoint(t.Context(), n.DB, db.Caller{}, x.WorkspaceID, user.Email()); err != nil {
			t.Fatal(err)
		}
		if links := open(); links != 0 {
			t.Errorf("%d links are left", links)
		}
		accept(user, id).Fails(404, "RESOURCE_NOT_FOUND")
		if !has(t, x, user.UserID, "disbursement_authorizer") {
			t.Error("they are no approver")
		}
	})
}

// The mail about one appointment is written while the operator makes another one.
func TestEveryAppointmentIsAnnounced(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		first, second := n.User(t, servertest.NewEmail()), n.User(t, servertest.NewEmail())
		announced := func() string {
			list, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (string, audit.Event, error) {
				_, list, err := access.AfterChange(tx)
				return list, audit.None("a test"), err
			})
			if err != nil {
				t.Error(err)
			}
			return list
		}
		if _, err := workspace.Appoint(t.Context(), n.DB, db.Caller{}, x.WorkspaceID, first.Email()); err != nil {
			t.Fatal(err)
		}
		all := servertest.WhileUnderWay(t, n.DB, func(tx *db.Tx) error {
			_, _, err := workspace.AppointIn(tx, x.WorkspaceID, second.Email(), "disbursement_authorizer")
			return err
		}, announced) + announced()
		for _, who := range []*servertest.Client{first, second} {
			if strings.Count(all, who.Email()) != 1 {
				t.Errorf("%s is not announced once: %q", who.Email(), all)
			}
		}
	})
}

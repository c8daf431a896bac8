package identity_test

import (
	"fmt"
	"testing"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/identity"
)

// Anyone can invite any address. Who is a member, and may act as one, depends on whether
// they agreed, whatever is known about their address.
func TestWhoIsAMember(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		p := n.place()
		home := p.admin.HomeOrgID
		for _, proof := range []string{"", "org_elsewhere", home, "*"} {
			for _, accepted := range []bool{false, true} {
				t.Run(fmt.Sprintf("proof %q, accepted %v", proof, accepted), func(t *testing.T) {
					p := p.in(t)
					id := p.person(fmt.Sprintf("user%s%v@example.com", proof, accepted))
					p.change(func(tx *db.Tx) error {
						if err := tx.Exec(`UPDATE account SET email_proof = $2 WHERE id = $1`, id, proof); err != nil {
							return err
						}
						if _, err := access.Invite(tx, p.workspaceID, id, "viewer", "Admin"); err != nil || !accepted {
							return err
						}
						return access.Accept(tx, p.workspaceID, id)
					})
					who := audit.Actor{ID: id}
					held, err := p.authority.Permissions(t.Context(), who, p.workspaceID)
					org := p.authority.RequireInOrganization(t.Context(), who, home, access.OrgRead)
					if !accepted {
						refused(t, err, api.CodeNotFound)
						refused(t, org, api.CodeNotFound)
						return
					}
					viewer, _ := access.BuiltInRole("viewer")
					if err != nil || org != nil || held != viewer.Permissions {
						t.Errorf("holds %s, %v, %v", held, err, org)
					}
				})
			}
		}
	})
}

// change changes the store behind the services' backs.
func (n *node) change(fn func(tx *db.Tx) error) {
	n.t.Helper()
	_, err := db.Write(n.t.Context(), n.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), fn(tx)
	})
	must(n.t, err)
}

// Joining does not change whose log tells of someone's logins. A user that began with
// an invitation has no such log yet: it gets one where it first accepts.
func TestWhereActionsAreRecorded(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		p := n.place()
		homeOf := func(invited, accepts bool) (home string) {
			t.Helper()
			p.change(func(tx *db.Tx) error {
				id, _, err := identity.EnsureUser(tx, identity.NewUser{Email: fmt.Sprintf("%v%v@example.com", invited, accepts), Invited: invited})
				if err == nil {
					_, err = access.Invite(tx, p.workspaceID, id, "viewer", "Admin")
				}
				if err == nil && accepts {
					err = access.Accept(tx, p.workspaceID, id)
				}
				if err == nil {
					home, err = access.HomeOrg(tx.Q, id)
				}
				return err
			})
			return home
		}
		for _, c := range []struct {
			invited, accepts bool
			home             string
		}{
			{false, false, ""},
			{false, true, ""},
			{true, false, ""},
			{true, true, p.admin.HomeOrgID},
		} {
			if got := homeOf(c.invited, c.accepts); got != c.home {
				t.Errorf("began invited %v, accepts %v: filed under %q, want %q", c.invited, c.accepts, got, c.home)
			}
		}
	})
}

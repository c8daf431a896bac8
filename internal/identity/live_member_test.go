package identity_test

import (
	"fmt"
	"testing"

	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
)

// Anybody can invite any address. Who is a member, and may act as one, depends on
// for whom it is settled that the address is the person's, and on whether they took
// the invitation themselves.
func TestWhoIsAMember(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		p := n.place()
		home, elsewhere := p.admin.HomeOrgID, "org_elsewhere"
		for i, c := range []struct {
			proof    string
			accepted bool
			member   bool
		}{
			{"", false, false},
			{"", true, true},
			{elsewhere, false, false},
			{elsewhere, true, true},
			{home, false, false},
			{home, true, true},
			{"*", false, true},
			{"*", true, true},
		} {
			t.Run(fmt.Sprintf("proof %q, accepted %v", c.proof, c.accepted), func(t *testing.T) {
				p := p.in(t)
				id := p.person(fmt.Sprintf("user%d@example.com", i))
				p.change(func(tx *db.Tx) error {
					if err := tx.Exec(`UPDATE account SET email_proof = $2 WHERE id = $1`, id, c.proof); err != nil {
						return err
					}
					if err := access.Join(tx, p.workspaceID, id, "viewer"); err != nil || !c.accepted {
						return err
					}
					return access.AcceptMembership(tx, p.workspaceID, id)
				})
				who := audit.Actor{ID: id}
				held, err := p.authority.Permissions(t.Context(), who, p.workspaceID)
				org := p.authority.RequireInOrganization(t.Context(), who, home, access.OrgRead)
				if !c.member {
					refused(t, err, fault.ResourceNotFound)
					refused(t, org, fault.ResourceNotFound)
					return
				}
				viewer, _ := access.BuiltInRole("viewer")
				if err != nil || org != nil || held != viewer.Permissions {
					t.Errorf("holds %s, %v, %v", held, err, org)
				}
			})
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

func TestWhereWhatSomebodyDoesIsFiled(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		p := n.place()
		homeOf := func(status, proof string) (home string) {
			t.Helper()
			p.change(func(tx *db.Tx) error {
				id, _, err := identity.EnsureAccount(tx, identity.NewAccount{Email: status + proof + "@example.com", Invited: true})
				if err == nil {
					err = tx.Exec(`UPDATE account SET status = $2, email_proof = $3 WHERE id = $1`, id, status, proof)
				}
				if err == nil {
					err = access.Join(tx, p.workspaceID, id, "viewer")
				}
				if err == nil {
					home, err = access.UpdateHomeOrg(tx, id)
				}
				return err
			})
			return home
		}
		for _, c := range []struct{ status, proof, home string }{
			{"invited", "", ""},
			{"active", "", ""},
			{"active", "org_elsewhere", ""},
			{"active", "*", p.admin.HomeOrgID},
			{"active", p.admin.HomeOrgID, ""}, // the place is yet to be taken
		} {
			if got := homeOf(c.status, c.proof); got != c.home {
				t.Errorf("%s, proven to %q: filed under %q, want %q", c.status, c.proof, got, c.home)
			}
		}
	})
}

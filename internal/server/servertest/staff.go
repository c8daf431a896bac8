package servertest

import (
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
)

// Staff adds people who have a role, as if a second person had agreed where required, so that there are enough of them for a rule. It
// does not sign them in.
func (x *Tenant) Staff(role string, people int) {
	x.t.Helper()
	_, err := db.Write(x.t.Context(), x.Node.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		_, _, err := access.LockMembers(tx, x.WorkspaceID)
		for range people {
			id, email := tx.NewID("usr"), NewEmail()
			if err == nil {
				err = tx.Exec(`INSERT INTO account (id, kind, email, name, status, email_proof, created_at) VALUES ($1, 'person', $2, $2, 'active', '*', $3)`, id, email, tx.Now())
			}
			if err == nil {
				err = access.Join(tx, x.WorkspaceID, id, role)
			}
		}
		event := audit.Event{Action: audit.MemberAdded, WorkspaceID: x.WorkspaceID, ResourceID: x.WorkspaceID, Description: "Added people as " + role}
		event.Changes.Add("roles", nil, role)
		return struct{}{}, event, err
	})
	if err != nil {
		x.t.Fatalf("add people as %s: %v", role, err)
	}
}

package operator

import (
	"context"
	"errors"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/mail"
)

// Operator is a person who operates the store.
type Operator struct {
	ID          string   `json:"id"`
	Email       string   `json:"email"`
	Name        string   `json:"name"`
	Status      string   `json:"status"`
	Permissions []string `json:"permissions"`
	CreatedAt   int64    `json:"created_at"`
}

// List lists the operators of a store.
func List(ctx context.Context, d *db.DB) (list []Operator, err error) {
	err = d.Read(ctx, func(q db.Q) (err error) {
		list, err = db.Collect(q, func(r db.Rows) Operator {
			return Operator{ID: r.Text(0), Email: r.Text(1), Name: r.Text(2), Status: r.Text(3), Permissions: strings.Fields(r.Text(4)), CreatedAt: r.Int(5)}
		}, `SELECT a.id, a.email, a.name, a.status, o.permissions, o.created_at FROM operator o JOIN account a ON a.id = o.account_id ORDER BY a.email`)
		return err
	})
	return list, err
}

// Add makes an active person an operator, or gives an operator other permissions.
func Add(ctx context.Context, d *db.DB, by db.Caller, email string, permissions []string) (Operator, error) {
	var v fault.Violations
	for _, name := range permissions {
		if !slices.Contains(access.OperatorPermissions(), access.Permission(name)) {
			v.Add("permission", "must be one of ops.read, ops.money, ops.access")
		}
	}
	if len(permissions) == 0 {
		v.Add("permission", "must name at least one")
	}
	if err := v.Err(); err != nil {
		return Operator{}, err
	}
	permissions = append([]string{string(access.OpsRead)}, permissions...) // an operator must see what they decide
	slices.Sort(permissions)
	permissions = slices.Compact(permissions)
	return db.Write(ctx, d, by, func(tx *db.Tx) (Operator, audit.Event, error) {
		o := Operator{Permissions: permissions}
		var before string
		// What they decide at the same time locks the user, too: they may get fewer permissions.
		found, err := tx.Row(`UPDATE account SET name = name WHERE email = $1 AND email <> '' AND kind = 'person' AND status = 'active'
			RETURNING id, email, name, status`, identity.NormalizeEmail(email)).Scan(&o.ID, &o.Email, &o.Name, &o.Status)
		if err == nil && !found {
			err = fault.Missing("active user " + email)
		}
		if err == nil {
			_, err = tx.Row(`SELECT permissions FROM operator WHERE account_id = $1`, o.ID).Scan(&before)
		}
		if err == nil {
			_, err = tx.Row(`INSERT INTO operator (account_id, permissions, created_at) VALUES ($1, $2, $3)
				ON CONFLICT (account_id) DO UPDATE SET permissions = excluded.permissions RETURNING created_at`, o.ID, strings.Join(permissions, " "), tx.Now()).Scan(&o.CreatedAt)
		}
		if err != nil {
			return o, audit.Event{}, err
		}
		if before == strings.Join(permissions, " ") {
			return o, audit.None("is an operator with these permissions already"), nil
		}
		event := audit.Event{Action: audit.OperatorAdded, ResourceID: o.ID, Description: "Made " + o.Email + " an operator"}
		event.Changes.AddItems("permissions", strings.Fields(before), permissions)
		event.OrganizationID, err = access.AuditOrganization(tx.Q, "")
		return o, event, err
	})
}

// Remove ends a person's role as an operator.
func Remove(ctx context.Context, d *db.DB, by db.Caller, email string) (id string, err error) {
	return db.Write(ctx, d, by, func(tx *db.Tx) (string, audit.Event, error) {
		if err := tx.Exec(`UPDATE account SET name = name WHERE email = $1 AND email <> ''`, identity.NormalizeEmail(email)); err != nil {
			return "", audit.Event{}, err // what they decide at the same time locks it, too
		}
		var permissions string
		found, err := tx.Row(`DELETE FROM operator WHERE account_id = (SELECT id FROM account WHERE email = $1 AND email <> '') RETURNING account_id, permissions`,
			identity.NormalizeEmail(email)).Scan(&id, &permissions)
		if err == nil && !found {
			err = fault.Missing("operator " + email)
		}
		if err != nil {
			return "", audit.Event{}, err
		}
		event := audit.Event{Action: audit.OperatorRemoved, ResourceID: id, Description: "Removed the operator " + identity.NormalizeEmail(email)}
		event.Changes.AddItems("permissions", strings.Fields(permissions), nil)
		event.OrganizationID, err = access.AuditOrganization(tx.Q, "")
		return id, event, err
	})
}

// count returns the number of operators, with a permission if one is given. It includes operators who are disabled. So an operator
// who disables the others is not alone until bursar admin operator remove removes them.
func count(q db.Q, with access.Permission) (n int, err error) {
	all, err := db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT permissions FROM operator`)
	for _, permissions := range all {
		if with == "" || slices.Contains(strings.Fields(permissions), string(with)) {
			n++
		}
	}
	return n, err
}

// recipients returns the addresses that are notified of an operator's action on an approver of a workspace: those of its approvers and of the
// owners of its organization.
func recipients(q db.Q, workspaceID string) (list []string, name string, err error) {
	var organizationID string
	if _, err = q.Row(`SELECT name, organization_id FROM workspace WHERE id = $1`, workspaceID).Scan(&name, &organizationID); err != nil {
		return nil, "", err
	}
	ids, err := db.Collect(q, func(r db.Rows) string { return r.Text(0) },
		`SELECT account_id FROM organization_member WHERE organization_id = $1 AND role = 'owner' ORDER BY account_id LIMIT 100`, organizationID)
	for _, need := range []access.Permission{access.ReceivingApprove, access.PayoutsApprove} {
		var more []string
		if err == nil {
			more, err = access.PeopleWith(q, workspaceID, need)
		}
		ids = append(ids, more...)
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		var u api.User
		if err == nil {
			_, err = q.Row(`SELECT email FROM account WHERE id = $1 AND status = 'active'`, id).Scan(&u.Email)
		}
		if u.Email != "" {
			list = append(list, u.Email)
		}
	}
	return list, name, err
}

// notify mails the approvers and owners of a workspace. A full mail queue is not an error.
func (s *Service) notify(tx *db.Tx, workspaceID string, m mail.OperatorChange) error {
	if !s.mail.Configured() {
		return nil
	}
	list, name, err := recipients(tx.Q, workspaceID)
	m.Workspace = name
	for _, email := range list {
		if m.To = email; err == nil {
			err = s.mail.Queue(tx, mail.Notices, m.Message())
		}
	}
	if errors.Is(err, mail.ErrFull) {
		return nil
	}
	return err
}

package organization

import (
	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/slug"
)

func read(r db.Rows) api.Organization {
	return api.Organization{ID: r.Text(0), Name: r.Text(1), Slug: r.Text(2), RequireSecondFactor: r.Bool(3), AuditRetentionDays: r.Int(4)}
}

// listOf lists the organizations of a user. A member of a workspace also belongs to its organization. A credential that is limited to
// workspaces belongs to the organizations of those.
func listOf(q db.Q, by audit.Actor, after string, take int) ([]api.Organization, error) {
	return db.Collect(q, read, `SELECT id, name, slug, require_second_factor, audit_retention_days FROM organization WHERE id IN (
			SELECT organization_id FROM organization_member WHERE account_id = $1 AND $4 = ''
			UNION
			SELECT organization_id FROM live_member WHERE account_id = $1 AND ($4 = '' OR $4 LIKE '%' || workspace_id || '%')
		) AND id > $2 ORDER BY id LIMIT $3`, by.ID, after, take, by.Scope.WorkspaceList())
}

func find(q db.Q, id string) (api.Organization, error) {
	return one(q.Row(`SELECT id, name, slug, require_second_factor, audit_retention_days FROM organization WHERE id = $1`, id))
}

// lock reads an organization and locks it until the end of the transaction.
func lock(tx *db.Tx, id string) (api.Organization, error) {
	return one(tx.Row(`UPDATE organization SET name = name WHERE id = $1 RETURNING id, name, slug, require_second_factor, audit_retention_days`, id))
}

func one(row db.Row) (api.Organization, error) {
	var o api.Organization
	found, err := row.Scan(&o.ID, &o.Name, &o.Slug, &o.RequireSecondFactor, &o.AuditRetentionDays)
	if err == nil && !found {
		err = fault.Missing("organization")
	}
	return o, err
}

// Insert creates an organization. A given slug must be free; without one, Insert derives a
// free slug from the name.
func Insert(tx *db.Tx, name string, given *string) (api.Organization, error) {
	o := api.Organization{ID: tx.NewID("org"), Name: name}
	try := func(candidate string) (free bool, err error) {
		o.Slug = candidate
		return tx.Row(`INSERT INTO organization (id, name, slug, created_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (slug) DO NOTHING RETURNING id`, o.ID, o.Name, o.Slug, tx.Now()).Scan(new(string))
	}
	err := slug.Choose(given, name, "organization", try)
	return o, err
}

// Found makes a person the first owner of an organization. It becomes their home if they have none.
func Found(tx *db.Tx, organizationID, userID string) error {
	if err := access.SetOwner(tx, organizationID, userID); err != nil {
		return err
	}
	return access.GiveHome(tx, organizationID, userID)
}

func owners(q db.Q, organizationID, after string, take int) ([]api.User, error) {
	return db.Collect(q, func(r db.Rows) api.User { return api.User{ID: r.Text(0), Email: r.Text(1), Name: r.Text(2)} },
		`SELECT a.id, a.email, a.name FROM organization_member m JOIN account a ON a.id = m.account_id
		WHERE m.organization_id = $1 AND m.account_id > $2 AND m.role = 'owner' ORDER BY m.account_id LIMIT $3`, organizationID, after, take)
}

// owner finds an owner and returns their name for the audit log.
func owner(q db.Q, organizationID, userID string) (name string, owns bool, err error) {
	owns, err = q.Row(`SELECT a.email FROM organization_member m JOIN account a ON a.id = m.account_id
		WHERE m.organization_id = $1 AND m.account_id = $2 AND m.role = 'owner'`, organizationID, userID).Scan(&name)
	return name, owns, err
}

// activeMember finds a person who can act in a workspace of the organization. It returns an error if their address is not verified. The
// person who invited them to that workspace may have completed the user, and must not become an owner that way.
func activeMember(q db.Q, organizationID, userID string) (name string, found bool, err error) {
	found, err = q.Row(`SELECT a.email FROM live_member l JOIN account a ON a.id = l.account_id
		WHERE l.account_id = $2 AND l.organization_id = $1 AND a.kind = 'person' AND a.status = 'active' LIMIT 1`, organizationID, userID).Scan(&name)
	if err != nil || !found {
		return name, found, err
	}
	verified, err := access.Knows(q, organizationID, userID)
	if err == nil && !verified {
		err = fault.Invalid("user_id", "is a person who has not verified their email address: a link by mail or from an operator does that")
	}
	return name, found, err
}

// notLastOwner returns an error if no one else can act as an owner. The caller must have locked the organization.
func notLastOwner(q db.Q, organizationID, userID string) error {
	another, err := q.Row(`SELECT a.id FROM organization_member m JOIN account a ON a.id = m.account_id
		WHERE m.organization_id = $1 AND m.account_id <> $2 AND m.role = 'owner' AND a.status = 'active' LIMIT 1`, organizationID, userID).Scan(new(string))
	if err == nil && !another {
		err = fault.New(api.CodeLastOwner, "the last owner of an organization cannot be removed")
	}
	return err
}

func update(tx *db.Tx, o api.Organization) error {
	return tx.Exec(`UPDATE organization SET name = $2, slug = $3, require_second_factor = $4, audit_retention_days = $5 WHERE id = $1`,
		o.ID, o.Name, o.Slug, o.RequireSecondFactor, o.AuditRetentionDays)
}

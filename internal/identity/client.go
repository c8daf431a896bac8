package identity

import (
	"context"

	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// NewClient is a machine client with its secret, which is shown once.
type NewClient struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Secret string `json:"secret"`
}

// ClientInfo is a machine client without its secret.
type ClientInfo struct {
	ID         string
	Name       string
	CreatedAt  int64
	LastUsedAt int64 // 0 if it never was used
}

// CreateClient creates a machine client with one role in a workspace, on an operator's
// behalf. The secret is returned here and never again.
func (s *Service) CreateClient(ctx context.Context, by db.Caller, workspaceID, name, role string) (id, secret string, err error) {
	made, err := createClient(ctx, s.db, by, workspaceID, name, role)
	return made.ID, made.Secret, err
}

func createClient(ctx context.Context, d *db.DB, by db.Caller, workspaceID, name, role string) (NewClient, error) {
	return db.Write(ctx, d, by, func(tx *db.Tx) (NewClient, audit.Event, error) {
		org, found, err := access.LockMembers(tx, workspaceID)
		if err == nil && !found {
			err = fault.Missing("workspace " + workspaceID)
		}
		if err != nil {
			return NewClient{}, audit.Event{}, err
		}
		if _, known, err := access.FindRole(tx.Q, workspaceID, role); err != nil || !known {
			if err == nil {
				err = fault.Invalid("role", "is not a role of the workspace")
			}
			return NewClient{}, audit.Event{}, err
		}
		made := NewClient{ID: tx.NewID("cli"), Name: name, Secret: newSecret(clientSecretPrefix)}
		if err := tx.Exec(`INSERT INTO account (id, kind, email, email_proof, name, status, home_org_id, secret_hash, created_at)
			VALUES ($1, $2, '', '*', $3, $4, $5, $6, $7)`,
			made.ID, kindClient, name, statusActive, org, hashSecret(made.Secret), tx.Now()); err != nil {
			return NewClient{}, audit.Event{}, err
		}
		return made, audit.Event{
			Action:      audit.ClientCreated,
			WorkspaceID: workspaceID,
			ResourceID:  made.ID,
			Description: "Created machine client " + name + " with role " + role,
		}, access.Join(tx, workspaceID, made.ID, role)
	})
}

// RevokeClient disables a machine client for good and ends its sessions, on an
// operator's behalf.
func (s *Service) RevokeClient(ctx context.Context, by db.Caller, id string) error {
	_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (string, audit.Event, error) {
		name, org, err := revokeClient(tx, id)
		return id, audit.Event{
			Action:         audit.ClientRevoked,
			OrganizationID: org,
			ResourceID:     id,
			Description:    "Revoked machine client " + name,
		}, err
	})
	return err
}

func revokeClient(tx *db.Tx, id string) (name, organizationID string, err error) {
	found, err := tx.Row(`UPDATE account SET status = 'disabled' WHERE id = $1 AND kind = 'client' AND status <> 'disabled'
		RETURNING name, home_org_id`, id).Scan(&name, &organizationID)
	if err == nil && !found {
		err = fault.Missing("live client " + id)
	}
	if err != nil {
		return "", "", err
	}
	return name, organizationID, RevokeSessions(tx, id, "")
}

// Clients manages the machine clients of workspaces.
type Clients struct {
	db        *db.DB
	authority *access.Authority
}

// NewClients makes the service.
func NewClients(d *db.DB, a *access.Authority) *Clients { return &Clients{db: d, authority: a} }

// ClientsInput asks for the machine clients of a workspace.
type ClientsInput struct {
	WorkspaceID string `path:"id"`
}

// List returns the live machine clients of a workspace, oldest first.
func (c *Clients) List(ctx context.Context, by db.Caller, in ClientsInput) ([]ClientInfo, error) {
	if err := c.authority.RequireInWorkspace(ctx, by.Actor, in.WorkspaceID, access.KeysRead); err != nil {
		return nil, err
	}
	var list []ClientInfo
	err := c.db.Read(ctx, func(q db.Q) (err error) {
		list, err = db.Collect(q, func(r db.Rows) ClientInfo {
			return ClientInfo{ID: r.Text(0), Name: r.Text(1), CreatedAt: r.Int(2), LastUsedAt: r.Int(3)}
		}, `SELECT a.id, a.name, a.created_at, a.last_used_at FROM workspace_member m JOIN account a ON a.id = m.account_id
			WHERE m.workspace_id = $1 AND a.kind = 'client' AND a.status = 'active' ORDER BY m.account_id`, in.WorkspaceID)
		return err
	})
	return list, err
}

// CreateClientInput describes a new machine client of a workspace.
type CreateClientInput struct {
	WorkspaceID string `path:"id"`
	Name        string `json:"name" required:"true"`
	Role        string `json:"role" required:"true"`
}

// Validate checks the texts without looking at the database.
func (in *CreateClientInput) Validate(v *fault.Violations) {
	web.CheckText(v, "name", in.Name, 1, 100)
	web.CheckText(v, "role", in.Role, 1, 48)
}

// Create creates a machine client with one role. The caller must hold every permission
// of that role.
func (c *Clients) Create(ctx context.Context, by db.Caller, in CreateClientInput) (NewClient, error) {
	if err := c.authority.RequireInWorkspace(ctx, by.Actor, in.WorkspaceID, access.KeysWrite); err != nil {
		return NewClient{}, err
	}
	if err := RequireRecentLogin(by, c.db.Now()); err != nil {
		return NewClient{}, err
	}
	var role access.Role
	err := c.db.Read(ctx, func(q db.Q) (err error) {
		role, _, err = access.FindRole(q, in.WorkspaceID, in.Role)
		return err
	})
	if err == nil {
		err = c.authority.RequireToGrant(ctx, by.Actor, in.WorkspaceID, role.Permissions)
	}
	if err != nil {
		return NewClient{}, err
	}
	return createClient(ctx, c.db, by, in.WorkspaceID, in.Name, in.Role)
}

// ClientInput names a machine client of a workspace.
type ClientInput struct {
	WorkspaceID string `path:"workspace"`
	ID          string `path:"id"`
}

// Rotate gives a machine client a new secret. The old secret and the sessions that it
// began end at once.
func (c *Clients) Rotate(ctx context.Context, by db.Caller, in ClientInput) (NewClient, error) {
	if err := c.authority.RequireInWorkspace(ctx, by.Actor, in.WorkspaceID, access.KeysWrite); err != nil {
		return NewClient{}, err
	}
	if err := RequireRecentLogin(by, c.db.Now()); err != nil {
		return NewClient{}, err
	}
	// Whoever sees the secret can act as the client, so they must hold what it holds.
	held, err := c.authority.Permissions(ctx, audit.Actor{ID: in.ID}, in.WorkspaceID)
	if err != nil {
		return NewClient{}, fault.Instead(err, fault.ResourceNotFound, fault.Missing("client"))
	}
	if err := c.authority.RequireToGrant(ctx, by.Actor, in.WorkspaceID, held); err != nil {
		return NewClient{}, err
	}
	return db.Write(ctx, c.db, by, func(tx *db.Tx) (NewClient, audit.Event, error) {
		next := NewClient{ID: in.ID, Secret: newSecret(clientSecretPrefix)}
		if err := c.requireInWorkspace(tx, in); err != nil {
			return next, audit.Event{}, err
		}
		found, err := tx.Row(`UPDATE account SET secret_hash = $2 WHERE id = $1 AND kind = 'client' AND status = 'active' RETURNING name`,
			in.ID, hashSecret(next.Secret)).Scan(&next.Name)
		if err == nil && !found {
			err = fault.Missing("client")
		}
		if err == nil {
			err = RevokeSessions(tx, in.ID, "")
		}
		return next, clientEvent(audit.ClientRotated, in, "Gave machine client "+next.Name+" a new secret"), err
	})
}

// Revoke disables a machine client for good and ends its sessions.
func (c *Clients) Revoke(ctx context.Context, by db.Caller, in ClientInput) (struct{}, error) {
	if err := c.authority.RequireInWorkspace(ctx, by.Actor, in.WorkspaceID, access.KeysWrite); err != nil {
		return struct{}{}, err
	}
	return db.Write(ctx, c.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		if err := c.requireInWorkspace(tx, in); err != nil {
			return struct{}{}, audit.Event{}, err
		}
		name, _, err := revokeClient(tx, in.ID)
		return struct{}{}, clientEvent(audit.ClientRevoked, in, "Revoked machine client "+name), err
	})
}

// requireInWorkspace returns an error unless the client belongs to the workspace.
func (c *Clients) requireInWorkspace(tx *db.Tx, in ClientInput) error {
	member, err := tx.Row(`SELECT account_id FROM workspace_member WHERE workspace_id = $1 AND account_id = $2`, in.WorkspaceID, in.ID).Scan(new(string))
	if err == nil && !member {
		err = fault.Missing("client")
	}
	return err
}

func clientEvent(action audit.Action, in ClientInput, description string) audit.Event {
	return audit.Event{Action: action, WorkspaceID: in.WorkspaceID, ResourceID: in.ID, Description: description}
}

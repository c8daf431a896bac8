package identity

import (
	"cmp"
	"context"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity/credential"
	"bursar/internal/web"
)

const clientSecretPrefix = "bcs_"

// CreateClient creates a machine client with one role in a workspace, on an operator's behalf. The secret is returned only here.
func (s *Service) CreateClient(ctx context.Context, by db.Caller, workspaceID, name, role string) (id, secret string, err error) {
	return s.CreateLimitedClient(ctx, by, workspaceID, name, role, audit.Scope{})
}

// CreateLimitedClient is CreateClient for a client with a scope.
func (s *Service) CreateLimitedClient(ctx context.Context, by db.Caller, workspaceID, name, role string, scope audit.Scope) (id, secret string, err error) {
	made, err := createClient(ctx, s.db, by, workspaceID, name, role, func(*db.Tx, access.Role) (audit.Scope, error) { return scope, nil })
	return made.ID, made.Secret, err
}

func createClient(ctx context.Context, d *db.DB, by db.Caller, workspaceID, name, role string,
	limit func(tx *db.Tx, role access.Role) (audit.Scope, error)) (api.NewMachineClient, error) {
	return db.Write(ctx, d, by, func(tx *db.Tx) (api.NewMachineClient, audit.Event, error) {
		org, found, err := access.LockMembers(tx, workspaceID)
		if err == nil && !found {
			err = fault.Missing("workspace " + workspaceID)
		}
		if err == nil {
			err = LockCaller(tx, by)
		}
		if err != nil {
			return api.NewMachineClient{}, audit.Event{}, err
		}
		defined, known, err := access.FindRole(tx.Q, workspaceID, role)
		if err != nil || !known {
			if err == nil {
				err = fault.Invalid("role", "is not a role of the workspace")
			}
			return api.NewMachineClient{}, audit.Event{}, err
		}
		scope, err := limit(tx, defined)
		if err != nil {
			return api.NewMachineClient{}, audit.Event{}, err
		}
		made := api.NewMachineClient{ID: tx.NewID("cli"), Name: name, Secret: credential.New(clientSecretPrefix)}
		if err := tx.Exec(`INSERT INTO account (id, kind, email, email_proof, name, status, home_org_id, secret_hash, secret_seen_by, made_by, secret_key_id, created_at, scope)
			VALUES ($1, $2, '', '*', $3, $4, $5, $6, $7, $7, $8, $9, $10)`,
			made.ID, kindClient, name, statusActive, org, credential.Hash(made.Secret), db.NullText(by.ID), db.NullText(by.KeyID), tx.Now(), scope.String()); err != nil {
			return api.NewMachineClient{}, audit.Event{}, err
		}
		if err := noteSecretKey(tx, made.ID, by.KeyID); err != nil {
			return api.NewMachineClient{}, audit.Event{}, err
		}
		event := audit.Event{
			Action:      audit.ClientCreated,
			WorkspaceID: workspaceID,
			ResourceID:  made.ID,
			Description: "Created machine client " + name + " with role " + role,
		}
		event.Changes.Add("name", nil, name)
		event.Changes.Add("roles", nil, role)
		addScope(&event.Changes, scopeWire(scope))
		if err := access.Join(tx, workspaceID, made.ID, role); err != nil {
			return made, event, err
		}
		return made, event, access.NoteOrigin(tx, by.Actor, workspaceID, made.ID)
	})
}

// RevokeClient permanently disables a machine client and ends its sessions, on an operator's behalf.
func (s *Service) RevokeClient(ctx context.Context, by db.Caller, id string) error {
	_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (string, audit.Event, error) {
		name, org, err := revokeClient(tx, id)
		return id, audit.Event{
			Action:         audit.ClientRevoked,
			OrganizationID: org,
			ResourceID:     id,
			Description:    "Revoked machine client " + name,
			Changes:        revoked(),
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
	cursors   *web.Cursors
}

// NewClients returns the service.
func NewClients(d *db.DB, a *access.Authority, c *web.Cursors) *Clients {
	return &Clients{db: d, authority: a, cursors: c}
}

// ClientsInput selects the machine clients of a workspace.
type ClientsInput struct {
	WorkspaceID string `path:"id"`
	web.PageParams
}

// List returns the live machine clients of a workspace, oldest first.
func (c *Clients) List(ctx context.Context, by db.Caller, in ClientsInput) (web.Page[api.MachineClient], error) {
	if err := c.authority.RequireInWorkspace(ctx, by.Actor, in.WorkspaceID, access.KeysRead); err != nil {
		return web.Page[api.MachineClient]{}, err
	}
	return web.ReadUnpaged(ctx, c.db, c.cursors, in.PageParams, func(m api.MachineClient) string { return m.ID },
		func(q db.Q, after string, take int) ([]api.MachineClient, error) {
			return clientsOf(q, in.WorkspaceID, after, take)
		}, "clients", in.WorkspaceID)
}

func clientsOf(q db.Q, workspaceID, after string, take int) ([]api.MachineClient, error) {
	var scopes []audit.Scope
	var malformed error
	list, err := db.Collect(q, func(r db.Rows) api.MachineClient {
		scope, err := clientScope(r.Text(7), r.Text(8), !r.Null(9))
		if err != nil {
			malformed = err
		}
		scopes = append(scopes, scope)
		shown := scopeWire(scope)
		m := api.MachineClient{ID: r.Text(0), Name: r.Text(1), Roles: []string{}, CreatedAt: r.Int(2), LastUsedAt: r.Int(3),
			WorkspaceIDs: shown.WorkspaceIDs, Mode: shown.Mode, Administer: shown.Administer, SecretEnded: r.Bool(10)}
		if !r.Null(4) {
			m.SecretSeenBy = &api.User{ID: r.Text(4), Email: r.Text(5), Name: r.Text(6)}
		}
		return m
	}, `SELECT a.id, a.name, a.created_at, a.last_used_at, s.id, s.email, s.name, a.scope, k.scope, k.id, a.secret_hash IS NULL
		FROM workspace_member m JOIN account a ON a.id = m.account_id
		LEFT JOIN account s ON s.id = a.secret_seen_by LEFT JOIN api_key k ON k.id = a.secret_key_id
		WHERE m.workspace_id = $1 AND m.account_id > $2 AND a.kind = 'client' AND a.status = 'active' ORDER BY m.account_id LIMIT $3`,
		workspaceID, after, take)
	for i := range list {
		roles, failed := access.RolesOf(q, workspaceID, list[i].ID)
		if failed != nil {
			return nil, failed
		}
		var held access.Set
		for _, role := range roles {
			list[i].Roles = append(list[i].Roles, role.Key)
			held |= role.Permissions
		}
		list[i].Permissions = access.Within(scopes[i], held.OfMachine()).Names()
	}
	return list, cmp.Or(err, malformed)
}

// clientScope returns the scope of a machine client. If its secret was created with a key, the scope is within that of the key.
func clientScope(own, ofKey string, byKey bool) (audit.Scope, error) {
	s, err := audit.ParseScope(own)
	if err != nil || !byKey {
		return s, err
	}
	limit, err := audit.ParseScope(ofKey)
	return s.Within(limit), err
}

// CreateClientInput describes a new machine client of a workspace.
type CreateClientInput struct {
	WorkspaceID string `path:"id"`
	Name        string `json:"name" required:"true"`
	Role        string `json:"role" required:"true"`
	api.ScopeRequest
}

// Validate checks the texts without reading the database.
func (in *CreateClientInput) Validate(v *fault.Violations) {
	web.CheckText(v, "name", in.Name, 1, 100)
	web.CheckText(v, "role", in.Role, 1, 48)
	checkScope(v, in.ScopeRequest)
}

// Create creates a machine client with one role. The caller must hold every permission
// of that role.
func (c *Clients) Create(ctx context.Context, by db.Caller, in CreateClientInput) (api.NewMachineClient, error) {
	if err := c.authority.RequireInWorkspace(ctx, by.Actor, in.WorkspaceID, access.KeysWrite); err != nil {
		return api.NewMachineClient{}, err
	}
	if err := access.RequireAdministration(by.Actor, c.db.Now()); err != nil {
		return api.NewMachineClient{}, err
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
		return api.NewMachineClient{}, err
	}
	return createClient(ctx, c.db, by, in.WorkspaceID, in.Name, in.Role, func(tx *db.Tx, role access.Role) (audit.Scope, error) {
		if err := mayGive(tx, by, in.WorkspaceID, role.Permissions); err != nil {
			return audit.Scope{}, err
		}
		return scopeWithin(tx.Q, by.Actor, in.ScopeRequest)
	})
}

// mayGive returns an error unless the caller may still create clients with the given permissions. The members are locked.
func mayGive(tx *db.Tx, by db.Caller, workspaceID string, given access.Set) error {
	held, err := HeldNow(tx, by, workspaceID, access.KeysWrite)
	if err != nil {
		return err
	}
	return access.RequireToGive(held, given, workspaceID)
}

// ClientInput identifies a machine client of a workspace.
type ClientInput struct {
	WorkspaceID string `path:"id"`
	ID          string `path:"clientId"`
}

// Rotate gives a machine client a new secret. The old secret and its sessions end at once. If the caller's session depends on a key, so
// does the new secret: it works only from the key's networks, and ends with the key.
func (c *Clients) Rotate(ctx context.Context, by db.Caller, in ClientInput) (api.NewMachineClient, error) {
	if err := c.authority.RequireInWorkspace(ctx, by.Actor, in.WorkspaceID, access.KeysWrite); err != nil {
		return api.NewMachineClient{}, err
	}
	if err := access.RequireAdministration(by.Actor, c.db.Now()); err != nil {
		return api.NewMachineClient{}, err
	}
	// The new secret lets the caller act as the client, so they must hold all of its permissions.
	held, err := c.authority.Permissions(ctx, audit.Actor{ID: in.ID}, in.WorkspaceID)
	if err != nil {
		return api.NewMachineClient{}, fault.Replace(err, api.CodeNotFound, fault.Missing("client"))
	}
	if err := c.authority.RequireToGrant(ctx, by.Actor, in.WorkspaceID, held); err != nil {
		return api.NewMachineClient{}, err
	}
	return db.Write(ctx, c.db, by, func(tx *db.Tx) (api.NewMachineClient, audit.Event, error) {
		next := api.NewMachineClient{ID: in.ID, Secret: credential.New(clientSecretPrefix)}
		if _, _, err := access.LockMembers(tx, in.WorkspaceID); err != nil {
			return next, audit.Event{}, err
		}
		if err := c.requireInWorkspace(tx, in); err != nil {
			return next, audit.Event{}, err
		}
		held, err := access.HeldBy(tx.Q, in.WorkspaceID, in.ID) // they may have increased
		if err == nil {
			err = mayGive(tx, by, in.WorkspaceID, held)
		}
		if err != nil {
			return next, audit.Event{}, err
		}
		var stored string
		found, err := tx.Row(`UPDATE account SET secret_hash = $2, secret_seen_by = $3, secret_key_id = $4
			WHERE id = $1 AND kind = 'client' AND status = 'active' RETURNING name, scope`,
			in.ID, credential.Hash(next.Secret), by.ID, db.NullText(by.KeyID)).Scan(&next.Name, &stored)
		if err == nil && !found {
			err = fault.Missing("client")
		}
		if err == nil {
			err = requireCommonMode(stored, by.Actor)
		}
		if err == nil {
			err = noteSecretKey(tx, in.ID, by.KeyID)
		}
		if err == nil {
			err = access.DelayClient(tx, in.WorkspaceID, in.ID)
		}
		if err == nil {
			err = RevokeSessions(tx, in.ID, "")
		}
		event := clientEvent(audit.ClientRotated, in, "Gave machine client "+next.Name+" a new secret")
		event.Changes.AddSecret("secret")
		return next, event, err
	})
}

// requireCommonMode returns an error if the scopes of the caller and of a client have no mode in common. With the new secret the client
// could do nothing.
func requireCommonMode(stored string, by audit.Actor) error {
	scope, err := audit.ParseScope(stored)
	if both := scope.Within(by.Scope); err == nil && !both.InMode(audit.SandboxMode) && !both.InMode(audit.LiveMode) {
		err = fault.New(api.CodeForbidden, "the client is good for another mode than the API key that you are logged in with")
	}
	return err
}

// Revoke permanently disables a machine client and ends its sessions.
func (c *Clients) Revoke(ctx context.Context, by db.Caller, in ClientInput) (struct{}, error) {
	if err := c.authority.RequireInWorkspace(ctx, by.Actor, in.WorkspaceID, access.KeysWrite); err != nil {
		return struct{}{}, err
	}
	return db.Write(ctx, c.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		if err := c.requireInWorkspace(tx, in); err != nil {
			return struct{}{}, audit.Event{}, err
		}
		name, _, err := revokeClient(tx, in.ID)
		event := clientEvent(audit.ClientRevoked, in, "Revoked machine client "+name)
		event.Changes = revoked()
		return struct{}{}, event, err
	})
}

// noteSecretKey stores the API key with which a secret of a machine client was created. The record stays when the secret is replaced.
func noteSecretKey(tx *db.Tx, clientID, keyID string) error {
	if keyID == "" {
		return nil
	}
	return tx.Exec(`INSERT INTO client_secret_key (key_id, client_id) VALUES ($1, $2) ON CONFLICT (key_id, client_id) DO NOTHING`, keyID, clientID)
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

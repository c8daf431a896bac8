package identity

import (
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
)

// KnownClient is a live machine client that a person created, or whose present secret they were shown.
type KnownClient struct {
	api.LeaverClient
	Shown bool // they know the present secret
	Made  bool
}

// ClientsKnownTo lists the live machine clients of an organization's workspaces that a person created or whose secret they know.
func ClientsKnownTo(q db.Q, organizationID, userID string) (list []KnownClient, err error) {
	ids, err := db.Collect(q, func(r db.Rows) string { return r.Text(0) },
		`SELECT id FROM account WHERE secret_seen_by = $1 UNION SELECT id FROM account WHERE made_by = $1 ORDER BY id`, userID)
	for _, id := range ids {
		if err != nil {
			break
		}
		err = q.Each(func(r db.Rows) error {
			c := KnownClient{Shown: r.Text(3) == userID && !r.Null(5), Made: r.Text(4) == userID}
			c.WorkspaceID, c.WorkspaceName, c.ID, c.Name = r.Text(0), r.Text(1), id, r.Text(2)
			list = append(list, c)
			return nil
		}, `SELECT w.id, w.name, a.name, a.secret_seen_by, a.made_by, a.secret_hash FROM account a
			JOIN workspace_member m ON m.account_id = a.id JOIN workspace w ON w.id = m.workspace_id
			WHERE a.id = $1 AND a.kind = 'client' AND a.status = 'active' AND w.organization_id = $2`, id, organizationID)
	}
	return list, err
}

// EndSecret ends the secret of a machine client and the sessions that began with it. The client gets no new session until a person rotates
// it.
func EndSecret(tx *db.Tx, by string, c KnownClient) (audit.Event, error) {
	if err := tx.Exec(`UPDATE account SET secret_hash = NULL WHERE id = $1`, c.ID); err != nil {
		return audit.Event{}, err
	}
	event := clientEvent(audit.ClientSecretEnded, ClientInput{WorkspaceID: c.WorkspaceID, ID: c.ID},
		"Ended the secret of machine client "+c.Name+", which "+by+" knew")
	event.Changes.AddSecret("secret")
	return event, RevokeSessions(tx, c.ID, "")
}

// KeysWithin lists the live API keys of a user that are limited to workspaces of an organization.
func KeysWithin(q db.Q, organizationID, userID string, now int64) (within []api.LeaverKey, err error) {
	type limited struct {
		api.LeaverKey
		scope string
	}
	keys, err := db.Collect(q, func(r db.Rows) limited { return limited{api.LeaverKey{ID: r.Text(0), Name: r.Text(1)}, r.Text(2)} },
		`SELECT id, name, scope FROM api_key WHERE account_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2) AND scope <> '' ORDER BY id`,
		userID, now)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	own, err := db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT id FROM workspace WHERE organization_id = $1`, organizationID)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		scope, err := audit.ParseScope(k.scope)
		if err != nil {
			return nil, err
		}
		foreign := func(id string) bool { return !slices.Contains(own, id) }
		if len(scope.WorkspaceIDs) > 0 && !slices.ContainsFunc(scope.WorkspaceIDs, foreign) {
			within = append(within, k.LeaverKey)
		}
	}
	return within, nil
}

// RevokeFor revokes a key that is limited to one organization, on behalf of an owner of that organization. Invitations created with the key
// end with those of the user.
func RevokeFor(tx *db.Tx, organizationID, userID string, k api.LeaverKey) (event audit.Event, revoked bool, err error) {
	live, err := tx.Row(`SELECT id FROM api_key WHERE id = $1 AND revoked_at IS NULL`, k.ID).Scan(new(string))
	if err != nil || !live {
		return event, false, err // ended with another key
	}
	if err = LockUser(tx, userID); err == nil {
		err = endKeys(tx, k.ID)
	}
	if err != nil {
		return event, false, err
	}
	event = keyRevoked(k.ID, k.Name)
	event.OrganizationID = organizationID
	return event, true, nil
}

// InvitationsBy lists the invitations to workspaces of an organization that a person sent last and that were not accepted.
func InvitationsBy(q db.Q, organizationID, userID string) (list []SentInvitation, err error) {
	type invited struct{ workspaceID, userID string }
	open, err := db.Collect(q, func(r db.Rows) invited { return invited{r.Text(0), r.Text(1)} },
		`SELECT workspace_id, account_id FROM account_link WHERE made_by_id = $1 AND used_at IS NULL AND workspace_id IS NOT NULL
			UNION SELECT m.workspace_id, m.account_id FROM workspace w JOIN workspace_member m ON m.workspace_id = w.id
			WHERE w.organization_id = $2 AND m.accepted = FALSE AND m.given_by = $1 ORDER BY 1, 2`, userID, organizationID)
	for _, one := range open {
		if err != nil {
			break
		}
		i := SentInvitation{UserID: one.userID}
		i.WorkspaceID = one.workspaceID
		var found bool
		found, err = q.Row(`SELECT w.name, m.invitation_id, a.email FROM workspace_member m
			JOIN workspace w ON w.id = m.workspace_id JOIN account a ON a.id = m.account_id
			WHERE m.workspace_id = $1 AND m.account_id = $2 AND m.accepted = FALSE AND w.organization_id = $3`, one.workspaceID, one.userID, organizationID).
			Scan(&i.WorkspaceName, &i.ID, &i.Email)
		if found {
			list = append(list, i)
		}
	}
	return list, err
}

// SentInvitation is an invitation, and the user that it is for.
type SentInvitation struct {
	api.LeaverInvitation
	UserID string
}

// Void voids the invitation.
func (i SentInvitation) Void(tx *db.Tx, by string) (audit.Event, error) {
	if err := access.RemoveInvitation(tx, i.WorkspaceID, i.UserID); err != nil {
		return audit.Event{}, err
	}
	event := audit.Event{Action: audit.MemberRemoved, WorkspaceID: i.WorkspaceID, ResourceID: i.ID, Description: "Withdrew the invitation of " + i.Email + ", which " + by + " had made"}
	event.Changes.Add("status", "invited", nil)
	return event, EndLinks(tx, i.UserID, i.WorkspaceID)
}

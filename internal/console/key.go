package console

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/identity"
)

func (c *Console) keyRoutes() []Route {
	newKey := func(v *visit) string { return v.path("keys", "new") }
	newClient := func(v *visit) string { return v.path("clients", "new") }
	rotation := func(v *visit) string { return v.path("keys", v.R.PathValue("id"), "rotate") }
	list := func(v *visit) string { return v.path("keys") }
	return []Route{
		c.getIn("/keys", c.keysPage),
		c.getIn("/keys/new", c.recentForm(newKey, c.newKeyPage)),
		c.postIn("/keys", audit.KeyCreated, c.recentForm(newKey, c.createKey)),
		c.getIn("/keys/{id}/rotate", c.recentForm(rotation, c.rotateKeyPage)),
		c.postIn("/keys/{id}/rotate", audit.KeyRotated, c.recentForm(rotation, c.rotateKey)),
		c.postIn("/keys/{id}/revoke", audit.KeyRevoked, c.revokeKey),
		c.getIn("/clients/new", c.recentForm(newClient, c.newClientPage)),
		c.postIn("/clients", audit.ClientCreated, c.recentForm(newClient, c.createClient)),
		c.postIn("/clients/{id}/rotate", audit.ClientRotated, c.recentForm(list, c.rotateClient)),
		c.postIn("/clients/{id}/revoke", audit.ClientRevoked, c.revokeClient),
	}
}

// keyIdle is how long a key may stay unused before the page marks it.
const keyIdle = 45 * 24 * time.Hour

// keysPage lists the visitor's own API keys and the workspace's machine clients.
type keysPage struct {
	Keys    []keyRow
	Clients []clientRow
	// Try is a command that uses a new secret. The secret comes from the message that shows it once.
	Try tryLine
}

// tryLine is a command line with a secret in its middle.
type tryLine struct{ Before, After string }

// keyRow is an API key and its state.
type keyRow struct {
	api.APIKey
	Limits []string // in words
	Idle   bool
	Ended  bool
	Made   bool // created just now
}

// clientRow is a machine client and its state.
type clientRow struct {
	api.MachineClient
	Roles  []api.Role
	Limits []string // in words, without those of permissions
	Masked bool     // its roles grant more than a machine client can hold
	Leaver string   // a former member who knows its secret, or empty
	Idle   bool
	Made   bool // created, or given a new secret, just now
}

// Can describes the permissions that the key is limited to. It is empty if there is no such limit.
func (r keyRow) Can() string { return describe(permissionSet(r.Permissions)) }

// Can describes the permissions of the machine client in words.
func (r clientRow) Can() string { return describe(permissionSet(r.Permissions)) }

func (c *Console) keysPage(v *visit) error {
	var data keysPage
	keys, err := v.keys()
	if err != nil {
		return err
	}
	now, made := c.endpoints.DB.Now(), v.R.URL.Query().Get("made")
	address := strings.TrimRight(c.config.PublicURL, "/") + "/v1/auth/token"
	for _, k := range keys {
		row := keyRow{APIKey: k, Limits: v.limits(k.Scope), Ended: k.ExpiresAt != 0 && k.ExpiresAt <= now, Made: k.ID == made}
		row.Idle = !row.Ended && idle(now, k.CreatedAt, k.LastUsedAt)
		data.Keys = append(data.Keys, row)
		if row.Made {
			data.Try = tryLine{"curl -X POST " + address + " -H 'Authorization: Bearer ", "'"}
		}
	}
	if !v.can(access.KeysRead) {
		return v.show("keys", "Keys", data)
	}
	if data.Clients, err = v.clientRows(now, made); err != nil {
		return err
	}
	for _, row := range data.Clients {
		if row.Made {
			data.Try = tryLine{"curl -X POST " + address + " -u '" + row.ID + ":", "'"}
		}
	}
	return v.show("keys", "Keys", data)
}

// keys returns the visitor's own API keys.
func (v *visit) keys() ([]api.APIKey, error) {
	list, err := read(v, v.console.Identity.APIKeys, identity.KeysInput{})
	return list.Rows(), err
}

func idle(now, createdAt, lastUsedAt int64) bool {
	return now-max(createdAt, lastUsedAt) > keyIdle.Milliseconds()
}

func (v *visit) clientRows(now int64, made string) ([]clientRow, error) {
	clients, err := v.clients()
	if err != nil {
		return nil, err
	}
	held, err := v.rolesOfMembers()
	if err != nil {
		return nil, err
	}
	var rows []clientRow
	for _, client := range clients {
		row := clientRow{MachineClient: client, Roles: held[client.ID], Idle: idle(now, client.CreatedAt, client.LastUsedAt), Made: client.ID == made}
		row.Limits = v.limits(api.Scope{WorkspaceIDs: client.WorkspaceIDs, Mode: client.Mode, Administer: client.Administer})
		for _, role := range row.Roles {
			set := permissionSet(role.Permissions)
			row.Masked = row.Masked || set != set.OfMachine()
		}
		if knower := client.SecretSeenBy; knower != nil && held != nil {
			if _, member := held[knower.ID]; !member {
				row.Leaver = cmp.Or(knower.Name, knower.Email, knower.ID)
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// clients returns the machine clients of the workspace.
func (v *visit) clients() ([]api.MachineClient, error) {
	list, err := read(v, v.console.Clients.List, identity.ClientsInput{WorkspaceID: v.workspace.ID})
	return list.Rows(), err
}

// rolesOfMembers returns the roles of each member, or nil if the visitor may not see them.
func (v *visit) rolesOfMembers() (map[string][]api.Role, error) {
	if !v.can(access.MembersRead) {
		return nil, nil
	}
	members, err := v.members()
	if err != nil {
		return nil, err
	}
	roles, err := v.roles()
	if err != nil {
		return nil, err
	}
	held := map[string][]api.Role{}
	for _, m := range members {
		held[m.ID] = nil
		for _, key := range m.Roles {
			held[m.ID] = append(held[m.ID], roleCalled(roles, key))
		}
	}
	return held, nil
}

// liveKey finds one of the visitor's keys that has not expired.
func (v *visit) liveKey(id string) (api.APIKey, error) {
	keys, err := v.keys()
	if err != nil {
		return api.APIKey{}, err
	}
	i := slices.IndexFunc(keys, func(k api.APIKey) bool { return k.ID == id })
	if i < 0 || keys[i].ExpiresAt != 0 && keys[i].ExpiresAt <= v.console.endpoints.DB.Now() {
		return api.APIKey{}, errNoPage
	}
	return keys[i], nil
}

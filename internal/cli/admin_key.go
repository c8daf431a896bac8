package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/web"
)

func newKeyCreate(t Terminal) *cobra.Command {
	var email, name string
	var expires time.Duration
	var scope scopeFlags
	var noAdminister bool
	c := adminCommand{
		use: "create", short: "Create an API key for a user",
		long: `Create an API key for a user. The key is shown once. It also completes the
account of an invited user.

The key administers: it can make what outlives it, such as members and further
keys. --no-administer takes that away. --permission, --workspace and --mode
limit what else it is good for. What a key is good for never changes.`,
		example: `  bursar admin api-key create --user grace@example.com --name laptop --expires-in 2160h
  bursar admin api-key create --user grace@example.com --name reports --mode live --permission ws.payouts.read --no-administer`,
		required: []string{"user", "name"},
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			var v fault.Violations
			web.CheckText(&v, "name", name, 1, 100)
			if expires < 0 {
				v.Add("expires-in", "must not be negative")
			}
			if err := v.Err(); err != nil {
				return nil, "", err
			}
			if err := scope.check(); err != nil {
				return nil, "", err
			}
			scope.administer = !noAdminister
			key := identity.NewKey{Name: name, Scope: scope.scope()}
			if expires > 0 {
				key.ExpiresAt = time.Now().Add(expires).UnixMilli()
			}
			keyID, secret, err := s.CreateKeyFor(c.Context(), operator(), email, key)
			return map[string]string{"id": keyID, "api_key": secret}, "Key      " + keyID + "\nAPI key  " + secret + "\n\nThe key is shown once. Store it safely.", err
		},
	}.command(t)
	c.Flags().StringVar(&email, "user", "", "email address of the user")
	c.Flags().StringVar(&name, "name", "", "name of the key")
	c.Flags().DurationVar(&expires, "expires-in", 0, "lifetime of the key, such as 2160h; without it the key does not expire")
	scope.bind(c)
	scope.bindWorkspaces(c, "id of a workspace of the user")
	c.Flags().BoolVar(&noAdminister, "no-administer", false, "do not allow it to make what outlives it, such as members and keys")
	return c
}

func newKeyRevoke(t Terminal) *cobra.Command {
	var key string
	var compromised bool
	c := adminCommand{
		use: "revoke [ID]", short: "Revoke an API key and end its sessions",
		long: `Revoke an API key and end its sessions. If you only have a leaked key, pass
the key itself in place of its id. Pass - to read it from standard input,
which keeps it out of your shell history. If someone else may have used the
key, --compromised also suspends the owners, members, roles and machine
clients that were added with it, until an owner or an admin confirms or
removes them.`,
		example: `  bursar admin api-key revoke key_01jd2m8k3vq7w5x9y0z1a2b3c4
  bursar admin api-key revoke - < leaked-key.txt`,
		required: []string{"id"}, argument: "id",
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			if key == "-" {
				text, err := io.ReadAll(io.LimitReader(t.In, 1024))
				if err != nil {
					return nil, "", fmt.Errorf("read the key: %w", err)
				}
				key = strings.TrimSpace(string(text))
			}
			revoke := s.RevokeAnyKey
			if compromised {
				revoke = s.RevokeAnyCompromisedKey
			}
			keyID, err := revoke(c.Context(), operator(), key)
			return map[string]any{"id": keyID, "revoked": true}, "Key " + keyID + " is revoked", err
		},
	}.command(t)
	c.Flags().StringVar(&key, "id", "", "id of the key (key_…), the key itself, or - to read it from standard input")
	c.Flags().BoolVar(&compromised, "compromised", false, "suspend what was added with the key")
	return c
}

func newClientCreate(t Terminal) *cobra.Command {
	var workspace, name, role string
	var scope scopeFlags
	c := adminCommand{
		use: "create", short: "Create a machine client of a workspace",
		long: `Create a machine client, which has one role in one workspace. It exchanges its
id and secret for a session token at POST /v1/auth/token with Authorization:
Basic. The secret is shown once. --permission and --mode limit what it is good
for within its role.`,
		example:  `  bursar admin client create --workspace ws_01jd2m8k3vq7w5x9y0z1a2b3c4 --name payroll --json`,
		required: []string{"workspace", "name", "role"},
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			var v fault.Violations
			web.CheckText(&v, "name", name, 1, 100)
			if err := v.Err(); err != nil {
				return nil, "", err
			}
			if err := scope.check(); err != nil {
				return nil, "", err
			}
			client, secret, err := s.CreateLimitedClient(c.Context(), operator(), workspace, name, role, scope.scope())
			return map[string]string{"client_id": client, "client_secret": secret},
				"Client id      " + client + "\nClient secret  " + secret + "\n\nThe secret is shown once. Store it safely.", err
		},
	}.command(t)
	c.Flags().StringVar(&workspace, "workspace", "", "id of the workspace (ws_…)")
	c.Flags().StringVar(&name, "name", "", "name of the client")
	c.Flags().StringVar(&role, "role", "member", "key of the client's role")
	scope.bind(c)
	c.Flags().BoolVar(&scope.administer, "administer", false, "allow it to make what outlives it, as far as its role goes")
	return c
}

func newClientRevoke(t Terminal) *cobra.Command {
	var client string
	c := adminCommand{
		use: "revoke [ID]", short: "Revoke a machine client and end its sessions",
		example:  `  bursar admin client revoke cli_01jd2m8k3vq7w5x9y0z1a2b3c4`,
		required: []string{"id"}, argument: "id",
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			return map[string]any{"client_id": client, "revoked": true}, "Client " + client + " is revoked", s.RevokeClient(c.Context(), operator(), client)
		},
	}.command(t)
	c.Flags().StringVar(&client, "id", "", "id of the client (cli_…)")
	return c
}

func newKeysRotate(t Terminal) *cobra.Command {
	var revoke bool
	c := adminCommand{
		use: "rotate", short: "Create a new signing key",
		long: `Create a new signing key, which signs session tokens from now on. Tokens that
were signed with earlier keys stay valid until they expire. If an earlier key
has leaked, --revoke makes its tokens bad at once: programs with an API key
get a new token by themselves, people log in again. Sessions of browsers go
on.`,
		example: `  bursar admin keys rotate
  bursar admin keys rotate --revoke`,
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			key, err := s.Tokens().Rotate(c.Context(), operator(), revoke)
			text := "Signing key " + key
			if revoke {
				text += "\nThe earlier keys are revoked, and their tokens are bad from now on."
			}
			return map[string]string{"key_id": key}, text, err
		},
	}.command(t)
	c.Flags().BoolVar(&revoke, "revoke", false, "revoke the earlier keys: tokens that they signed are bad at once")
	return c
}

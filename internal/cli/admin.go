package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bursar/internal/cli/term"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/signin"
	"bursar/internal/web"
)

func newAdmin(t Terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "admin",
		Short: "Administer a store directly",
		Long: `Administer a store directly, for operators. The commands work on the store
itself, also while servers run on it, which notice within a second. What they
change is audited with the system as actor.`,
		Example: `  bursar admin user create --email grace@example.com --name "Grace Hopper"
  bursar admin api-key create --user grace@example.com --name laptop`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		group("user", "Users of the store", newUserCreate(t), newUserSwitch(t, "disable", "Turn a user's access off and end their sessions", (*identity.Service).DisableUser),
			newUserSwitch(t, "enable", "Turn a disabled user's access on again", (*identity.Service).EnableUser),
			newUserLink(t), newUserReset(t)),
		group("api-key", "API keys of users", newKeyCreate(t), newKeyRevoke(t)),
		group("client", "Machine clients of workspaces", newClientCreate(t), newClientRevoke(t)),
		group("keys", "Signing keys of session tokens", newKeysRotate(t)),
	)
	return c
}

func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Example: commands[0].Example, Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(commands...)
	return c
}

// opened is a store that a task works on.
type opened struct {
	*identity.Service
	db *db.DB
}

// task is a command that works on a store.
type task struct {
	use, short, long, example string
	needs                     []string // flags
	argument                  string   // the flag that may be given without its name
	run                       func(c *cobra.Command, id opened) (result any, text string, err error)
}

func (k task) command(t Terminal) *cobra.Command {
	var store config.Store
	var asJSON bool
	c := &cobra.Command{
		Use: k.use, Short: k.short, Long: k.long, Example: k.example, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if err := config.FromEnvironment(c.Flags(), t.Env); err != nil {
				return term.Usage(err)
			}
			if len(args) > 0 {
				if err := c.Flags().Set(k.argument, args[0]); err != nil {
					return term.Usage(err)
				}
			}
			if err := require(c, k.needs...); err != nil {
				return err
			}
			if err := store.Missing(); err != nil {
				return err
			}
			return withStore(c.Context(), store, func(d *db.DB, id *identity.Service) error {
				result, text, err := k.run(c, opened{id, d})
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(t.Out, result)
				}
				_, err = fmt.Fprintln(t.Out, text)
				return err
			})
		},
	}
	if k.argument != "" {
		c.Args = cobra.MaximumNArgs(1)
	}
	store.BindStore(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return c
}

func newUserCreate(t Terminal) *cobra.Command {
	var email, name string
	c := task{
		use: "create", short: "Create a user, or complete an invited one",
		example: `  bursar admin user create --email grace@example.com --name "Grace Hopper" --json`,
		needs:   []string{"email", "name"},
		run: func(c *cobra.Command, id opened) (any, string, error) {
			var v fault.Violations
			web.CheckEmail(&v, "email", email)
			web.CheckText(&v, "name", name, 1, 100)
			if err := v.Err(); err != nil {
				return nil, "", err
			}
			user, err := id.CreateUser(c.Context(), operator(), email, name)
			return map[string]string{"user_id": user}, "User " + user, err
		},
	}.command(t)
	c.Flags().StringVar(&email, "email", "", "email address")
	c.Flags().StringVar(&name, "name", "", "name")
	return c
}

func newUserSwitch(t Terminal, verb, short string,
	turn func(id *identity.Service, ctx context.Context, by db.Caller, email string) (string, error)) *cobra.Command {
	var email string
	c := task{
		use: verb, short: short,
		example: "  bursar admin user " + verb + " --email grace@example.com",
		needs:   []string{"email"},
		run: func(c *cobra.Command, id opened) (any, string, error) {
			user, err := turn(id.Service, c.Context(), operator(), email)
			return map[string]string{"user_id": user}, "User " + user + " is " + verb + "d", err
		},
	}.command(t)
	c.Flags().StringVar(&email, "email", "", "email address of the user")
	return c
}

func newUserLink(t Terminal) *cobra.Command {
	var email, publicURL string
	c := task{
		use: "link", short: "Make a link by which a user sets up how they sign in",
		long: `Make a link by which a user chooses a password or adds a passkey, for somebody who
cannot sign in to the console yet or no longer. It is good once, for a day, and
shown once. A second factor that they have stays; see 'bursar admin user reset'.`,
		example: `  bursar admin user link --email grace@example.com --public-url https://pay.example.com`,
		needs:   []string{"email", "public-url"},
		run: func(c *cobra.Command, id opened) (any, string, error) {
			address, err := config.PublicURL(publicURL)
			if err != nil {
				return nil, "", term.Usage(err)
			}
			link, err := id.CreateLink(c.Context(), operator(), identity.NewLinks(address, nil), email)
			return linkResult(link, err)
		},
	}.command(t)
	c.Flags().StringVar(&email, "email", "", "email address of the user")
	bindPublicURL(c, &publicURL)
	return c
}

func newUserReset(t Terminal) *cobra.Command {
	var email, publicURL string
	var keysToo bool
	c := task{
		use: "reset", short: "Take all ways to sign in from a user and make a link to begin anew",
		long: `Take the password, the passkeys and the second factor from a user, end all their
sessions, and make a link by which they begin anew: for somebody who has lost a
device, or whose account somebody else got into. Their API keys stay, unless
--revoke-keys says otherwise.`,
		example: `  bursar admin user reset --email grace@example.com --public-url https://pay.example.com`,
		needs:   []string{"email", "public-url"},
		run: func(c *cobra.Command, id opened) (any, string, error) {
			address, err := config.PublicURL(publicURL)
			if err != nil {
				return nil, "", term.Usage(err)
			}
			people, err := signin.New(id.db, identity.NewLinks(address, nil), signin.Config{PublicURL: address})
			if err != nil {
				return nil, "", err
			}
			link, err := people.Reset(c.Context(), operator(), email, keysToo)
			return linkResult(link, err)
		},
	}.command(t)
	c.Flags().StringVar(&email, "email", "", "email address of the user")
	c.Flags().BoolVar(&keysToo, "revoke-keys", false, "revoke the user's API keys as well")
	bindPublicURL(c, &publicURL)
	return c
}

func bindPublicURL(c *cobra.Command, address *string) {
	c.Flags().StringVar(address, "public-url", "http://127.0.0.1:8080", "address of the server, which the link leads to [BURSAR_PUBLIC_URL]")
}

func linkResult(link identity.Link, err error) (any, string, error) {
	return map[string]any{"link": link.URL, "expires_at": link.ExpiresAt},
		"Link  " + link.URL + "\n\nThe link is good once, for a day. Whoever has it gets into the account.", err
}

func newKeyCreate(t Terminal) *cobra.Command {
	var email, name string
	var expires time.Duration
	c := task{
		use: "create", short: "Create an API key for a user",
		long: `Create an API key for a user. The key is shown once. The account of an invited
user is complete with it.`,
		example: `  bursar admin api-key create --user grace@example.com --name laptop --expires-in 2160h`,
		needs:   []string{"user", "name"},
		run: func(c *cobra.Command, id opened) (any, string, error) {
			var v fault.Violations
			web.CheckText(&v, "name", name, 1, 100)
			if expires < 0 {
				v.Add("expires-in", "must not be negative")
			}
			if err := v.Err(); err != nil {
				return nil, "", err
			}
			key := identity.NewKey{Name: name}
			if expires > 0 {
				key.ExpiresAt = time.Now().Add(expires).UnixMilli()
			}
			keyID, secret, err := id.CreateKeyFor(c.Context(), operator(), email, key)
			return map[string]string{"id": keyID, "api_key": secret}, "Key      " + keyID + "\nAPI key  " + secret + "\n\nThe key is shown once. Keep it safe.", err
		},
	}.command(t)
	c.Flags().StringVar(&email, "user", "", "email address of the user")
	c.Flags().StringVar(&name, "name", "", "name of the key")
	c.Flags().DurationVar(&expires, "expires-in", 0, "lifetime of the key, as 2160h; without it the key does not expire")
	return c
}

func newKeyRevoke(t Terminal) *cobra.Command {
	var key string
	c := task{
		use: "revoke [ID]", short: "Revoke an API key and end its sessions",
		long: `Revoke an API key and end its sessions. A key that has leaked can be given itself
in place of its id; - reads it from standard input, which keeps it out of the
history of the shell.`,
		example: `  bursar admin api-key revoke key_01jd2m8k3vq7w5x9y0z1a2b3c4
  bursar admin api-key revoke - < leaked-key.txt`,
		needs: []string{"id"}, argument: "id",
		run: func(c *cobra.Command, id opened) (any, string, error) {
			if key == "-" {
				text, err := io.ReadAll(io.LimitReader(t.In, 1024))
				if err != nil {
					return nil, "", fmt.Errorf("read the key: %w", err)
				}
				key = strings.TrimSpace(string(text))
			}
			keyID, err := id.RevokeAnyKey(c.Context(), operator(), key)
			return map[string]any{"id": keyID, "revoked": true}, "Key " + keyID + " is revoked", err
		},
	}.command(t)
	c.Flags().StringVar(&key, "id", "", "id of the key, key_…, or the key itself, or - for standard input")
	return c
}

func newClientCreate(t Terminal) *cobra.Command {
	var workspace, name, role string
	c := task{
		use: "create", short: "Create a machine client of a workspace",
		long: `Create a machine client, which holds one role in one workspace. It exchanges its
id and secret for a session token at POST /v1/auth/token with Authorization: Basic.
The secret is shown once.`,
		example: `  bursar admin client create --workspace ws_01jd2m8k3vq7w5x9y0z1a2b3c4 --name payroll --json`,
		needs:   []string{"workspace", "name", "role"},
		run: func(c *cobra.Command, id opened) (any, string, error) {
			var v fault.Violations
			web.CheckText(&v, "name", name, 1, 100)
			if err := v.Err(); err != nil {
				return nil, "", err
			}
			client, secret, err := id.CreateClient(c.Context(), operator(), workspace, name, role)
			return map[string]string{"client_id": client, "client_secret": secret},
				"Client id      " + client + "\nClient secret  " + secret + "\n\nThe secret is shown once. Keep it safe.", err
		},
	}.command(t)
	c.Flags().StringVar(&workspace, "workspace", "", "id of the workspace, ws_…")
	c.Flags().StringVar(&name, "name", "", "name of the client")
	c.Flags().StringVar(&role, "role", "member", "key of the role that it holds")
	return c
}

func newClientRevoke(t Terminal) *cobra.Command {
	var client string
	c := task{
		use: "revoke [ID]", short: "Turn a machine client off for good and end its sessions",
		example: `  bursar admin client revoke cli_01jd2m8k3vq7w5x9y0z1a2b3c4`,
		needs:   []string{"id"}, argument: "id",
		run: func(c *cobra.Command, id opened) (any, string, error) {
			return map[string]any{"client_id": client, "revoked": true}, "Client " + client + " is revoked", id.RevokeClient(c.Context(), operator(), client)
		},
	}.command(t)
	c.Flags().StringVar(&client, "id", "", "id of the client, cli_…")
	return c
}

func newKeysRotate(t Terminal) *cobra.Command {
	return task{
		use: "rotate", short: "Make a new signing key",
		long: `Make a new signing key, which signs session tokens from now on. Tokens signed with
earlier keys stay good until they expire.`,
		example: `  bursar admin keys rotate`,
		run: func(c *cobra.Command, id opened) (any, string, error) {
			key, err := id.Tokens().Rotate(c.Context(), operator())
			return map[string]string{"key_id": key}, "Signing key " + key, err
		},
	}.command(t)
}

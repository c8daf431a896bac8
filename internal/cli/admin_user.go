package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"bursar/internal/access"
	"bursar/internal/cli/term"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/signin"
	"bursar/internal/web"
)

func newUserList(t Terminal) *cobra.Command {
	var store config.Store
	var c *cobra.Command
	c = newLocalList(t, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the users of the store",
		Long: `List the users of the store, oldest account first. Their status is active,
invited or disabled.`,
		Example: `  bursar admin user list
  bursar admin user list --all --json`,
	}, list[identity.User]{
		noun: "users",
		rows: func(ctx *call, _ int) (iter.Seq2[identity.User, error], error) {
			return func(yield func(identity.User, error) bool) {
				err := withAdminStore(c, t, &store, nil, func(s openedStore) error {
					for u, err := range s.Users(ctx) {
						if err != nil {
							return err
						}
						if !yield(u, nil) {
							return errEnough
						}
					}
					return nil
				})
				if err != nil && !errors.Is(err, errEnough) {
					yield(identity.User{}, err)
				}
			}, nil
		},
		table: &term.Table{Columns: []string{"name", "email", "status", "last used", "id"}, Detail: []string{"last used"},
			Empty: "The store has no users. Create the first one with 'bursar init'."},
		cells: func(c *call, u identity.User) []string {
			return []string{u.Name, u.Email, u.Status, c.timeOrNever(u.LastUsedAt), u.ID}
		},
	})
	store.BindStore(c.Flags())
	return c
}

func newUserCreate(t Terminal) *cobra.Command {
	var email, name string
	c := adminCommand{
		use: "create", short: "Create a user, or complete the account of an invited one",
		example:  `  bursar admin user create --email grace@example.com --name "Grace Hopper" --json`,
		required: []string{"email", "name"},
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			var v fault.Violations
			web.CheckEmail(&v, "email", email)
			web.CheckText(&v, "name", name, 1, 100)
			if err := v.Err(); err != nil {
				return nil, "", err
			}
			user, err := s.CreateUser(c.Context(), operator(), email, name)
			return map[string]string{"user_id": user}, "User " + user, err
		},
	}.command(t)
	c.Flags().StringVar(&email, "email", "", "email address")
	c.Flags().StringVar(&name, "name", "", "name")
	return c
}

func newUserDisable(t Terminal) *cobra.Command {
	var email string
	var yes bool
	c := adminCommand{
		use: "disable", short: "Disable a user and end their sessions",
		long: `Disable a user and end their sessions. If a workspace has no other active
admin, the command asks first; a script must pass --yes.`,
		example:  "  bursar admin user disable --email grace@example.com",
		required: []string{"email"},
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			if err := confirmSoleAdmin(c.Context(), t, s, email, yes); err != nil {
				return nil, "", err
			}
			user, err := s.DisableUser(c.Context(), operator(), email)
			return map[string]string{"user_id": user}, "User " + user + " is disabled", err
		},
	}.command(t)
	c.Flags().StringVar(&email, "email", "", "email address of the user")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

// confirmSoleAdmin asks before a workspace loses its only admin. It only warns the operator, who may proceed, so a concurrent change of
// roles does not matter.
func confirmSoleAdmin(ctx context.Context, t Terminal, s openedStore, email string, yes bool) error {
	var workspaces []string
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		workspaces, err = access.SoleAdminOf(q, identity.NormalizeEmail(email))
		return err
	})
	if err != nil {
		return fmt.Errorf("look for workspaces without another admin: %w", err)
	}
	if len(workspaces) == 0 {
		return nil
	}
	const most = 5
	names := strings.Join(workspaces[:min(len(workspaces), most)], ", ")
	if more := len(workspaces) - most; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return t.Confirm(ctx, term.Printable(fmt.Sprintf("%s is the only admin of %s. Disable the user anyway?", email, names)), yes)
}

func newUserEnable(t Terminal) *cobra.Command {
	var email string
	c := adminCommand{
		use: "enable", short: "Enable a disabled user again",
		example:  "  bursar admin user enable --email grace@example.com",
		required: []string{"email"},
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			user, err := s.EnableUser(c.Context(), operator(), email)
			return map[string]string{"user_id": user}, "User " + user + " is enabled", err
		},
	}.command(t)
	c.Flags().StringVar(&email, "email", "", "email address of the user")
	return c
}

func newUserLink(t Terminal) *cobra.Command {
	var email, publicURL string
	var keepKeys bool
	c := adminCommand{
		use: "link", short: "Create a link with which a user sets up their sign-in",
		long: `Create a link with which a user chooses a password or adds a passkey, for
somebody who cannot sign in to the console. The link is shown once, works once
and expires after a day. The user's second factor stays; see
'bursar admin user reset'. Using the link revokes their API keys, unless you
pass --keep-keys.`,
		example:  `  bursar admin user link --email grace@example.com`,
		required: []string{"email"},
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			address, err := s.publicURL(c.Context(), publicURL)
			if err != nil {
				return nil, "", err
			}
			link, err := s.CreateLink(c.Context(), operator(), identity.NewLinks(address, nil), email, keepKeys)
			return linkResult(link, err)
		},
	}.command(t)
	c.Flags().StringVar(&email, "email", "", "email address of the user")
	c.Flags().BoolVar(&keepKeys, "keep-keys", false, "do not revoke the user's API keys when the link is used")
	bindLinkURL(c, &publicURL)
	return c
}

func newUserReset(t Terminal) *cobra.Command {
	var email, publicURL string
	var keepKeys bool
	c := adminCommand{
		use: "reset", short: "Remove a user's sign-in methods and create a link for new ones",
		long: `Remove the password, the passkeys, the second factor and the single sign-on
of a user, end all their sessions, and create a link with which they start
over. Use it when somebody has lost a device, when their account was broken
into, or when the identity provider refuses them as another person. Their API
keys are revoked, unless you pass --keep-keys.`,
		example:  `  bursar admin user reset --email grace@example.com`,
		required: []string{"email"},
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			address, err := s.publicURL(c.Context(), publicURL)
			if err != nil {
				return nil, "", err
			}
			people, err := signin.New(s.db, s.vault, identity.NewLinks(address, nil), signin.Config{PublicURL: address})
			if err != nil {
				return nil, "", err
			}
			link, err := people.Reset(c.Context(), operator(), email, keepKeys)
			return linkResult(link, err)
		},
	}.command(t)
	c.Flags().StringVar(&email, "email", "", "email address of the user")
	c.Flags().BoolVar(&keepKeys, "keep-keys", false, "do not revoke the user's API keys")
	c.Flags().Bool("revoke-keys", true, "revoke the user's API keys, which happens anyway")
	_ = c.Flags().MarkDeprecated("revoke-keys", "API keys are revoked unless you pass --keep-keys") // the flag exists
	bindLinkURL(c, &publicURL)
	return c
}

func bindLinkURL(c *cobra.Command, address *string) {
	c.Flags().StringVar(address, "public-url", "", "address of the server for the link; default the one that 'bursar serve' stored [BURSAR_PUBLIC_URL]")
}

func linkResult(link identity.Link, err error) (any, string, error) {
	return map[string]any{"link": link.URL, "expires_at": link.ExpiresAt},
		"Link  " + link.URL + "\n\nThe link works once and expires after a day. Anybody who has it can get into the account.", err
}

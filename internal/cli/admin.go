package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"bursar/internal/cli/term"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/identity"
	ops "bursar/internal/operator"
	"bursar/internal/setup"
	"bursar/internal/vault"
	"bursar/internal/workspace"
)

func newAdmin(t Terminal) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:   "admin",
		Short: "Administer a store directly",
		Long: `Administer a store directly, as its operator. The commands change the
database, also while servers use it; servers notice within a second. The audit
log records the changes with the system as the actor, and names the user of
the operating system who ran the command.`,
		Example: `  bursar admin user list
  bursar admin user create --email grace@example.com --name "Grace Hopper"
  bursar admin api-key create --user grace@example.com --name laptop
  bursar admin audit --since 24h`,
	},
		adminGroup("user", "Manage the users of the store", newUserList(t), newUserCreate(t), newUserDisable(t), newUserEnable(t), newUserLink(t), newUserReset(t)),
		adminGroup("api-key", "Manage the API keys of users", newKeyCreate(t), newKeyRevoke(t)),
		adminGroup("approver", "Appoint approvers where none is left", newApproverAppoint(t)),
		adminGroup("operator", "Manage who operates the store", newOperatorAdd(t), newOperatorList(t), newOperatorRemove(t)),
		adminGroup("client", "Manage the machine clients of workspaces", newClientCreate(t), newClientRevoke(t)),
		adminGroup("keys", "Manage the keys that sign session tokens", newKeysRotate(t)),
		adminGroup("vault", "Manage the keys that seal account numbers", newVaultStatus(t), newVaultInit(t), newVaultRotate(t), newVaultReseal(t)),
		adminGroup("ledger", "Put money into accounts, and check the books", newLedgerVerify(t), newLedgerReauthenticate(t), newLedgerDeposit(t), newLedgerSuspense(t)),
		adminGroup("rails", "Let rails send again after a restore or a change of folder", newRailsStatus(t), newRailsResume(t), newRailsAdopt(t)),
		newAdminAudit(t),
	)
}

func adminGroup(use, short string, commands ...*cobra.Command) *cobra.Command {
	return commandGroup(&cobra.Command{Use: use, Short: short, Example: commands[0].Example}, commands...)
}

// openedStore is the store of an operator's command.
type openedStore struct {
	*identity.Service
	db     *db.DB
	vault  *vault.Vault
	config config.Store
}

// publicURL returns the base address of links: the given one, or else the stored one.
func (s openedStore) publicURL(ctx context.Context, given string) (string, error) {
	if given != "" {
		address, err := config.PublicURL(given)
		if err != nil {
			return "", term.Usage(err)
		}
		return address, nil
	}
	address, err := setup.PublicURL(ctx, s.db)
	if err == nil && address == "" {
		err = term.Usagef("the store does not know the address of its server yet, because no server has run on it: pass --public-url")
	}
	return address, err
}

// adminCommand is a command that works on a store.
type adminCommand struct {
	use, short, long, example string
	required                  []string // flags
	argument                  string   // the flag that can also be given as an argument
	alone                     bool     // refused while a server runs on the store
	run                       func(c *cobra.Command, s openedStore) (result any, text string, err error)
}

func (a adminCommand) command(t Terminal) *cobra.Command {
	store := config.Store{Alone: a.alone}
	var asJSON bool
	c := &cobra.Command{
		Use: a.use, Short: a.short, Long: a.long, Example: a.example, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				if err := c.Flags().Set(a.argument, args[0]); err != nil {
					return term.Usage(err)
				}
			}
			return withAdminStore(c, t, &store, a.required, func(s openedStore) error {
				result, text, err := a.run(c, s)
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
	if a.argument != "" {
		c.Args = cobra.MaximumNArgs(1)
	}
	store.BindStore(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return c
}

// withAdminStore reads the settings of a command, into the store that its flags are bound to, and opens the store. The store must exist,
// because a mistyped folder must not become a new store.
func withAdminStore(c *cobra.Command, t Terminal, store *config.Store, required []string, fn func(s openedStore) error) error {
	if err := config.FromEnvironment(c.Flags(), t.Env); err != nil {
		return term.Usage(err)
	}
	if err := require(c, required...); err != nil {
		return err
	}
	if err := store.Missing(); err != nil {
		return err
	}
	return withStore(c.Context(), t, *store, fn)
}

func newOperatorAdd(t Terminal) *cobra.Command {
	var email string
	var permissions []string
	c := adminCommand{
		use: "add EMAIL", short: "Make a user an operator, or change what an operator may do",
		long: `Make a user an operator of the store. Operators have pages at /ops: they see
organizations, users, rails and the audit log of the operator (ops.read),
confirm deposits into live accounts (ops.money), and disable and reset users
and appoint approvers (ops.access). They sign in as before, within the last 15
minutes. Every operator has ops.read.

Where there are two operators, some of this takes both: see
'bursar ops requests'.`,
		example: `  bursar admin operator add grace@example.com
  bursar admin operator add grace@example.com --permission ops.read,ops.money`,
		required: []string{"email"}, argument: "email",
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			o, err := ops.Add(c.Context(), s.db, operator(), email, permissions)
			return o, "Operator     " + o.Email + "\nPermissions  " + strings.Join(o.Permissions, ", "), err
		},
	}.command(t)
	c.Flags().StringVar(&email, "email", "", "email address of the user")
	c.Flags().StringSliceVar(&permissions, "permission", []string{"ops.read", "ops.money", "ops.access"}, "what the operator may do")
	return c
}

func newOperatorList(t Terminal) *cobra.Command {
	return adminCommand{
		use: "list", short: "List the operators",
		example: `  bursar admin operator list
  bursar admin operator list --json`,
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			list, err := ops.List(c.Context(), s.db)
			lines := []string{}
			for _, o := range list {
				lines = append(lines, fmt.Sprintf("%s  %s  %s", o.Email, o.Status, strings.Join(o.Permissions, ", ")))
			}
			if len(list) == 0 {
				lines = []string{"There are no operators. Add one with 'bursar admin operator add'."}
			}
			return list, strings.Join(lines, "\n"), err
		},
	}.command(t)
}

func newOperatorRemove(t Terminal) *cobra.Command {
	var email string
	c := adminCommand{
		use: "remove EMAIL", short: "End that a user is an operator",
		long:     `End that a user is an operator. It takes effect on their next request.`,
		example:  `  bursar admin operator remove grace@example.com`,
		required: []string{"email"}, argument: "email",
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			id, err := ops.Remove(c.Context(), s.db, operator(), email)
			return map[string]any{"user_id": id, "removed": true}, email + " is no longer an operator", err
		},
	}.command(t)
	c.Flags().StringVar(&email, "email", "", "email address of the operator")
	return c
}

func newApproverAppoint(t Terminal) *cobra.Command {
	var email, id string
	c := adminCommand{
		use: "appoint", short: "Appoint an approver of a workspace",
		long: `Appoint an approver of a workspace in an emergency: where the last person who
could approve has gone, and changes wait. The user becomes a member with the
role disbursement_authorizer. Their approvals count after the wait of a new
approver, 24 hours unless the workspace has decided otherwise. The server
mails the approvers of the workspace and the owners of its organization.`,
		example:  `  bursar admin approver appoint --user grace@example.com --workspace ws_01jd2m8k3vq7w5x9y0z1a2b3c4`,
		required: []string{"user", "workspace"},
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			done, err := workspace.Appoint(c.Context(), s.db, operator(), id, email)
			return done, "Appointed " + email + ". Their approvals count after the wait of a new approver.", err
		},
	}.command(t)
	c.Flags().StringVar(&email, "user", "", "email address of the user")
	c.Flags().StringVar(&id, "workspace", "", "id of the workspace")
	return c
}

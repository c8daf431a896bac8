package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"bursar/internal/cli/term"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/setup"
	"bursar/internal/vault"
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

package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"bursar/internal/cli/term"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/setup"
)

func newInit(t Terminal) *cobra.Command {
	var store config.Store
	var first setup.First
	var asJSON bool
	c := &cobra.Command{
		Use:   "init",
		Short: "Make the first organization, workspace and admin of a store",
		Long: `Make the first organization, workspace and admin of an empty store, an API key for
the admin, and a link by which the admin sets up how to sign in to the console.
Both are shown once; the link is good once, for a day. A store that has been
initialised is left as it is, and the command fails.`,
		Example: `  bursar init --email ada@example.com --name "Ada Lovelace" --organization Acme --workspace Treasury
  bursar init --email ops@example.com --name Ops --organization Acme --workspace Main --json --database-url postgres://localhost/bursar`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := config.FromEnvironment(c.Flags(), t.Env); err != nil {
				return term.Usage(err)
			}
			if err := require(c, "email", "name", "organization", "workspace"); err != nil {
				return err
			}
			address, err := config.PublicURL(first.PublicURL)
			if err != nil {
				return term.Usage(err)
			}
			first.PublicURL = address
			return withStore(c.Context(), store, func(d *db.DB, _ *identity.Service) error {
				made, err := setup.Run(c.Context(), d, operator(), first)
				if errors.Is(err, setup.ErrDone) {
					return fmt.Errorf("%w: use 'bursar admin' to add users and keys", err)
				}
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(t.Out, made)
				}
				_, err = fmt.Fprintf(t.Out, "Organization  %s\nWorkspace     %s\nAdmin         %s\nAPI key       %s\nConsole       %s\n\nThe key and the link are shown once. Keep them safe.\n",
					made.OrganizationID, made.WorkspaceID, made.UserID, made.APIKey, made.Link)
				return err
			})
		},
	}
	store.BindStore(c.Flags())
	c.Flags().StringVar(&first.Email, "email", "", "email address of the admin")
	c.Flags().StringVar(&first.Name, "name", "", "name of the admin")
	c.Flags().StringVar(&first.Organization, "organization", "", "name of the organization")
	c.Flags().StringVar(&first.Workspace, "workspace", "", "name of the workspace")
	bindPublicURL(c, &first.PublicURL)
	c.Flags().BoolVar(&asJSON, "json", false, "print user_id, organization_id, workspace_id, api_key and link as JSON")
	return c
}

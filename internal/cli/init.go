package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"bursar/internal/cli/term"
	"bursar/internal/config"
	"bursar/internal/identity"
	"bursar/internal/payout"
	"bursar/internal/setup"
)

func newInit(t Terminal) *cobra.Command {
	var store config.Store
	var first setup.First
	var asJSON bool
	c := &cobra.Command{
		Use:   "init",
		Short: "Create the first organization, workspace and admin",
		Long: `Create the first organization, workspace and admin of an empty store, an API
key for the admin, and a link with which the admin sets up their sign-in to
the console. The key and the link are shown once; the link works once and
expires after a day. The command fails, and changes nothing, if the store is
already initialised. The key is good for sandbox and live money, unless you
pass --mode, and can make what outlives it, such as members and further keys.`,
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
			if err := checkMode(first.Mode); err != nil {
				return err
			}
			return withStore(c.Context(), t, store, func(s openedStore) error {
				if _, err := identity.Prepare(c.Context(), s.db, s.vault); err != nil {
					return err
				}
				if err := payout.LoadIntegrity(c.Context(), s.db, s.vault, false); err != nil {
					return err
				}
				made, err := setup.Run(c.Context(), s.db, operator(), first)
				if errors.Is(err, setup.ErrDone) {
					return fmt.Errorf("%w: use 'bursar admin' to add users and keys", err)
				}
				if err != nil {
					return err
				}
				// Only at this point: a refused init must not redirect the links of a live store.
				if err := setup.StorePublicURL(c.Context(), s.db, operator(), address, c.Flags().Changed("public-url")); err != nil {
					return err
				}
				if asJSON {
					return printJSON(t.Out, made)
				}
				_, err = fmt.Fprintf(t.Out, "Organization  %s\nWorkspace     %s\nAdmin         %s\nAPI key       %s\nConsole       %s\n\nThe key and the link are shown once. Store them safely.\n",
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
	c.Flags().StringVar(&first.PublicURL, "public-url", defaultURL, "address of the server, for links [BURSAR_PUBLIC_URL]")
	bindMode(c, &first.Mode)
	c.Flags().BoolVar(&asJSON, "json", false, "print user_id, organization_id, workspace_id, api_key and link as JSON")
	return c
}

// secretFile receives the secrets of a first start. It is created before them, because they are shown once and must have a place. It is
// created under a temporary name, so that a planted link is replaced and not followed.
type secretFile struct {
	path  string
	draft *os.File // only its owner can read it
}

// newSecretFile creates the file in the data folder, or in the working folder if the store has none.
func newSecretFile(store config.Store) (*secretFile, error) {
	dir := store.Data
	if store.DatabaseURL != "" {
		dir = "."
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		var draft *os.File
		if draft, err = os.CreateTemp(dir, "first-admin-*.txt"); err == nil {
			return &secretFile{filepath.Join(dir, "first-admin.txt"), draft}, nil
		}
	}
	return nil, fmt.Errorf("make a file for the secrets of the first admin: %w: run 'bursar init' before the first start, which prints them", err)
}

func (f *secretFile) keep(text string) error {
	_, err := f.draft.WriteString(text)
	if err = errors.Join(err, f.draft.Close()); err == nil {
		err = os.Rename(f.draft.Name(), f.path)
	}
	if err != nil {
		return fmt.Errorf("write the secrets of the first admin: %w", err)
	}
	return nil
}

// discard removes the file unless it was kept.
func (f *secretFile) discard() error {
	_ = f.draft.Close() // if keep has not closed it
	if err := os.Remove(f.draft.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove an empty file: %w", err)
	}
	return nil
}

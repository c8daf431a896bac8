package cli

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newOrganizations(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:     "orgs",
		Aliases: []string{"org", "organizations", "organization"},
		Short:   "List, create and configure organizations",
		Long: `An organization owns workspaces. You belong to it as an owner, as a member, or
because you are in one of its workspaces. Owners can change its settings and
its owners.`,
		Example: `  bursar orgs list
  bursar orgs settings acme
  bursar orgs settings acme --name "Acme Group"
  bursar orgs owners add grace@example.com`,
	}, newOrganizationsList(r), newOrganizationsGet(r), newOrganizationsCreate(r), newOrganizationsSettings(r), newOwners(r))
}

func newOrganizationsList(r *remote) *cobra.Command {
	return listCommand(r.terminal, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List your organizations",
		Example: `  bursar orgs list
  bursar orgs list --jq '.[].slug'`,
	}, list[api.Organization]{
		noun: "organizations",
		rows: func(ctx context.Context, limit int) (iter.Seq2[api.Organization, error], error) {
			s, err := r.connect()
			if err != nil {
				return nil, err
			}
			return s.Organizations.All(ctx, client.ListParams{Limit: limit}), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"name", "slug", "id"}, Empty: "You have no organization yet. Create one with 'bursar orgs create NAME'."}
		},
		cells: func(_ term.Format, o api.Organization) []string { return []string{o.Name, o.Slug, o.ID} },
	})
}

func newOrganizationsGet(r *remote) *cobra.Command {
	var f term.Format
	c := &cobra.Command{
		Use: "get [ORG]", Short: "Show an organization",
		Long: `Show an organization, by id, slug or name. Without one, show your only
organization.`,
		Example: `  bursar orgs get acme
  bursar orgs get acme --jq .id`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: byPosition(r.completeOrganizations()),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			o, err := s.findOrganization(c.Context(), strings.Join(args, ""), "ORG")
			if err != nil {
				return err
			}
			got, err := s.Organizations.Get(c.Context(), o.ID)
			if err != nil {
				return fmt.Errorf("get the organization: %w", err)
			}
			return r.writeOrganization(f, got)
		},
	}
	f.Bind(c, false)
	return c
}

func (r *remote) writeOrganization(f term.Format, o *api.Organization) error {
	return f.Write(r.terminal, o, func(w io.Writer) error {
		pairs := []string{"Name", o.Name, "Slug", o.Slug, "Id", o.ID}
		if o.RequireSecondFactor {
			pairs = append(pairs, "Second factor", "demanded")
		}
		if o.AuditRetentionDays > 0 {
			pairs = append(pairs, "Audit log", fmt.Sprintf("erased after %d days", o.AuditRetentionDays))
		}
		return term.WritePairs(r.terminal, w, pairs...)
	})
}

func newOrganizationsCreate(r *remote) *cobra.Command {
	var f term.Format
	var slug string
	c := &cobra.Command{
		Use: "create NAME", Short: "Create an organization",
		Long: `Create an organization. You become its owner. Without --slug, the slug is
derived from the name.`,
		Example: `  bursar orgs create Acme
  bursar orgs create "Acme Group" --slug acme-group`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			made, err := s.Organizations.Create(c.Context(), client.OrganizationCreateParams{Name: args[0], Slug: notEmpty(slug)})
			if err != nil {
				return fmt.Errorf("create the organization: %w", err)
			}
			fmt.Fprintf(r.terminal.Err, "Created organization %s. Create a workspace in it with 'bursar workspaces create NAME --organization %s'.\n", term.Printable(made.Name), made.Slug)
			return r.writeOrganization(f, made)
		},
	}
	c.Flags().StringVar(&slug, "slug", "", "short name for URLs and commands: a-z, 0-9 and dashes")
	f.Bind(c, false)
	return c
}

func newOrganizationsSettings(r *remote) *cobra.Command {
	var f term.Format
	var name, slug string
	var factor, yes bool
	var days int64
	c := &cobra.Command{
		Use: "settings [ORG]", Short: "Show or change the settings of an organization",
		Long: `Show the settings of an organization. Owners can change them with --name,
--slug, --require-second-factor and --audit-retention-days; a new name does
not change the slug. Without ORG, your only organization is used.

With --require-second-factor, people who signed in with a password alone are
stopped at once: in the console they set up a passkey or an authenticator app
before they can go on, and their command lines must log in again. API keys and
machine clients go on. You need a second factor yourself, and a login of the
last 15 minutes.

With --audit-retention-days, what is personal in audit entries of the
organization and its workspaces (names, addresses, descriptions, changes) is
erased when they are older, within a day and for ever. That needs a login of
the last 15 minutes, too. With 0, the log is kept for ever.`,
		Example: `  bursar orgs settings
  bursar orgs settings acme --name "Acme Group" --slug acme-group
  bursar orgs settings acme --require-second-factor
  bursar orgs settings acme --require-second-factor=false
  bursar orgs settings acme --audit-retention-days 730`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: byPosition(r.completeOrganizations()),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			o, err := s.findOrganization(c.Context(), strings.Join(args, ""), "ORG")
			if err != nil {
				return err
			}
			change := client.OrganizationUpdateParams{Name: given(c, "name", name), Slug: given(c, "slug", slug)}
			if c.Flags().Changed("require-second-factor") {
				change.RequireSecondFactor = &factor
			}
			if c.Flags().Changed("audit-retention-days") {
				change.AuditRetentionDays = &days
			}
			if change == (client.OrganizationUpdateParams{}) {
				got, err := s.Organizations.Settings(c.Context(), o.ID)
				if err != nil {
					return fmt.Errorf("get the settings: %w", err)
				}
				return r.writeOrganization(f, got)
			}
			if factor {
				question := fmt.Sprintf("Demand a second factor of everybody in %s? Whoever signed in without one is stopped at once.", term.Printable(o.Name))
				if err := r.terminal.Confirm(c.Context(), question, yes); err != nil {
					return err
				}
			}
			if days > 0 {
				question := fmt.Sprintf("Erase what is personal in audit entries of %s that are older than %d days? It cannot be undone.", term.Printable(o.Name), days)
				if err := r.terminal.Confirm(c.Context(), question, yes); err != nil {
					return err
				}
			}
			changed, err := s.Organizations.UpdateSettings(c.Context(), o.ID, change)
			if err != nil {
				return fmt.Errorf("update the settings: %w", err)
			}
			fmt.Fprintf(r.terminal.Err, "Updated the settings of %s (%s).\n", term.Printable(changed.Name), changed.ID)
			return r.writeOrganization(f, changed)
		},
	}
	c.Flags().StringVar(&name, "name", "", "new name")
	c.Flags().StringVar(&slug, "slug", "", "new slug: a-z, 0-9 and dashes")
	c.Flags().BoolVar(&factor, "require-second-factor", false, "demand that people sign in with a second factor; =false to stop demanding it")
	c.Flags().Int64Var(&days, "audit-retention-days", 0, "erase what is personal in audit entries after so many days; 0 to keep it for ever")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.Bind(c, false)
	return c
}

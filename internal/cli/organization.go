package cli

import (
	"errors"
	"fmt"
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

// organizations finds organizations by id, slug or name. Without a name it finds the only one, or asks.
func organizations() *resource[api.Organization] {
	n := &resource[api.Organization]{
		noun: "organization", anywhere: true,
		list: func(c *call, _ string, p client.ListParams) iter.Seq2[api.Organization, error] {
			return c.Organizations.All(c, p)
		},
		item: func(o api.Organization) item {
			return item{o.ID, []string{o.Slug, o.Name}, o.Name + "  " + o.Slug + "  " + o.ID, described(o.Slug, o.Name)}
		},
	}
	n.only = func(c *call, name string) (api.Organization, error) {
		all, err := n.all(c)
		switch {
		case err != nil:
			return api.Organization{}, err
		case len(all) == 0:
			return api.Organization{}, errors.New("you have no organization yet: create one with 'bursar orgs create NAME'")
		case len(all) == 1:
			return all[0], nil
		case !c.terminal.Interactive():
			return api.Organization{}, term.Usagef("you have several organizations: choose one with %s\n  %s", name,
				strings.Join(n.lines(all), "\n  "))
		}
		return n.choose(c, "Which organization?", all)
	}
	return n
}

// organizationName names an organization that is looked up only if the command needs it.
type organizationName string

func (*organizationName) completion(r *remote) cobra.CompletionFunc {
	return organizations().completion(r)
}

func newOrganizationsList(r *remote) *cobra.Command {
	return organizations().newList(r, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List your organizations",
		Example: `  bursar orgs list
  bursar orgs list --jq '.[].slug'`,
	}, &term.Table{Columns: []string{"name", "slug", "id"},
		Empty: "You have no organization yet. Create one with 'bursar orgs create NAME'."}, func(_ *call,
		o api.Organization) []string {
		return []string{o.Name, o.Slug, o.ID}
	})
}

func newOrganizationsGet(r *remote) *cobra.Command {
	var in struct{ Organization api.Organization }
	return newCommand(r, anywhere, &in, &cobra.Command{
		Use: "get [ORG]", Short: "Show an organization",
		Long: `Show an organization, by id, slug or name. Without one, show your only
organization.`,
		Example: `  bursar orgs get acme
  bursar orgs get acme --jq .id`,
	}, func(c *call) error {
		got, err := c.Organizations.Get(c, in.Organization.ID)
		if err != nil {
			return fmt.Errorf("get the organization: %w", err)
		}
		return writeOrganization(c, got)
	})
}

func writeOrganization(c *call, o *api.Organization) error {
	pairs := []string{"Name", o.Name, "Slug", o.Slug, "Id", o.ID}
	if o.RequireSecondFactor {
		pairs = append(pairs, "Second factor", "demanded")
	}
	if o.AuditRetentionDays > 0 {
		pairs = append(pairs, "Audit log", fmt.Sprintf("erased after %d days", o.AuditRetentionDays))
	}
	return c.writePairs(o, pairs...)
}

func newOrganizationsCreate(r *remote) *cobra.Command {
	var in struct {
		Name string
		Slug string `flag:"slug" usage:"short name for URLs and commands: a-z, 0-9 and dashes"`
	}
	return newCommand(r, anywhere, &in, &cobra.Command{
		Use: "create NAME", Short: "Create an organization",
		Long: `Create an organization. You become its owner. Without --slug, the slug is
derived from the name.`,
		Example: `  bursar orgs create Acme
  bursar orgs create "Acme Group" --slug acme-group`,
	}, func(c *call) error {
		made, err := c.Organizations.Create(c, client.OrganizationCreateParams{Name: in.Name, Slug: notEmpty(in.Slug)})
		if err != nil {
			return fmt.Errorf("create the organization: %w", err)
		}
		c.say("Created organization %s. Create a workspace in it with 'bursar workspaces create NAME --organization %s'.",
			made.Name, made.Slug)
		return writeOrganization(c, made)
	})
}

func newOrganizationsSettings(r *remote) *cobra.Command {
	var in struct {
		Organization api.Organization
		Name         *string `flag:"name" usage:"new name"`
		Slug         *string `flag:"slug" usage:"new slug: a-z, 0-9 and dashes"`
		Factor       *bool   `flag:"require-second-factor" usage:"demand that people sign in with a second factor; =false to stop demanding it"`
		Days         *int64  `flag:"audit-retention-days" usage:"erase what is personal in audit entries after so many days; 0 to keep it for ever"`
		confirmation
	}
	return newCommand(r, anywhere, &in, &cobra.Command{
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
	}, func(c *call) error {
		o := in.Organization
		change := client.OrganizationUpdateParams{Name: in.Name, Slug: in.Slug, RequireSecondFactor: in.Factor, AuditRetentionDays: in.Days}
		if change == (client.OrganizationUpdateParams{}) {
			got, err := c.Organizations.Settings(c, o.ID)
			if err != nil {
				return fmt.Errorf("get the settings: %w", err)
			}
			return writeOrganization(c, got)
		}
		if in.Factor != nil && *in.Factor {
			question := "Demand a second factor of everybody in %s? Whoever signed in without one is stopped at once."
			if err := c.confirm(in.confirmation, question, o.Name); err != nil {
				return err
			}
		}
		if in.Days != nil && *in.Days > 0 {
			question := "Erase what is personal in audit entries of %s that are older than %d days? It cannot be undone."
			if err := c.confirm(in.confirmation, question, o.Name, *in.Days); err != nil {
				return err
			}
		}
		changed, err := c.Organizations.UpdateSettings(c, o.ID, change)
		if err != nil {
			return fmt.Errorf("update the settings: %w", err)
		}
		c.say("Updated the settings of %s (%s).", changed.Name, changed.ID)
		return writeOrganization(c, changed)
	})
}

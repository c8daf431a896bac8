package cli

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newOwners(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:     "owners",
		Aliases: []string{"owner"},
		Short:   "List, add, remove and confirm the owners of an organization",
		Long: `Owners change the settings of an organization, create workspaces in it, read
its audit log and decide who else is an owner. An organization always keeps
one.`,
		Example: `  bursar orgs owners list
  bursar orgs owners add grace@example.com
  bursar orgs owners remove grace@example.com --organization acme`,
	}, newOwnersList(r), newOwnersAdd(r), newOwnersRemove(r), newOwnersSuspended(r))
}

func newOwnersList(r *remote) *cobra.Command {
	var in struct {
		ofOrganization
	}
	return newList(r, anywhere, &in, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the owners",
		Example: `  bursar orgs owners list
  bursar orgs owners list --organization acme --jq '.[].email'`,
	}, list[api.User]{
		noun: "owners",
		rows: func(c *call, limit int) (iter.Seq2[api.User, error], error) {
			return c.Organizations.AllOwners(c, in.Organization.ID, client.ListParams{Limit: limit}), nil
		},
		table: &term.Table{Columns: []string{"name", "email", "id"}, Empty: "This organization has no owners."},
		cells: func(_ *call, u api.User) []string { return []string{u.Name, u.Email, u.ID} },
	})
}

func newOwnersAdd(r *remote) *cobra.Command {
	var in struct {
		Person memberName
		ofOrganization
	}
	return newCommand(r, anywhere, &in, &cobra.Command{
		Use: "add PERSON", Short: "Make a member of the organization an owner",
		Long: `Make a person an owner of the organization. They must be a member of it
already, with a verified address: PERSON is the email address or name of
somebody in one of your workspaces, or an id. Nothing changes if they already
are an owner.`,
		Example: `  bursar orgs owners add grace@example.com
  bursar orgs owners add usr_01jd2p3g5h7j9k1m3n5p7q9r1s --organization acme`,
	}, func(c *call) error {
		who, err := findPerson(c, in.Organization.ID, string(in.Person))
		if err != nil {
			return err
		}
		done, err := c.Organizations.AddOwner(c, in.Organization.ID, who.ID)
		if err != nil {
			return fmt.Errorf("add the owner: %w", err)
		}
		c.say("%s is an owner of %s.", person(who.Name, who.Email), in.Organization.Name)
		return c.done(done)
	})
}

func newOwnersRemove(r *remote) *cobra.Command {
	var in struct {
		Owner memberName
		ofOrganization
		confirmation
	}
	return newCommand(r, anywhere, &in, &cobra.Command{
		Use: "remove OWNER", Aliases: []string{"rm"}, Short: "End the ownership of somebody",
		Long: `End the ownership of somebody, who stays in the workspaces that they are in.
It takes effect on their next request. The last owner cannot be removed.`,
		Example: `  bursar orgs owners remove grace@example.com
  bursar orgs owners remove "Grace Hopper" --yes`,
	}, func(c *call) error {
		who, err := owners(in.Organization).find(c, string(in.Owner))
		if err != nil {
			return err
		}
		name, of := person(who.Name, who.Email), in.Organization.Name
		if err := c.confirm(in.confirmation, "End the ownership of %s in %s?", name, of); err != nil {
			return err
		}
		done, err := c.Organizations.RemoveOwner(c, in.Organization.ID, who.ID)
		if err != nil {
			return fmt.Errorf("remove the owner: %w", err)
		}
		c.say("%s is no longer an owner of %s.", name, of)
		return c.done(done)
	})
}

// owners finds owners of an organization.
func owners(of api.Organization) *resource[api.User] {
	return &resource[api.User]{
		noun: "owner", anywhere: true,
		list: func(c *call, _ string, p client.ListParams) iter.Seq2[api.User, error] {
			return c.Organizations.AllOwners(c, of.ID, p)
		},
		item: func(u api.User) item {
			return item{id: u.ID, names: []string{u.Email, u.Name}, line: person(u.Name, u.Email) + "  " + u.ID}
		},
	}
}

// findPerson finds a person in the caller's workspaces of an organization. An id is used without a search, because its owner may be in a
// workspace that the caller does not see.
func findPerson(c *call, organizationID, ref string) (api.Member, error) {
	if strings.HasPrefix(ref, "usr_") {
		return api.Member{ID: ref, Name: ref}, nil
	}
	seen := map[string]bool{}
	var people []api.Member
	for w, err := range c.Workspaces.All(c, client.ListParams{}) {
		if err != nil {
			return api.Member{}, fmt.Errorf("list the workspaces: %w", err)
		}
		if w.OrganizationID != organizationID {
			continue
		}
		all, err := collect(c.Members.All(c, w.ID, client.ListParams{}))
		if err != nil && !client.IsForbidden(err) {
			return api.Member{}, fmt.Errorf("list the members: %w", err)
		}
		for _, m := range all {
			if !seen[m.ID] && m.Status != "invited" {
				seen[m.ID] = true
				people = append(people, m)
			}
		}
	}
	n := members()
	n.noun = "person"
	return n.pick(c, ref, people)
}

func newOwnersSuspended(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use: "suspended", Short: "Decide about owners who came through a compromised key",
		Long: `Owners who were added through a compromised API key are suspended until
another owner confirms or removes them. Report a key as compromised with
'bursar keys revoke KEY --compromised'.`,
		Example: `  bursar orgs owners suspended list
  bursar orgs owners suspended confirm sus_01jd2w8m3p5r7t9v1x3z5b7d9f`,
	}, newOwnersSuspendedList(r), newOwnersConfirm(r), newOwnersSuspendedRemove(r))
}

func newOwnersSuspendedList(r *remote) *cobra.Command {
	var in struct {
		ofOrganization
	}
	return newList(r, anywhere, &in, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the suspended owners", Long: `List the owners who are suspended, oldest first.`,
		Example: `  bursar orgs owners suspended list`,
	}, list[api.SuspendedOwner]{
		noun: "suspended owners",
		rows: func(c *call, limit int) (iter.Seq2[api.SuspendedOwner, error], error) {
			return c.Organizations.SuspendedOwners(c, in.Organization.ID, client.ListParams{Limit: limit}), nil
		},
		table: &term.Table{Columns: []string{"id", "who", "key", "since"}, Detail: []string{"key"}, Empty: "No owner is suspended."},
		cells: func(_ *call, o api.SuspendedOwner) []string {
			return []string{o.ID, person(o.Name, o.Email), o.KeyID, localTime(o.SuspendedAt)}
		},
	})
}

func newOwnersConfirm(r *remote) *cobra.Command {
	return ownerSuspensionCommand(r, &cobra.Command{
		Use: "confirm ID", Short: "Make a suspended owner an owner again",
		Long: `Make a suspended owner an owner again. You cannot decide about yourself, or if
you became an owner through a compromised key.`,
		Example: `  bursar orgs owners suspended confirm sus_01jd2w8m3p5r7t9v1x3z5b7d9f`,
	}, "Make %s an owner again?", "%s is an owner.", (*client.OrganizationService).ConfirmOwner)
}

func newOwnersSuspendedRemove(r *remote) *cobra.Command {
	return ownerSuspensionCommand(r, &cobra.Command{
		Use: "remove ID", Aliases: []string{"rm"}, Short: "End suspended ownership permanently",
		Long:    `End suspended ownership permanently.`,
		Example: `  bursar orgs owners suspended remove sus_01jd2w8m3p5r7t9v1x3z5b7d9f`,
	}, "End the ownership of %s permanently?", "%s is no longer an owner.", (*client.OrganizationService).RemoveSuspendedOwner)
}

// ownerSuspensionCommand completes a command that decides on a suspended owner.
func ownerSuspensionCommand(r *remote, c *cobra.Command, question, done string,
	decide func(s *client.OrganizationService, ctx context.Context, organizationID, id string) (*client.SuspendedOwner, error)) *cobra.Command {
	var in struct {
		ID string
		ofOrganization
		confirmation
	}
	return newCommand(r, anywhere, &in, c, func(c *call) error {
		who := in.ID
		for one, err := range c.Organizations.SuspendedOwners(c, in.Organization.ID, client.ListParams{}) {
			if err != nil {
				return fmt.Errorf("read the suspended owners: %w", err)
			}
			if one.ID == in.ID {
				who = person(one.Name, one.Email)
			}
		}
		if err := c.confirm(in.confirmation, question, who); err != nil {
			return err
		}
		decided, err := decide(c.Organizations, c, in.Organization.ID, in.ID)
		if err != nil {
			return fmt.Errorf("decide about the suspended owner: %w", err)
		}
		c.say(done, who)
		return c.done(decided)
	})
}

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

// organizationFlag adds the flag that names an organization.
func (r *remote) organizationFlag(c *cobra.Command, ref *string) *cobra.Command {
	c.Flags().StringVar(ref, "organization", "", "id, slug or name of the organization; by default your only one")
	_ = c.RegisterFlagCompletionFunc("organization", r.completeOrganizations())
	return c
}

func newOwnersList(r *remote) *cobra.Command {
	var org string
	return r.organizationFlag(listCommand(r.terminal, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the owners",
		Example: `  bursar orgs owners list
  bursar orgs owners list --organization acme --jq '.[].email'`,
	}, list[api.User]{
		noun: "owners",
		rows: func(ctx context.Context, limit int) (iter.Seq2[api.User, error], error) {
			s, err := r.connect()
			if err != nil {
				return nil, err
			}
			o, err := s.findOrganization(ctx, org, "--organization")
			if err != nil {
				return nil, err
			}
			return s.Organizations.AllOwners(ctx, o.ID, client.ListParams{Limit: limit}), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"name", "email", "id"}, Empty: "This organization has no owners."}
		},
		cells: func(_ term.Format, u api.User) []string { return []string{u.Name, u.Email, u.ID} },
	}), &org)
}

func newOwnersAdd(r *remote) *cobra.Command {
	return r.newOwnerChange(&cobra.Command{
		Use: "add PERSON", Short: "Make a member of the organization an owner",
		Long: `Make a person an owner of the organization. They must be a member of it
already, with a verified address: PERSON is the email address or name of
somebody in one of your workspaces, or an id. Nothing changes if they already
are an owner.`,
		Example: `  bursar orgs owners add grace@example.com
  bursar orgs owners add usr_01jd2p3g5h7j9k1m3n5p7q9r1s --organization acme`,
	}, func(ctx context.Context, s *session, o api.Organization, ref string, _ bool) (any, error) {
		who, err := s.findPerson(ctx, o.ID, ref)
		if err != nil {
			return nil, err
		}
		done, err := s.Organizations.AddOwner(ctx, o.ID, who.ID)
		if err != nil {
			return nil, fmt.Errorf("add the owner: %w", err)
		}
		fmt.Fprintf(s.terminal.Err, "%s is an owner of %s.\n", term.Printable(person(who.Name, who.Email)), term.Printable(o.Name))
		return done, nil
	})
}

func newOwnersRemove(r *remote) *cobra.Command {
	return r.newOwnerChange(&cobra.Command{
		Use: "remove OWNER", Aliases: []string{"rm"}, Short: "End the ownership of somebody",
		Long: `End the ownership of somebody, who stays in the workspaces that they are in.
It takes effect on their next request. The last owner cannot be removed.`,
		Example: `  bursar orgs owners remove grace@example.com
  bursar orgs owners remove "Grace Hopper" --yes`,
	}, func(ctx context.Context, s *session, o api.Organization, ref string, yes bool) (any, error) {
		all, err := collect(s.Organizations.AllOwners(ctx, o.ID, client.ListParams{}))
		if err != nil {
			return nil, fmt.Errorf("list the owners: %w", err)
		}
		list := make([]candidate[api.User], len(all))
		for i, u := range all {
			list[i] = candidate[api.User]{u, u.ID, []string{u.Email, u.Name}, term.Printable(person(u.Name, u.Email)) + "  " + u.ID}
		}
		who, err := pick(ctx, s.terminal, "owner", ref, list)
		if err != nil {
			return nil, err
		}
		name, of := term.Printable(person(who.Name, who.Email)), term.Printable(o.Name)
		if err := s.terminal.Confirm(ctx, fmt.Sprintf("End the ownership of %s in %s?", name, of), yes); err != nil {
			return nil, err
		}
		done, err := s.Organizations.RemoveOwner(ctx, o.ID, who.ID)
		if err != nil {
			return nil, fmt.Errorf("remove the owner: %w", err)
		}
		fmt.Fprintf(s.terminal.Err, "%s is no longer an owner of %s.\n", name, of)
		return done, nil
	})
}

type ownerChange func(ctx context.Context, s *session, o api.Organization, ref string, yes bool) (any, error)

// newOwnerChange completes a command that takes a person.
func (r *remote) newOwnerChange(c *cobra.Command, change ownerChange) *cobra.Command {
	var f term.Format
	var org string
	var yes bool
	c.Args, c.ValidArgsFunction = cobra.ExactArgs(1), byPosition(r.completeMembers())
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := r.connect()
		if err != nil {
			return err
		}
		o, err := s.findOrganization(c.Context(), org, "--organization")
		if err != nil {
			return err
		}
		done, err := change(c.Context(), s, o, args[0], yes)
		if err != nil {
			return err
		}
		return f.Write(r.terminal, done, nothing)
	}
	if c.Name() != "add" {
		c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	}
	f.Bind(c, false)
	return r.organizationFlag(c, &org)
}

// findPerson finds a person in the caller's workspaces of an organization. An id is used without a search, because its owner may be in a
// workspace that the caller does not see.
func (s *session) findPerson(ctx context.Context, organizationID, ref string) (api.Member, error) {
	if strings.HasPrefix(ref, "usr_") {
		return api.Member{ID: ref, Name: ref}, nil
	}
	seen := map[string]bool{}
	var people []api.Member
	for w, err := range s.Workspaces.All(ctx, client.ListParams{}) {
		if err != nil {
			return api.Member{}, fmt.Errorf("list the workspaces: %w", err)
		}
		if w.OrganizationID != organizationID {
			continue
		}
		members, err := s.members(ctx, w.ID)
		if err != nil && !client.IsForbidden(err) {
			return api.Member{}, err
		}
		for _, m := range members {
			if !seen[m.ID] && m.Status != "invited" {
				seen[m.ID] = true
				people = append(people, m)
			}
		}
	}
	return pick(ctx, s.terminal, "person", ref, memberCandidates(people))
}

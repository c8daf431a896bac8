package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

// connectWorkspace connects to the server and finds the current workspace.
func (r *remote) connectWorkspace(ctx context.Context) (*session, api.Workspace, error) {
	s, err := r.connect()
	if err != nil {
		return nil, api.Workspace{}, err
	}
	w, err := r.currentWorkspace(ctx, s)
	return s, w, err
}

// commandGroup returns a command that only has subcommands.
func commandGroup(c *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	c.AddCommand(commands...)
	return c
}

func (s *session) members(ctx context.Context, workspaceID string) ([]api.Member, error) {
	all, err := collect(s.Members.All(ctx, workspaceID, client.ListParams{}))
	if err != nil {
		return nil, fmt.Errorf("list the members: %w", err)
	}
	return all, nil
}

func memberCandidates(all []api.Member) []candidate[api.Member] {
	list := make([]candidate[api.Member], len(all))
	for i, m := range all {
		list[i] = candidate[api.Member]{m, m.ID, []string{m.Email, m.Name}, term.Printable(person(m.Name, m.Email)) + "  " + m.ID}
	}
	return list
}

// findMember finds a member by email address, name or id. The id of an invitation stays valid after it is accepted, when the list no longer
// shows it.
func (s *session) findMember(ctx context.Context, workspaceID, ref string) (api.Member, error) {
	all, err := s.members(ctx, workspaceID)
	if err != nil {
		return api.Member{}, err
	}
	if strings.HasPrefix(ref, "inv_") && !slices.ContainsFunc(all, func(m api.Member) bool { return m.ID == ref }) {
		return api.Member{ID: ref, Name: ref}, nil
	}
	return pick(ctx, s.terminal, "member", ref, memberCandidates(all))
}

func (s *session) roles(ctx context.Context, workspaceID string) ([]api.Role, error) {
	all, err := collect(s.Roles.All(ctx, workspaceID, client.ListParams{}))
	if err != nil {
		return nil, fmt.Errorf("list the roles: %w", err)
	}
	return all, nil
}

// findRole finds a role by key or name.
func (s *session) findRole(ctx context.Context, workspaceID, ref string) (api.Role, error) {
	all, err := s.roles(ctx, workspaceID)
	if err != nil {
		return api.Role{}, err
	}
	list := make([]candidate[api.Role], len(all))
	for i, role := range all {
		list[i] = candidate[api.Role]{role, role.Key, []string{role.Name}, role.Key + "  " + term.Printable(role.Name)}
	}
	return pick(ctx, s.terminal, "role", ref, list)
}

func (s *session) organizations(ctx context.Context) ([]api.Organization, error) {
	all, err := collect(s.Organizations.All(ctx, client.ListParams{}))
	if err != nil {
		return nil, fmt.Errorf("list the organizations: %w", err)
	}
	return all, nil
}

// findOrganization finds an organization by id, slug or name. Without a reference it
// returns the only one.
func (s *session) findOrganization(ctx context.Context, ref, flag string) (api.Organization, error) {
	all, err := s.organizations(ctx)
	if err != nil {
		return api.Organization{}, err
	}
	list := make([]candidate[api.Organization], len(all))
	options := make([]string, len(all))
	for i, o := range all {
		options[i] = term.Printable(o.Name) + "  " + o.Slug + "  " + o.ID
		list[i] = candidate[api.Organization]{o, o.ID, []string{o.Slug, o.Name}, options[i]}
	}
	switch {
	case ref != "":
		return pick(ctx, s.terminal, "organization", ref, list)
	case len(all) == 0:
		return api.Organization{}, errors.New("you have no organization yet: create one with 'bursar orgs create NAME'")
	case len(all) == 1:
		return all[0], nil
	case !s.terminal.Interactive():
		return api.Organization{}, term.Usagef("you have several organizations: choose one with %s\n  %s", flag, strings.Join(options, "\n  "))
	}
	i, err := s.terminal.Choose(ctx, "Which organization?", options)
	if err != nil {
		return api.Organization{}, err
	}
	return all[i], nil
}

// findKey finds a key of the user by id or name.
func (s *session) findKey(ctx context.Context, ref string) (api.APIKey, error) {
	all, err := collect(s.Keys.All(ctx, client.ListParams{}))
	if err != nil {
		return api.APIKey{}, fmt.Errorf("list the keys: %w", err)
	}
	list := make([]candidate[api.APIKey], len(all))
	for i, k := range all {
		list[i] = candidate[api.APIKey]{k, k.ID, []string{k.Name}, term.Printable(k.Name) + "  " + k.ID + "  created " + localTime(k.CreatedAt)}
	}
	return pick(ctx, s.terminal, "key", ref, list)
}

// person returns a name and an email address, as far as known.
func person(name, email string) string {
	switch {
	case name == "":
		return email
	case email == "":
		return name
	}
	return name + " <" + email + ">"
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

// work connects and finds the workspace that a command works in.
func (r *remote) connectWorkspace(ctx context.Context) (*session, api.Workspace, error) {
	s, err := r.connect()
	if err != nil {
		return nil, api.Workspace{}, err
	}
	w, err := r.currentWorkspace(ctx, s)
	return s, w, err
}

// family makes a command that only holds others.
func commandGroup(c *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	c.Args = cobra.NoArgs
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(commands...)
	return c
}

// span is how many rows of a list are asked for.
type span struct {
	limit int
	all   bool
}

func (s *span) bind(c *cobra.Command) {
	c.Flags().IntVar(&s.limit, "limit", 50, "how many rows to show at most")
	c.Flags().BoolVar(&s.all, "all", false, "show every row")
	c.MarkFlagsMutuallyExclusive("limit", "all")
}

func (s *span) check() error {
	if !s.all && s.limit < 1 {
		return term.Usagef("--limit must be 1 or more, not %d", s.limit)
	}
	return nil
}

// page is how large pages are, so that one request is enough where it can be.
func (s *span) page() int {
	if s.all || s.limit >= 100 {
		return 100
	}
	return s.limit + 1
}

// take gathers the rows that are asked for, and says on stderr where there are more.
func take[T any](t Terminal, s span, all iter.Seq2[T, error]) ([]T, error) {
	rows := []T{}
	for row, err := range all {
		if err != nil {
			return nil, err
		}
		if !s.all && len(rows) == s.limit {
			fmt.Fprintf(t.Err, "These are the first %d: --limit N shows more, --all every one.\n", s.limit)
			break
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// gather reads a whole list, to find something in it.
func gather[T any](all iter.Seq2[T, error]) ([]T, error) {
	var rows []T
	for row, err := range all {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (s *session) members(ctx context.Context, workspaceID string) ([]api.Member, error) {
	all, err := gather(s.Members.All(ctx, workspaceID, client.ListParams{}))
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

// findMember finds who is meant by an email address, a name or an id.
func (s *session) findMember(ctx context.Context, workspaceID, ref string) (api.Member, error) {
	all, err := s.members(ctx, workspaceID)
	if err != nil {
		return api.Member{}, err
	}
	return pick(s.terminal, "member", ref, memberCandidates(all))
}

func (s *session) roles(ctx context.Context, workspaceID string) ([]api.Role, error) {
	all, err := gather(s.Roles.All(ctx, workspaceID, client.ListParams{}))
	if err != nil {
		return nil, fmt.Errorf("list the roles: %w", err)
	}
	return all, nil
}

// findRole finds the role that is meant by a key or a name.
func (s *session) findRole(ctx context.Context, workspaceID, ref string) (api.Role, error) {
	all, err := s.roles(ctx, workspaceID)
	if err != nil {
		return api.Role{}, err
	}
	list := make([]candidate[api.Role], len(all))
	for i, role := range all {
		list[i] = candidate[api.Role]{role, role.Key, []string{role.Name}, role.Key + "  " + term.Printable(role.Name)}
	}
	return pick(s.terminal, "role", ref, list)
}

func (s *session) organizations(ctx context.Context) ([]api.Organization, error) {
	all, err := gather(s.Organizations.All(ctx, client.ListParams{}))
	if err != nil {
		return nil, fmt.Errorf("list the organizations: %w", err)
	}
	return all, nil
}

// findOrganization finds the organization that is meant by an id, a slug or a name;
// without any, the only one that there is.
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
		return pick(s.terminal, "organization", ref, list)
	case len(all) == 0:
		return api.Organization{}, errors.New("you are in no organization yet: make one with 'bursar orgs create NAME'")
	case len(all) == 1:
		return all[0], nil
	case !s.terminal.Interactive():
		return api.Organization{}, term.Usagef("you are in several organizations: give %s\n  %s", flag, strings.Join(options, "\n  "))
	}
	i, err := s.terminal.Choose("Which organization?", options)
	if err != nil {
		return api.Organization{}, err
	}
	return all[i], nil
}

// findKey finds one's own key by its id or its name.
func (s *session) findKey(ctx context.Context, ref string) (api.APIKey, error) {
	all, err := gather(s.Keys.All(ctx, client.ListParams{}))
	if err != nil {
		return api.APIKey{}, fmt.Errorf("list the keys: %w", err)
	}
	list := make([]candidate[api.APIKey], len(all))
	for i, k := range all {
		list[i] = candidate[api.APIKey]{k, k.ID, []string{k.Name}, term.Printable(k.Name) + "  " + k.ID + "  made " + localTime(k.CreatedAt)}
	}
	return pick(s.terminal, "key of yours", ref, list)
}

// person is how somebody is told from others.
func person(name, email string) string {
	switch {
	case name == "":
		return email
	case email == "":
		return name
	}
	return name + " <" + email + ">"
}

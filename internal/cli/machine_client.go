package cli

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newMachineClients(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:     "clients",
		Aliases: []string{"client"},
		Short:   "List and rotate the machine clients of a workspace",
		Long: `A machine client is the account of a program in a workspace. It keeps working
when people leave, so rotate its secret when somebody who knows it does.
Machine clients are created in the console or with 'bursar admin client
create'.`,
		Example: `  bursar clients list
  bursar clients rotate "Nightly import"`,
	}, newMachineClientsList(r), newMachineClientsRotate(r))
}

func newMachineClientsList(r *remote) *cobra.Command {
	return r.inWorkspace(listCommand(r.terminal, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the machine clients",
		Long: `List the machine clients of the workspace without their secrets, and who was
shown the present secret: whoever created the client or rotated it last.
--json has the permissions and workspaces that a client is limited to.`,
		Example: `  bursar clients list
  bursar clients list --jq '.[] | {name, permissions}'`,
	}, list[api.MachineClient]{
		noun: "machine clients",
		rows: func(ctx context.Context, limit int) (iter.Seq2[api.MachineClient, error], error) {
			s, w, err := r.connectWorkspace(ctx)
			if err != nil {
				return nil, err
			}
			return s.MachineClients.All(ctx, w.ID, client.ListParams{Limit: limit}), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"name", "roles", "created", "last used", "secret known to", "id", "mode"},
				Detail: []string{"created", "mode"}, Empty: "This workspace has no machine clients."}
		},
		cells: func(f term.Format, m api.MachineClient) []string {
			when := orNever
			if f.CSV {
				when = exactTime
			}
			known := ""
			if m.SecretSeenBy != nil {
				known = person(m.SecretSeenBy.Name, m.SecretSeenBy.Email)
			}
			return []string{m.Name, strings.Join(m.Roles, ", "), when(m.CreatedAt), when(m.LastUsedAt), known, m.ID, m.Mode}
		},
	}))
}

func newMachineClientsRotate(r *remote) *cobra.Command {
	var f term.Format
	var yes bool
	c := &cobra.Command{
		Use: "rotate CLIENT", Short: "Give a machine client a new secret",
		Long: `Give a machine client, by id or name, a new secret and print it. It is shown
only once. The old secret and its sessions end immediately. If you are logged
in with an API key, the new secret works only from the key's networks and ends
with the key.`,
		Example: `  bursar clients rotate "Nightly import"
  bursar clients rotate cli_01jd2v8x0y2z4a6b8c0d2e4f6g --yes`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: byPosition(r.completeMachineClients()),
		RunE: func(c *cobra.Command, args []string) error {
			s, w, err := r.connectWorkspace(c.Context())
			if err != nil {
				return err
			}
			m, err := s.findMachineClient(c.Context(), w.ID, args[0])
			if err != nil {
				return err
			}
			if err := r.terminal.Confirm(c.Context(), fmt.Sprintf("Give %s (%s) a new secret? Anything using the old one will stop working immediately.", term.Printable(m.Name), m.ID), yes); err != nil {
				return err
			}
			made, err := s.rotateClient(c.Context(), w.ID, m)
			if err != nil {
				return err
			}
			return f.Write(r.terminal, made, func(out io.Writer) error {
				_, err := fmt.Fprintln(out, made.Secret)
				return err
			})
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.Bind(c, false)
	return r.inWorkspace(c)
}

// rotateClient gives a machine client a new secret, and prints a message.
func (s *session) rotateClient(ctx context.Context, workspaceID string, m api.MachineClient) (*api.NewMachineClient, error) {
	made, err := s.MachineClients.Rotate(ctx, workspaceID, m.ID)
	if err != nil {
		return nil, fmt.Errorf("rotate the machine client %s: %w", m.Name, err)
	}
	fmt.Fprintf(s.terminal.Err, "Gave machine client %s (%s) a new secret. Store it now: it is not shown again.\n", term.Printable(made.Name), made.ID)
	return made, nil
}

func (s *session) machineClients(ctx context.Context, workspaceID string) ([]api.MachineClient, error) {
	all, err := collect(s.MachineClients.All(ctx, workspaceID, client.ListParams{}))
	if err != nil {
		return nil, fmt.Errorf("list the machine clients: %w", err)
	}
	return all, nil
}

// findMachineClient finds a machine client by name or id.
func (s *session) findMachineClient(ctx context.Context, workspaceID, ref string) (api.MachineClient, error) {
	all, err := s.machineClients(ctx, workspaceID)
	if err != nil {
		return api.MachineClient{}, err
	}
	list := make([]candidate[api.MachineClient], len(all))
	for i, m := range all {
		list[i] = candidate[api.MachineClient]{m, m.ID, []string{m.Name}, term.Printable(m.Name) + "  " + m.ID}
	}
	return pick(ctx, s.terminal, "machine client", ref, list)
}

// clientsKnownTo returns the machine clients whose present secret was shown to a person. A caller who may not see machine clients gets
// none.
func (s *session) clientsKnownTo(ctx context.Context, workspaceID, userID string) ([]api.MachineClient, error) {
	all, err := s.machineClients(ctx, workspaceID)
	if client.IsForbidden(err) {
		return nil, nil
	}
	return slices.DeleteFunc(all, func(m api.MachineClient) bool { return m.SecretSeenBy == nil || m.SecretSeenBy.ID != userID }), err
}

func (r *remote) completeMachineClients() cobra.CompletionFunc {
	return r.completeHere(func(ctx context.Context, s *session, id string) ([]string, error) {
		all, err := s.machineClients(ctx, id)
		var words []string
		for _, m := range all {
			words = append(words, m.ID+"\t"+m.Name)
		}
		return words, err
	})
}

package cli

import (
	"fmt"
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
	return machineClients().newList(r, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the machine clients",
		Long: `List the machine clients of the workspace without their secrets, and who was
shown the present secret: whoever created the client or rotated it last.
--json has the permissions and workspaces that a client is limited to.`,
		Example: `  bursar clients list
  bursar clients list --jq '.[] | {name, permissions}'`,
	}, &term.Table{Columns: []string{"name", "roles", "created", "last used", "secret known to", "id", "mode"},
		Detail: []string{"created", "mode"}, Empty: "This workspace has no machine clients."}, func(c *call, m api.MachineClient) []string {
		known := ""
		if m.SecretSeenBy != nil {
			known = person(m.SecretSeenBy.Name, m.SecretSeenBy.Email)
		}
		return []string{m.Name, strings.Join(m.Roles, ", "), c.timeOrNever(m.CreatedAt), c.timeOrNever(m.LastUsedAt), known,
			m.ID, m.Mode}
	})
}

func newMachineClientsRotate(r *remote) *cobra.Command {
	var in struct {
		Client api.MachineClient
		confirmation
	}
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use: "rotate CLIENT", Short: "Give a machine client a new secret",
		Long: `Give a machine client, by id or name, a new secret and print it. It is shown
only once. The old secret and its sessions end immediately. If you are logged
in with an API key, the new secret works only from the key's networks and ends
with the key.`,
		Example: `  bursar clients rotate "Nightly import"
  bursar clients rotate cli_01jd2v8x0y2z4a6b8c0d2e4f6g --yes`,
	}, func(c *call) error {
		if err := c.confirm(in.confirmation, newSecretQuestion, in.Client.Name, in.Client.ID); err != nil {
			return err
		}
		made, err := rotateClient(c, in.Client)
		if err != nil {
			return err
		}
		return c.writeLine(made, made.Secret)
	})
}

// newSecretQuestion asks whether to give a machine client, by its name and id, a new secret.
const newSecretQuestion = "Give %s (%s) a new secret? Anything using the old one will stop working immediately."

// rotateClient gives a machine client a new secret, and prints a message.
func rotateClient(c *call, m api.MachineClient) (*api.NewMachineClient, error) {
	made, err := c.MachineClients.Rotate(c, c.workspace.ID, m.ID)
	if err != nil {
		return nil, fmt.Errorf("rotate the machine client %s: %w", m.Name, err)
	}
	c.say("Gave machine client %s (%s) a new secret. Store it now: it is not shown again.", made.Name, made.ID)
	return made, nil
}

// machineClients finds machine clients by name or id.
func machineClients() *resource[api.MachineClient] {
	return &resource[api.MachineClient]{
		noun: "machine client",
		list: func(c *call, at string, p client.ListParams) iter.Seq2[api.MachineClient, error] {
			return c.MachineClients.All(c, at, p)
		},
		item: func(m api.MachineClient) item {
			return item{m.ID, []string{m.Name}, m.Name + "  " + m.ID, described(m.ID, m.Name)}
		},
	}
}

// clientsKnownTo returns the machine clients whose present secret was shown to a person. A caller who may not see machine clients gets
// none.
func clientsKnownTo(c *call, userID string) ([]api.MachineClient, error) {
	all, err := machineClients().all(c)
	if client.IsForbidden(err) {
		return nil, nil
	}
	return slices.DeleteFunc(all, func(m api.MachineClient) bool { return m.SecretSeenBy == nil || m.SecretSeenBy.ID != userID }), err
}

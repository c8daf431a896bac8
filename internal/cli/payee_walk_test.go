package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"bursar/internal/server/servertest"
)

// harmless are the commands about payees and approvals that change no payee. The others are in commandsOn.
var harmless = []string{"directory duplicates", "directory export", "directory get", "directory history", "directory list", "directory search",
	"directory tags create", "directory tags delete", "directory tags list", "directory tags rename", "directory tags update", "receiving-methods list",
	"approvals extend", "approvals lines", "approvals list", "approvals show"}

// attempt is a command with its arguments.
type attempt struct {
	command string
	args    []string
}

// commandsOn are the commands by which one person tries to redirect money, those last that take a payee away.
func commandsOn(t *testing.T, p servertest.Payees, approvals []string) (all []attempt) {
	t.Helper()
	add := func(command string, args ...string) { all = append(all, attempt{command, args}) }
	ids := slices.Sorted(maps.Values(p.Entries))
	file := filepath.Join(t.TempDir(), "payees.csv")
	text := "id,type,name,external_id,status,method.provider,method.account_name,method.account_id\n"
	for _, id := range ids {
		text += id + ",person,Acme Power,ACM,active,bank,Ada,2002\n,person,Tiny,TIN,active,bank,Ada,2003\n"
		add("directory update", id, "--external-id", "")
		add("directory update", id, "--external-id", "ACM", "--label", "Acme Power", "--name", "Acme Power")
		add("directory update", id, "--status", "active", "-f", "name=Tiny")
		add("receiving-methods add", id, "--provider", "bank", "--account-name", "Ada", "--account-id", "2001", "--default")
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	add("directory import", file, "--match", "id", "--wait", "1m")
	for name, method := range p.Methods {
		add("receiving-methods update", p.Entries[name], method, "--account-id", "2004", "--default")
		add("receiving-methods default", p.Entries[name], method)
	}
	add("directory create", "--type", "person", "--name", "Acme Power", "--external-id", "ACM")
	for _, id := range approvals {
		add("approvals approve", id, "--verification", "called", "--digest", "unknown")
		add("approvals reject", id, "--reason", "unknown")
		add("approvals withdraw", id)
	}
	add("approvals policy", "--approval", "one_person", "--cooling-hours", "0")
	bulk := func(action string, tag ...string) {
		add("directory bulk "+action, append(slices.Concat(tag, ids), "--yes")...)
	}
	bulk("tag", "vip")
	bulk("untag", "vip")
	bulk("activate")
	add("directory restore", ids...)
	add("directory unmerge", p.Merge)
	for _, id := range ids {
		add("directory merge", id, p.Entries["Tiny"], "--take", "name="+p.Entries["Tiny"], "--take", "external_id="+p.Entries["Tiny"])
	}
	for _, method := range p.Methods {
		add("receiving-methods remove", p.Entries["Several"], method, "--yes")
	}
	bulk("deactivate")
	bulk("activate")
	bulk("delete")
	add("directory bulk undo", "no bulk")
	add("directory restore", ids...)
	add("directory delete", ids...)
	add("directory restore", ids...)
	return all
}

// No command lets one person change who is paid for a name, an external id or an entry. A new command about payees has to be in one of the
// tables.
func TestNoCommandChangesWhoIsPaidByOnePerson(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		n.RunBackground(t)
		folder, succeeded := t.TempDir(), map[string]bool{}
		for _, role := range []string{"member", "directory_manager", "admin"} {
			x := n.Tenant(t)
			p := x.Payees(t)
			one := x.Member(role)
			approvals := x.Owner.Get("/v1/approvals?workspace_id=" + x.WorkspaceID).OK().Column("id")
			watch, commands := x.WatchPayees(t), commandsOn(t, p, approvals)
			checkCommands(t, commands)
			for _, a := range commands {
				terminal, _, stderr := pipes("BURSAR_URL", n.URL, "BURSAR_TOKEN", one.Token, "BURSAR_WORKSPACE", x.WorkspaceID, "BURSAR_KEYRING", "off",
					"BURSAR_CONFIG_DIR", folder)
				code := Run(t.Context(), append(strings.Fields(a.command), a.args...), terminal)
				if code == exitUsage {
					t.Errorf("%s %v is no command: %s", a.command, a.args, stderr)
				}
				succeeded[a.command] = succeeded[a.command] || code == exitOK
				watch.Check(t, fmt.Sprint(a.command, a.args, " by a ", role))
			}
		}
		for _, command := range []string{"directory update", "directory merge", "directory bulk activate", "receiving-methods add"} {
			if !succeeded[command] {
				t.Errorf("%s never succeeds, so it shows nothing", command)
			}
		}
	})
}

// checkCommands fails the test if a command about payees or approvals is in no table.
func checkCommands(t *testing.T, commands []attempt) {
	t.Helper()
	terminal, _, _ := pipes()
	eachCommand(newRoot(terminal), func(c *cobra.Command) {
		_, name, _ := strings.Cut(c.CommandPath(), " ")
		group, _, _ := strings.Cut(name, " ")
		if c.HasSubCommands() || !slices.Contains([]string{"directory", "receiving-methods", "approvals"}, group) {
			return
		}
		changes := slices.ContainsFunc(commands, func(a attempt) bool { return a.command == name })
		if changes == slices.Contains(harmless, name) {
			t.Errorf("%s is in no table of commands, or in both", name)
		}
	})
}

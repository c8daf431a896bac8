// Package cli is the command line. The commands for one noun share a file with its name.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/client"
	"bursar/internal/audit"
	"bursar/internal/cli/term"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/vault"
	"bursar/internal/web"
)

const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	exitNoUser = 4
)

// Groups of commands in the help.
const (
	groupSession = "session"
	groupWork    = "work"
	groupMoney   = "money"
	groupServer  = "server"
)

// helpWidth is the maximum length of a line of the help, to fit a terminal of 80 columns.
const helpWidth = 78

// Terminal holds the streams and the environment of a command.
type Terminal = term.Terminal

// Run runs a command and returns its exit code.
func Run(ctx context.Context, args []string, t Terminal) int {
	root := newRoot(t)
	root.SetArgs(args)
	root.SetIn(t.In)
	root.SetOut(t.Out)
	root.SetErr(t.Err)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	var usage term.UsageError
	if errors.As(err, &usage) {
		fmt.Fprintf(t.Err, "bursar: %v\nRun '%s --help' for usage.\n", err, command.CommandPath())
		return exitUsage
	}
	// PostgreSQL is dialled with TLS and without, and both may fail for the same reason.
	for i, line := range slices.Compact(strings.Split(explain(err), "\n")) {
		if i == 0 {
			line = "bursar: " + line
		}
		fmt.Fprintln(t.Err, term.Printable(line))
	}
	if errors.Is(err, errSignedOut) || client.IsUnauthorized(err) {
		return exitNoUser
	}
	return exitFailed
}

func newRoot(t Terminal) *cobra.Command {
	root := &cobra.Command{
		Use:   "bursar",
		Short: "The front office of a payments platform",
		Long: `Bursar signs in people and machines, keeps a directory of who a workspace
pays, pays them, and records every action in an audit log. It is one program:
the server, its administration and its command line.

In CI, set BURSAR_URL, BURSAR_WORKSPACE and either BURSAR_API_KEY or
BURSAR_TOKEN instead of using 'bursar login' and 'bursar workspaces use'. The
key or token goes only to the server that BURSAR_URL names: without it they
are refused, and with --context they are not used.

Exit codes: 0 success, 1 failure, 2 usage error, 4 not signed in.`,
		Example: `  bursar serve
  bursar login http://127.0.0.1:8080
  bursar directory list --type person
  bursar directory import people.csv --dry-run
  bursar payouts create --to "Ada Lovelace" --amount 1,500.00`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetUsageTemplate(strings.NewReplacer(
		".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", helpWidth),
		"for more information about a command", "for more information",
	).Replace(root.UsageTemplate()))
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return term.Usage(flagError(c, err)) })
	r := &remote{terminal: t}
	root.PersistentFlags().StringVar(&r.contextName, "context", "", "use this server; see 'bursar context list'")
	root.AddGroup(&cobra.Group{ID: groupSession, Title: "Signing in:"}, &cobra.Group{ID: groupWork, Title: "Daily work:"}, &cobra.Group{ID: groupMoney, Title: "Paying:"}, &cobra.Group{ID: groupServer, Title: "Running a server:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupSession, newLogin(r), newLogout(r), newWhoami(r), newStatus(r), newContext(r))
	add(groupWork, newDirectory(r), newMethods(r), newWorkspaces(r), newMembers(r), newInvitations(r), newRoles(r), newMachineClients(r), newOrganizations(r), newKeys(r), newAudit(r), newAPI(r))
	add(groupMoney, newAccounts(r), newPayouts(r), newApprovals(r), newRules(r), newLimits(r), newRails(r), newInstitutions(r))
	add(groupServer, newServe(t), newInit(t), newAdmin(t), newBackup(t), newRestore(t), newMove(t), newOps(r), newVersion(t))
	_ = root.RegisterFlagCompletionFunc("context", r.contextNames)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	eachCommand(root, func(c *cobra.Command) {
		args := c.Args
		switch {
		case c.Name() == "help" && c.Parent() == root:
			args = unknownTopic
		case c.HasSubCommands():
			args = unknownCommand
			if c.RunE == nil { // 'admin audit' lists, and also has subcommands
				c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
			}
		case args == nil:
			args = cobra.ArbitraryArgs
		}
		if run := c.RunE; run != nil {
			c.RunE = func(c *cobra.Command, given []string) error { return r.explainCredential(run(c, given)) }
		}
		// Cobra's own errors become usage errors too, so that all have the same form and exit with code 2.
		c.Args = func(c *cobra.Command, given []string) error {
			for _, err := range []error{checkArguments(c, given, args), c.ValidateRequiredFlags(), c.ValidateFlagGroups()} {
				if err != nil {
					return term.Usage(err)
				}
			}
			return nil
		}
	})
	return root
}

func eachCommand(c *cobra.Command, fn func(*cobra.Command)) {
	fn(c)
	for _, sub := range c.Commands() {
		eachCommand(sub, fn)
	}
}

// require returns an error that names all missing flags.
func require(c *cobra.Command, names ...string) error {
	var missing []error
	for _, name := range names {
		if c.Flag(name).Value.String() == "" {
			missing = append(missing, fmt.Errorf("--%s is required", name))
		}
	}
	if len(missing) > 0 {
		return term.Usage(errors.Join(missing...))
	}
	return nil
}

// operator returns the actor in the audit log for commands that change the store directly: this program, and the operating system user who
// ran it. With sudo that user is root, and SUDO_USER names the user who ran sudo.
func operator() db.Caller {
	who := systemUser()
	if asked := os.Getenv("SUDO_USER"); asked != "" {
		who += ", sudo by " + strings.ToValidUTF8(asked, "\uFFFD")
	}
	return db.Caller{Actor: audit.SystemActor("bursar admin (" + who + ")")}
}

// systemUser returns the name of the operating system user. A user without a name in the system, as in a container, is a number. $USER is
// not used, because anyone can set it.
func systemUser() string {
	u, err := user.Current()
	if err != nil {
		return fmt.Sprint("uid ", os.Getuid())
	}
	if _, err := user.LookupId(u.Uid); err != nil {
		return "uid " + u.Uid
	}
	return u.Username
}

func openStore(ctx context.Context, store db.Config) (*db.DB, error) {
	d, err := db.Open(ctx, store)
	if err != nil {
		return nil, hintStore(fmt.Errorf("open the store: %w", err))
	}
	return d, nil
}

// hintStore adds to an error which setting to check if PostgreSQL is unreachable.
func hintStore(err error) error {
	var hinted hintedError
	var network *net.OpError
	var name *net.DNSError
	if errors.As(err, &hinted) || !errors.As(err, &network) && !errors.As(err, &name) {
		return err
	}
	return withHint(err, "Is PostgreSQL running, and is the address in --database-url (BURSAR_DATABASE_URL) right?")
}

// openVault returns the vault of a store. On SQLite it creates the first key if there is none. It reports a new key on out.
func openVault(d *db.DB, store config.Store, out io.Writer) *vault.Vault {
	return vault.New(d, vault.Config{
		KeyFile: store.VaultFile(), Command: store.VaultCommand, Make: store.DatabaseURL == "",
		Tell: func(text string) { fmt.Fprintln(out, text) },
	})
}

// withStore opens the store, runs fn and closes the store. The vault stays closed until fn uses it, so that a command without secrets works
// without the key.
func withStore(ctx context.Context, t Terminal, store config.Store, fn func(s openedStore) error) (err error) {
	d, err := openStore(ctx, store.DB())
	if err != nil {
		return err
	}
	defer func() { err = hintStore(errors.Join(err, d.Close())) }()
	v := openVault(d, store, t.Err)
	// The cursors of this process are never shown to others, so they need no key.
	return fn(openedStore{identity.New(d, v, web.NewCursors(nil), identity.Config{}), d, v, store})
}

func printJSON(out io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	_, err = fmt.Fprintln(out, string(text))
	return err
}

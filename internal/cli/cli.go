// Package cli is the command line: one file a noun.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"bursar/client"
	"bursar/internal/audit"
	"bursar/internal/cli/term"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/web"
)

const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	exitNoUser = 4
)

// Commands are listed by what they are for.
const (
	groupSession = "session"
	groupWork    = "work"
	groupServer  = "server"
)

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
		fmt.Fprintf(t.Err, "bursar: %v\nRun '%s --help' for how it is used.\n", err, command.CommandPath())
		return exitUsage
	}
	for i, line := range strings.Split(explain(err), "\n") {
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
		Long: `Bursar logs people and machines in, keeps a directory of whom a workspace pays,
and leaves an audit entry for every action. It is one program: the server, its
administration and its command line.

For CI, BURSAR_URL, BURSAR_API_KEY or BURSAR_TOKEN, and BURSAR_WORKSPACE stand in
for what 'bursar login' and 'bursar workspaces use' remember.

Exit codes: 0 done, 1 failed, 2 typed wrong, 4 not signed in.`,
		Example: `  bursar serve
  bursar login http://127.0.0.1:8080
  bursar directory list --type person
  bursar directory import people.csv --dry-run`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return term.Usage(err) })
	r := &remote{terminal: t}
	root.PersistentFlags().StringVar(&r.contextName, "context", "", "work with this server of 'bursar context list'")
	root.AddGroup(&cobra.Group{ID: groupSession, Title: "Signing in:"}, &cobra.Group{ID: groupWork, Title: "Daily work:"}, &cobra.Group{ID: groupServer, Title: "Running a server:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupSession, newLogin(r), newLogout(r), newWhoami(r), newStatus(r), newContext(r))
	add(groupWork, newDirectory(r), newMethods(r), newWorkspaces(r), newMembers(r), newRoles(r), newOrganizations(r), newKeys(r), newAudit(r), newAPI(r))
	add(groupServer, newServe(t), newInit(t), newAdmin(t))
	root.SuggestionsMinimumDistance = 2
	_ = root.RegisterFlagCompletionFunc("context", r.contextNames)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	eachCommand(root, func(c *cobra.Command) {
		args := c.Args
		if !c.Runnable() {
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
			args = cobra.NoArgs
		}
		if args == nil {
			args = cobra.ArbitraryArgs
		}
		if c.Name() == "help" && c.Parent() == root {
			args = knownTopic
		}
		// Whatever is typed wrong is told as such, whoever finds it.
		c.Args = func(c *cobra.Command, given []string) error {
			for _, check := range []error{args(c, given), c.ValidateRequiredFlags(), c.ValidateFlagGroups()} {
				if check != nil {
					return term.Usage(check)
				}
			}
			return nil
		}
	})
	return root
}

// knownCommand refuses what is no command, and says what may be meant.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("there is no command %q", args[0])
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return errors.New(text)
}

// knownTopic refuses to help with what is no command.
func knownTopic(c *cobra.Command, args []string) error {
	found, rest, err := c.Root().Find(args)
	if err == nil && len(rest) > 0 {
		return knownCommand(found, rest)
	}
	return err
}

// version is that of the module, or of the commit that it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && info.Main.Version == "(devel)" {
			return "devel " + setting.Value
		}
	}
	return info.Main.Version
}

func eachCommand(c *cobra.Command, fn func(*cobra.Command)) {
	fn(c)
	for _, sub := range c.Commands() {
		eachCommand(sub, fn)
	}
}

// require says which flags are missing, all at once.
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

// operator is whom the audit log names for what is done at the command line.
func operator() db.Caller { return db.Caller{Actor: audit.SystemActor("bursar admin")} }

// withStore opens the store, runs fn and closes the store.
func withStore(ctx context.Context, store config.Store, fn func(d *db.DB, id *identity.Service) error) (err error) {
	d, err := db.Open(ctx, store.DB())
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	cursorKey, err := identity.Prepare(ctx, d)
	if err != nil {
		return err
	}
	return fn(d, identity.New(d, web.NewCursors(cursorKey), identity.Config{}))
}

func printJSON(out io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	_, err = fmt.Fprintln(out, string(text))
	return err
}

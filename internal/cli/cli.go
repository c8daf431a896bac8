// Package cli is the command line: one file a noun.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"bursar/internal/audit"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/web"
)

// Terminal is the world as a command sees it.
type Terminal struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	Env func(string) (string, bool)
}

const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a command that was typed wrong.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

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
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(t.Err, "bursar: %v\nRun '%s --help' for how it is used.\n", err, command.CommandPath())
		return exitUsage
	}
	fmt.Fprintf(t.Err, "bursar: %s\n", explain(err))
	return exitFailed
}

// explain is an error without the code that only programs care for.
func explain(err error) string {
	var f *fault.Fault
	if errors.As(err, &f) {
		return f.Message
	}
	return err.Error()
}

func newRoot(t Terminal) *cobra.Command {
	root := &cobra.Command{
		Use:   "bursar",
		Short: "The front office of a payments platform",
		Long: `Bursar logs people and machines in, keeps a directory of whom a workspace pays,
and leaves an audit entry for every action. It is one program: the server, its
administration and its command line.`,
		Example: `  bursar serve
  bursar init --email ada@example.com --name "Ada Lovelace" --organization Acme --workspace Treasury
  bursar admin api-key create --user ada@example.com --name laptop`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newServe(t), newInit(t), newAdmin(t))
	eachCommand(root, func(c *cobra.Command) {
		if args := c.Args; args != nil {
			c.Args = func(c *cobra.Command, given []string) error {
				if err := args(c, given); err != nil {
					return usageError{err}
				}
				return nil
			}
		}
	})
	return root
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
		return usageError{errors.Join(missing...)}
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

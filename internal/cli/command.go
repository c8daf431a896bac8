package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/internal/cli/term"
)

// place is what a command has to do with workspaces.
type place int

const (
	anywhere          place = iota // it has no workspace
	workspaceIfNeeded              // --workspace is looked up when a name needs it
	inWorkspace                    // --workspace is looked up before the command runs
)

// call is one run of a command: a context for its requests, the session, and what the command writes.
type call struct {
	context.Context
	*session
	r         *remote
	workspace api.Workspace // of a command inWorkspace
	command   *cobra.Command
	args      []string
	format    term.Format
}

// newCommand completes a command that calls the server. in points to a struct with its flags and arguments, see bindInputs; it is nil if
// there are none. Before run, the flags are checked, the server is connected, and everything that in names is found.
func newCommand(r *remote, at place, in any, c *cobra.Command, run func(c *call) error) *cobra.Command {
	return newCommandAs(r, at, in, c, false, run)
}

// newTable completes a command that writes a whole table, which CSV is for, too.
func newTable(r *remote, at place, in any, c *cobra.Command, run func(c *call) error) *cobra.Command {
	return newCommandAs(r, at, in, c, true, run)
}

// newTask completes a command that writes no result, and so has no flags for its format.
func newTask(r *remote, at place, in any, c *cobra.Command, run func(c *call) error) *cobra.Command {
	start := bindInputs(r, at, in, c)
	c.RunE = func(c *cobra.Command, args []string) error {
		on, err := start(c, args)
		if err != nil {
			return err
		}
		return run(on)
	}
	return c
}

func newCommandAs(r *remote, at place, in any, c *cobra.Command, table bool, run func(c *call) error) *cobra.Command {
	var format term.Format
	newTask(r, at, in, c, func(c *call) error {
		c.format = format
		return run(c)
	})
	format.Bind(c, table)
	return c
}

// commandGroup returns a command that only has subcommands.
func commandGroup(c *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	c.AddCommand(commands...)
	return c
}

// call returns a run with a session.
func (r *remote) call(ctx context.Context, s *session) *call {
	return &call{Context: ctx, session: s, r: r}
}

// here returns the workspace that the command works in.
func (c *call) here() (w api.Workspace, err error) {
	if c.workspace.ID == "" {
		c.workspace, err = c.currentWorkspace()
	}
	return c.workspace, err
}

// given reports whether a flag is given, empty or not.
func (c *call) given(flag string) bool { return c.command.Flags().Changed(flag) }

// say writes a sentence to standard error, because standard output is for results.
func (c *call) say(format string, args ...any) { _ = c.r.say(format, args...) }

// confirm asks the person before the command changes something, unless they passed --yes.
func (c *call) confirm(with confirmation, question string, args ...any) error {
	return c.terminal.Confirm(c, term.Printable(fmt.Sprintf(question, args...)), with.Yes)
}

// write writes the result: the value as JSON, or else what forPerson writes.
func (c *call) write(value any, forPerson func(w io.Writer) error) error {
	return c.format.Write(c.r.terminal, value, forPerson)
}

// done writes a result that a sentence has described to a person.
func (c *call) done(value any) error { return c.write(value, nothing) }

// writeLine writes a result, which is one line for a person.
func (c *call) writeLine(value any, line string) error {
	return c.write(value, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, line)
		return err
	})
}

// writePairs writes a result, which is alternating names and values for a person.
func (c *call) writePairs(value any, pairs ...string) error {
	return c.write(value, func(w io.Writer) error { return term.WritePairs(c.r.terminal, w, pairs...) })
}

// filled returns the names and values whose value is not empty.
func filled(pairs ...string) (some []string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			some = append(some, pairs[i], pairs[i+1])
		}
	}
	return some
}

// writeTable writes the table of a command of newTable.
func (c *call) writeTable(value any, table *term.Table) error {
	return c.format.WriteTable(c.r.terminal, value, table)
}

// time returns a time for a cell of a table: local for a person, exact in CSV.
func (c *call) time(ms int64) string {
	if c.format.CSV {
		return exactTime(ms)
	}
	return localTime(ms)
}

// timeOrNever returns a time for a cell of a table, which is "never" for a person if there is none.
func (c *call) timeOrNever(ms int64) string {
	if ms == 0 && !c.format.CSV {
		return "never"
	}
	return c.time(ms)
}

// confirmation is the flag of a command that asks before it changes something.
type confirmation struct {
	Yes bool `flag:"yes,y" usage:"do not ask"`
}

// ofOrganization is the flag that names an organization.
type ofOrganization struct {
	Organization api.Organization `flag:"organization" usage:"id, slug or name of the organization; by default your only one"`
}

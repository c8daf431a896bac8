// Command testrun runs several `go test` commands side by side and reports on all of them as one:
//
//	testrun -- CGO_ENABLED=0 -vet=off ./... -- -race ./internal/db/...
//
// Each group after -- is the environment, flags and packages of one command. testrun prints a line when a package
// ends, the output of what failed, and at the end the slowest packages and tests and the reasons of skipped tests. It
// exits with 1 if anything failed. An interrupted run continues where it ended: go test does not repeat a package that
// passed unless something has changed that it reads.
//
// With -profile it also measures where the CPU time goes; see profile.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		code = 1
	}
	stop()
	os.Exit(code)
}

// heartbeat is how often a run prints what it is doing while no package ends.
const heartbeat = time.Minute

// group is one go test command.
type group struct {
	env, flags, packages []string
}

// parseGroups splits the arguments after the flags at each --.
func parseGroups(args []string) (groups []group, err error) {
	for _, arg := range args {
		switch last := len(groups) - 1; {
		case arg == "--":
			groups = append(groups, group{})
		case last < 0:
			return nil, fmt.Errorf("%q must come after --", arg)
		case strings.HasPrefix(arg, "-"):
			groups[last].flags = append(groups[last].flags, arg)
		case strings.Contains(arg, "=") && len(groups[last].packages) == 0:
			groups[last].env = append(groups[last].env, arg)
		default:
			groups[last].packages = append(groups[last].packages, arg)
		}
	}
	for _, g := range groups {
		if len(g.packages) == 0 {
			return nil, fmt.Errorf("a group has no packages: %s", strings.Join(g.flags, " "))
		}
	}
	return groups, nil
}

// command returns a go command with the environment of the group. When the context ends, the command is interrupted and
// waits for the running tests, which Ctrl-C also interrupts.
func (g group) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), g.env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	return cmd
}

// list replaces patterns such as ./... by packages, in the order given.
func (g *group) list(ctx context.Context) error {
	out, err := g.command(ctx, append([]string{"list"}, g.packages...)...).Output()
	if err != nil {
		return fmt.Errorf("list %s: %w", strings.Join(g.packages, " "), describe(err))
	}
	g.packages = strings.Fields(string(out))
	return nil
}

func describe(err error) error {
	if exit, ok := err.(*exec.ExitError); ok && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}

func run(ctx context.Context, args []string, out io.Writer) (code int, err error) {
	flags := flag.NewFlagSet("testrun", flag.ContinueOnError)
	profiled := flags.Bool("profile", false, "measure where the CPU time goes; Linux, as root")
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	if err := flags.Parse(args[:end]); err != nil {
		return 2, err
	}
	if flags.NArg() > 0 {
		return 2, fmt.Errorf("%q must come after --", flags.Arg(0))
	}
	groups, err := parseGroups(args[end:])
	if err != nil {
		return 2, err
	}
	r := newReport(out)
	for i := range groups {
		if err := groups[i].list(ctx); err != nil {
			return 1, err
		}
		r.expect(groups[i].packages)
	}
	var p *profile
	if *profiled {
		if p, err = startProfile(len(groups)); err != nil {
			return 1, err
		}
		defer p.close()
	}
	var running sync.WaitGroup
	for i, g := range groups {
		running.Go(func() {
			if err := g.test(ctx, r, p.flags(i)); err != nil {
				r.failed(err)
			}
		})
	}
	ticker := time.NewTicker(heartbeat)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				r.beat()
			case <-done:
				return
			}
		}
	}()
	running.Wait()
	ticker.Stop()
	close(done)
	passed := r.summary(ctx.Err() != nil)
	if p != nil {
		if err := p.print(out, groups); err != nil {
			return 1, err
		}
	}
	if !passed || ctx.Err() != nil {
		return 1, nil
	}
	return 0, nil
}

// test runs go test and passes its events to the report.
func (g group) test(ctx context.Context, r *report, extra []string) error {
	cmd := g.command(ctx, slices.Concat([]string{"test", "-json"}, extra, g.flags, g.packages)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := r.read(events)
	// It exits with 1 if a test failed. Then an event names the test.
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != 1 && ctx.Err() == nil {
		return fmt.Errorf("go test: %w", err)
	}
	return readErr
}

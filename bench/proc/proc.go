// Package proc runs servers as child processes that do not outlive the benchmark.
package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// stopLimit is how long a server may take to end by itself.
const stopLimit = 15 * time.Second

// Command is what to run.
type Command struct {
	Path string
	Args []string
}

// Process is a running server.
type Process struct {
	process *os.Process
	journal *journal
	exited  chan struct{}
	state   string // set when exited is closed
}

// Start runs a server in a process group of its own, so that Ctrl-C reaches the
// benchmark alone, which then stops its servers in order.
func Start(c Command) (*Process, error) {
	j, err := newJournal()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env = environment()
	cmd.Stdout, cmd.Stderr = j.file, j.file
	cmd.SysProcAttr = attributes()
	p := &Process{journal: j, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel ends a child with the thread that started it, not with the
		// process, so that thread does nothing else.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // the state says it all: there is no input or output to fail
		p.state = cmd.ProcessState.String()
		close(p.exited)
	}()
	if err := <-started; err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", c.Path, err), j.close())
	}
	p.process = cmd.Process
	go j.keepShort(p.exited)
	return p, nil
}

// environment keeps settings of the product that the user has for other ends away.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "BURSAR_") })
}

// Stop ends the server and all that it started. Stopping twice does nothing.
func (p *Process) Stop() error {
	select {
	case <-p.exited:
		return p.journal.close()
	default:
	}
	if err := p.process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the server: %w", err)
	}
	var err error
	select {
	case <-p.exited:
	case <-time.After(stopLimit):
		err = fmt.Errorf("the server did not end within %s", stopLimit)
	}
	killGroup(p.process.Pid)
	<-p.exited
	return errors.Join(err, p.journal.close())
}

// Died is an error if the server is not running any more.
func (p *Process) Died() error {
	select {
	case <-p.exited:
		return fmt.Errorf("the server ended (%s): %s", p.state, p.journal.tail())
	default:
		return nil
	}
}

// Output runs a command to its end and returns what it printed.
func Output(ctx context.Context, c Command) ([]byte, error) {
	runtime.LockOSThread() // see Start
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Env = environment()
	cmd.SysProcAttr = attributes()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopLimit
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return nil, fmt.Errorf("%s: %w: %s", cmd, err, lastLine(failed.Stderr))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	return out, nil
}

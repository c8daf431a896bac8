package pgcluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// server is a running postmaster.
type server struct {
	process *os.Process
	exited  chan struct{}
	status  string // set when exited is closed
}

// startServer starts the postmaster in a goroutine that waits until it exits. The kernel
// ends the postmaster when the thread that forked it ends, not only when the process does.
// So the goroutine stays locked to that thread until the postmaster has exited.
func startServer(cmd *exec.Cmd) (*server, error) {
	s := &server{exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // the exit state is read below, and there is no input or output that could fail
		s.status = cmd.ProcessState.String()
		close(s.exited)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("running postgres: %w", err)
	}
	s.process = cmd.Process
	return s, nil
}

func (s *server) running() bool {
	if s == nil {
		return false
	}
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

// shutDown requests a fast shutdown and waits for it.
func (s *server) shutDown() error {
	if err := s.signal(syscall.SIGINT); err != nil {
		return err
	}
	limit := time.NewTimer(stopLimit)
	defer limit.Stop()
	select {
	case <-s.exited:
		return nil
	case <-limit.C:
		return fmt.Errorf("the server did not shut down within %v", stopLimit)
	}
}

// kill ends the postmaster and its children. It suspends the postmaster first, so that it
// neither starts children nor reaps them. Unreaped children keep their process ids from
// being reused. The children are killed one by one, because they are not in the
// postmaster's process group. A busy child would notice late that the postmaster has ended.
func (s *server) kill() error {
	children, err := s.freeze()
	for _, child := range children {
		if killErr := syscall.Kill(child, syscall.SIGKILL); killErr != nil {
			err = errors.Join(err, fmt.Errorf("killing server process %d: %w", child, killErr))
		}
	}
	if killErr := s.signal(syscall.SIGKILL); killErr != nil {
		return errors.Join(err, killErr)
	}
	<-s.exited
	return errors.Join(err, awaitGone(children))
}

// freeze stops the postmaster and returns the ids of its children.
func (s *server) freeze() (children []int, err error) {
	if err := s.signal(syscall.SIGSTOP); err != nil {
		return nil, err
	}
	err = poll("the server to freeze", func() (bool, error) {
		processes, err := processTable()
		return !s.running() || processes[s.process.Pid].state == 'T', err
	})
	if err != nil {
		return nil, err
	}
	processes, err := processTable()
	for pid, entry := range processes {
		if entry.parent == s.process.Pid {
			children = append(children, pid)
		}
	}
	return children, err
}

func (s *server) signal(sig syscall.Signal) error {
	if err := s.process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("sending %v to the server: %w", sig, err)
	}
	return nil
}

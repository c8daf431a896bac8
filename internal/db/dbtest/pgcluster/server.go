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

// startServer starts the postmaster and holds it until it exits. The kernel
// ends it with the thread that forked it, not with the process, so that
// thread is kept from doing, or ending with, anything else.
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
		_ = cmd.Wait() // the state says it all: there is no input or output to fail
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

// shutDown asks for a fast shutdown and waits for it.
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

// kill ends the postmaster and its children. It stops the postmaster first:
// then no child is added, and as none is reaped their ids stay theirs. They
// are not in its process group, and when busy would notice its end late.
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

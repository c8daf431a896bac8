package pgcluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// process is an entry of the system's process table.
type process struct {
	parent int
	state  byte // as ps shows it: T is stopped, Z is dead but not reaped
}

// awaitGone waits until none of the processes runs.
func awaitGone(pids []int) error {
	return poll("the server's processes to end", func() (bool, error) {
		processes, err := processTable()
		if err != nil {
			return false, err
		}
		for _, pid := range pids {
			// The process that adopts an orphan may be slow to reap it, so a zombie counts
			// as gone.
			if entry, found := processes[pid]; found && entry.state != 'Z' {
				return false, nil
			}
		}
		return true, nil
	})
}

func poll(what string, done func() (bool, error)) error {
	limit := time.NewTimer(stopLimit)
	defer limit.Stop()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for {
		ok, err := done()
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		if ok {
			return nil
		}
		select {
		case <-ticker.C:
		case <-limit.C:
			return fmt.Errorf("waiting for %s: not within %v", what, stopLimit)
		}
	}
}

// kill ends the server and removes the files that it would have removed itself. If its lock
// files stayed and another process got the process id in them, the server would refuse to
// start again.
func (c *Cluster) kill() error {
	if err := c.server.kill(); err != nil {
		return fmt.Errorf("killing PostgreSQL: %w", err)
	}
	pidFile := filepath.Join(c.dataDir(), "postmaster.pid")
	err := removeSharedMemory(pidFile)
	socket := filepath.Join(c.sockets, fmt.Sprintf(".s.PGSQL.%d", c.port))
	for _, path := range []string{pidFile, socket, socket + ".lock"} {
		if removeErr := os.Remove(path); !errors.Is(removeErr, os.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	if err != nil {
		return fmt.Errorf("clearing up after killing PostgreSQL: %w", err)
	}
	return nil
}

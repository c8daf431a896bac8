// Package pgcluster starts throwaway PostgreSQL clusters from the installed
// binaries, so that tests need no database service to be up. It is for tests
// only: every connection is trusted, and a cluster is deleted when stopped.
//
// On Linux a cluster ends with the process that started it, however that process ends.
// Elsewhere a cluster that is not stopped outlives the process.
package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	superuser   = "postgres"
	maintenance = "postgres"

	// startLimit and stopLimit turn a hung server into an error even if the caller's
	// context has no deadline.
	startLimit = time.Minute
	stopLimit  = 20 * time.Second
)

// Options are the settings of a cluster. By default it prefers speed to durability.
type Options struct {
	TCP     bool // listen on 127.0.0.1 besides the unix socket, and use it in URLs
	Durable bool // keep every committed transaction through Kill
	// Data is a folder that MoveData has created. The cluster starts with a copy of it instead of an empty
	// one.
	Data string
	// Settings are additional settings of the server, as name=value. They override the others.
	Settings []string
}

// Cluster is one PostgreSQL server with its own data. Its methods may be
// called concurrently.
type Cluster struct {
	opts    Options
	binDir  string
	dir     string
	sockets string // not in dir, because its path may be too long for a socket
	port    int
	account *syscall.Credential // nil: the current user

	mu      sync.Mutex
	server  *server
	stopped bool
}

// Dir returns the folder of all files of the cluster, its write-ahead log included.
func (c *Cluster) Dir() string { return c.dir }

// Start creates a cluster in dir, which must be missing or empty, and waits
// until it accepts connections. An empty dir means a new temporary one. Stop
// removes dir, as does a failed start. The context limits the start only.
//
// For root, the server runs as an unprivileged user, who must have access to dir. A
// folder below t.TempDir does not give it.
func Start(ctx context.Context, dir string, opts Options) (*Cluster, error) {
	binDir, err := Find()
	if err != nil {
		return nil, err
	}
	account, err := serverAccount()
	if err != nil {
		return nil, err
	}
	c := &Cluster{opts: opts, binDir: binDir, account: account}
	if c.dir, err = claimDir(dir, account); err != nil {
		return nil, err
	}
	if err := c.create(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("starting PostgreSQL from %s: %w", binDir, err), c.remove())
	}
	return c, nil
}

func (c *Cluster) create(ctx context.Context) (err error) {
	if c.sockets, err = socketDir(c.account); err != nil {
		return err
	}
	if c.opts.Data == "" {
		err = c.initdb(ctx)
	} else {
		err = c.copyData(ctx)
	}
	if err != nil {
		return err
	}
	if c.port, err = choosePort(c.opts.TCP); err != nil {
		return err
	}
	return c.launch(ctx)
}

// Kill ends the server and all its processes at once, as a power cut would,
// and keeps the data for Restart. Killing a dead server does nothing.
func (c *Cluster) Kill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.server.running() {
		return nil
	}
	return c.kill()
}

// Restart starts a killed server again, at the same addresses.
func (c *Cluster) Restart(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return errors.New("restarting PostgreSQL: the cluster was stopped and removed")
	}
	if c.server.running() {
		return errors.New("restarting PostgreSQL: it is still running")
	}
	if err := c.launch(ctx); err != nil {
		return fmt.Errorf("restarting PostgreSQL: %w", err)
	}
	return nil
}

// Stop shuts the server down, disconnecting its clients, and removes all of
// its files. Stopping twice does nothing.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	c.stopped = true
	var err error
	if c.server.running() {
		if err = c.server.shutDown(); err != nil {
			err = errors.Join(err, c.kill())
		}
	}
	return errors.Join(err, c.remove())
}

// MoveData shuts the server down and moves its data to a new folder on the same disk. After that the cluster can only be
// stopped.
func (c *Cluster) MoveData(folder string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.server.shutDown(); err != nil {
		return err
	}
	if err := os.Rename(c.dataDir(), folder); err != nil {
		return fmt.Errorf("keeping the data: %w", err)
	}
	return nil
}

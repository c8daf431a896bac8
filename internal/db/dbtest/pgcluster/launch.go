package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

func (c *Cluster) initdb(ctx context.Context) error {
	var err error
	for _, locale := range []string{"C.UTF-8", "C"} { // older systems lack C.UTF-8
		cmd := exec.CommandContext(ctx, filepath.Join(c.binDir, "initdb"),
			"--pgdata="+c.dataDir(), "--username="+superuser, "--auth=trust",
			"--encoding=UTF8", "--locale="+locale, "--no-sync", "--no-instructions")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.account}
		// If initdb were killed, its child process would continue to write into the folder.
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		cmd.WaitDelay = stopLimit
		if err = c.logged(cmd, cmd.Run); err == nil {
			return nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return c.withLog(fmt.Errorf("running initdb: %w", err))
}

// copyData gives the cluster a copy of the data in its options.
func (c *Cluster) copyData(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "cp", "-a", c.opts.Data, c.dataDir()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("copying %s: %w: %s", c.opts.Data, err, out)
	}
	return nil
}

// launch runs the server and waits until it accepts connections.
func (c *Cluster) launch(ctx context.Context) error {
	cmd := exec.Command(filepath.Join(c.binDir, "postgres"), c.arguments()...)
	cmd.SysProcAttr = serverAttributes(c.account)
	err := c.logged(cmd, func() (err error) {
		c.server, err = startServer(cmd)
		return err
	})
	if err != nil {
		return err
	}
	if err := c.awaitReady(ctx); err != nil {
		err = c.withLog(err)
		if c.server.running() {
			err = errors.Join(err, c.kill())
		}
		return err
	}
	return nil
}

func (c *Cluster) arguments() []string {
	listen, durable := "", "off"
	if c.opts.TCP {
		listen = "127.0.0.1"
	}
	if c.opts.Durable {
		durable = "on"
	}
	args := []string{"-D", c.dataDir()}
	for _, setting := range append([]string{
		"listen_addresses=" + listen,
		"port=" + strconv.Itoa(c.port),
		"unix_socket_directories=" + c.sockets,
		"fsync=" + durable,
		"synchronous_commit=" + durable,
		"full_page_writes=" + durable,
		"max_connections=200",
		"shared_buffers=16MB",
		// The memory is mapped from files in the data folder and not in /dev/shm, so that it
		// is removed together with the cluster.
		"dynamic_shared_memory_type=mmap",
	}, c.opts.Settings...) {
		args = append(args, "-c", setting)
	}
	return args
}

// logged starts a command whose output goes to the log. The log is a file and not a pipe,
// because a full pipe would block the server.
func (c *Cluster) logged(cmd *exec.Cmd, start func() error) error {
	log, err := os.OpenFile(c.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("opening the server's log: %w", err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = "/" // the server's account may have no access to the current folder
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "LC_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	// With TZ set, initdb does not have to search the system for the name of the time zone.
	cmd.Env = append(cmd.Env, "LC_ALL=C", "TZ=UTC")
	return errors.Join(start(), log.Close())
}

// awaitReady waits until the server accepts connections. It connects through the socket,
// because another process could have the TCP port; the port is open before the socket is.
func (c *Cluster) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		conn, err := pgx.Connect(ctx, c.socketURL(maintenance, ""))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-c.server.exited:
			return fmt.Errorf("the server ended while starting: %s", c.server.status)
		case <-ctx.Done():
			return fmt.Errorf("waiting for the server to accept connections: %w; last answer: %w", ctx.Err(), err)
		case <-ticker.C:
		}
	}
}

package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// Standby starts a cluster that follows c. It takes the settings of c.
func (c *Cluster) Standby(ctx context.Context) (*Cluster, error) {
	s := &Cluster{opts: c.opts, binDir: c.binDir, account: c.account}
	var err error
	if s.dir, err = claimDir("", s.account); err != nil {
		return nil, err
	}
	if s.sockets, err = socketDir(s.account); err == nil {
		if s.port, err = choosePort(s.opts.TCP); err == nil {
			err = s.Follow(ctx, c)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting a standby: %w", err), s.remove())
	}
	return s, nil
}

// Follow makes a killed server a standby of another, whose data it copies, at its own addresses.
func (c *Cluster) Follow(ctx context.Context, primary *Cluster) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server.running() {
		return errors.New("following another server: it is still running")
	}
	if err := os.RemoveAll(c.dataDir()); err != nil {
		return fmt.Errorf("removing the old data: %w", err)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(c.binDir, "pg_basebackup"), "--pgdata="+c.dataDir(), "--host="+primary.sockets, "--port="+strconv.Itoa(primary.port),
		"--username="+superuser, "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.account}
	cmd.WaitDelay = stopLimit
	if err := c.logged(cmd, cmd.Run); err != nil {
		return c.withLog(fmt.Errorf("running pg_basebackup: %w", err))
	}
	return c.launch(ctx)
}

// Promote makes a standby the primary, and waits until it is.
func (c *Cluster) Promote(ctx context.Context) error {
	if err := c.exec(ctx, "SELECT pg_promote()"); err != nil {
		return fmt.Errorf("promoting the standby: %w", err)
	}
	return nil
}

// PauseReplay makes a standby receive the log of its primary without replaying it, and waits until it
// does.
func (c *Cluster) PauseReplay(ctx context.Context) error {
	err := c.exec(ctx, `SELECT pg_wal_replay_pause();
		DO $$ BEGIN WHILE pg_get_wal_replay_pause_state() <> 'paused' LOOP PERFORM pg_sleep(0.002); END LOOP; END $$`)
	if err != nil {
		return fmt.Errorf("pausing the standby: %w", err)
	}
	return nil
}

// ResumeReplay ends a pause.
func (c *Cluster) ResumeReplay(ctx context.Context) error {
	if err := c.exec(ctx, "SELECT pg_wal_replay_resume()"); err != nil {
		return fmt.Errorf("resuming the standby: %w", err)
	}
	return nil
}

// WaitForStandbys turns on or off that commits wait until a standby has them.
func (c *Cluster) WaitForStandbys(ctx context.Context, wait bool) error {
	names := "''"
	if wait {
		names = "'*'"
	}
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = " + names, "SELECT pg_reload_conf()"} {
		if err := c.exec(ctx, sql); err != nil {
			return fmt.Errorf("setting whether to wait for standbys: %w", err)
		}
	}
	return nil
}

// URLOfAll returns the address of a database on whichever of several servers has it. The servers
// listen on TCP.
func URLOfAll(database string, all ...*Cluster) string {
	hosts := ""
	for i, c := range all {
		if i > 0 {
			hosts += ","
		}
		hosts += net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port))
	}
	return all[0].url(hosts, database, "", url.Values{})
}

// Pair is a primary and its synchronous standby.
type Pair struct{ Primary, Standby *Cluster }

// StartPair starts two servers whose commits are on both disks before they are answered.
func StartPair(ctx context.Context) (*Pair, error) {
	primary, err := Start(ctx, "", Options{TCP: true, Durable: true})
	if err != nil {
		return nil, err
	}
	standby, err := primary.Standby(ctx)
	if err != nil {
		return nil, errors.Join(err, primary.Stop())
	}
	p := &Pair{primary, standby}
	if err := primary.WaitForStandbys(ctx, true); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// URL returns the address of the store, on whichever of the two is the primary.
func (p *Pair) URL() string { return URLOfAll("postgres", p.Primary, p.Standby) }

// FailOver kills the primary and promotes the standby. Then it calls promoted, and makes the former
// primary follow the new one.
func (p *Pair) FailOver(ctx context.Context, promoted func()) error {
	if err := errors.Join(p.Primary.Kill(), p.Standby.Promote(ctx)); err != nil {
		return err
	}
	p.Primary, p.Standby = p.Standby, p.Primary
	if err := p.Primary.WaitForStandbys(ctx, false); err != nil { // there is no standby
		return err
	}
	promoted()
	if err := p.Standby.Follow(ctx, p.Primary); err != nil {
		return err
	}
	return p.Primary.WaitForStandbys(ctx, true)
}

// Stop stops both servers.
func (p *Pair) Stop() error { return errors.Join(p.Standby.Stop(), p.Primary.Stop()) }

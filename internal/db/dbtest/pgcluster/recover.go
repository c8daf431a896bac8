package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// Archiving returns the settings with which a server archives its log to the folder archive beside its
// data, as docs/operating.md describes for production servers.
func Archiving() []string {
	return []string{"archive_mode=on", "archive_command=mkdir -p ../archive && test ! -f ../archive/%f && cp %p ../archive/%f"}
}

// BaseBackup copies the files of a running server, for Recover. The copy has its own addresses.
func (c *Cluster) BaseBackup(ctx context.Context) (*Cluster, error) {
	s := &Cluster{opts: Options{TCP: c.opts.TCP, Durable: c.opts.Durable}, binDir: c.binDir, account: c.account}
	var err error
	if s.dir, err = claimDir("", s.account); err != nil {
		return nil, err
	}
	if s.sockets, err = socketDir(s.account); err == nil {
		if s.port, err = choosePort(s.opts.TCP); err == nil {
			cmd := exec.CommandContext(ctx, filepath.Join(c.binDir, "pg_basebackup"), "--pgdata="+s.dataDir(), "--host="+c.sockets, "--port="+strconv.Itoa(c.port),
				"--username="+superuser, "--wal-method=stream", "--checkpoint=fast", "--no-sync")
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.account}
			cmd.WaitDelay = stopLimit
			err = s.logged(cmd, cmd.Run)
		}
	}
	if err != nil {
		return nil, errors.Join(s.withLog(fmt.Errorf("running pg_basebackup: %w", err)), s.remove())
	}
	return s, nil
}

// Recover starts a base backup and lets it follow the archived log of another server up to a restore point.
func (c *Cluster) Recover(ctx context.Context, from *Cluster, restorePoint string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	settings, err := os.OpenFile(filepath.Join(c.dataDir(), "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("setting what to recover: %w", err)
	}
	_, err = fmt.Fprintf(settings, "restore_command = 'cp %s/%%f %%p'\nrecovery_target_name = '%s'\nrecovery_target_action = 'promote'\n", filepath.Join(from.dir, "archive"), restorePoint)
	signal := filepath.Join(c.dataDir(), "recovery.signal")
	if err := errors.Join(err, settings.Close(), os.WriteFile(signal, nil, 0o600), give(signal, c.account)); err != nil {
		return fmt.Errorf("setting what to recover: %w", err)
	}
	return c.launch(ctx)
}

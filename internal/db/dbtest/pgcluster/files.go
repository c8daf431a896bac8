package pgcluster

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// serverAccount returns the user to run the server as, nil for the current
// one: PostgreSQL refuses to run as root.
func serverAccount() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		if account, err = user.Lookup("nobody"); err != nil {
			return nil, fmt.Errorf("looking for a user to run PostgreSQL as: %w", err)
		}
	}
	uid, uidErr := strconv.ParseUint(account.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(account.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return nil, fmt.Errorf("reading the ids of user %s: %w", account.Username, err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// claimDir creates dir, or a temporary folder, and gives it to the account. It refuses a
// folder that is not empty, because Stop removes the folder.
func claimDir(dir string, account *syscall.Credential) (string, error) {
	if dir == "" {
		return makeTemp(os.TempDir(), account)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the cluster's folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making the cluster's folder: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("checking that the cluster's folder is empty: %w", err)
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("the cluster's folder %s is not empty", dir)
	}
	return dir, give(dir, account)
}

func socketDir(account *syscall.Credential) (string, error) {
	// A socket's path has at most 103 bytes on some systems, and the names
	// below this folder take about 40 of them.
	const longestParent = 60
	parent := os.TempDir()
	if len(parent) > longestParent {
		parent = "/tmp"
	}
	return makeTemp(parent, account)
}

// makeTemp leaves the mode at 0700. The server trusts every connection, so no other user
// of a shared machine may reach its socket.
func makeTemp(parent string, account *syscall.Credential) (string, error) {
	dir, err := os.MkdirTemp(parent, "pgcluster-")
	if err != nil {
		return "", fmt.Errorf("making a folder for the cluster: %w", err)
	}
	if err := give(dir, account); err != nil {
		return "", errors.Join(err, os.Remove(dir))
	}
	return dir, nil
}

func give(dir string, account *syscall.Credential) error {
	if account == nil {
		return nil
	}
	if err := os.Chown(dir, int(account.Uid), int(account.Gid)); err != nil {
		return fmt.Errorf("giving %s to the server's user: %w", dir, err)
	}
	return nil
}

func (c *Cluster) remove() error {
	err := os.RemoveAll(c.dir)
	if c.sockets != "" {
		err = errors.Join(err, os.RemoveAll(c.sockets))
	}
	if err != nil {
		return fmt.Errorf("removing the cluster: %w", err)
	}
	return nil
}

func (c *Cluster) dataDir() string { return filepath.Join(c.dir, "data") }

func (c *Cluster) logFile() string { return filepath.Join(c.dir, "postgres.log") }

// withLog adds the end of the server's log to an error about the server.
func (c *Cluster) withLog(err error) error {
	const tail = 2000
	log, readErr := os.ReadFile(c.logFile())
	if readErr != nil {
		return errors.Join(err, fmt.Errorf("reading the server's log: %w", readErr))
	}
	if len(log) > tail {
		log = log[len(log)-tail:]
	}
	return fmt.Errorf("%w; the log ends:\n%s", err, strings.TrimSpace(string(log)))
}

package pgcluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

const oldestVersion = 15

// ErrNotInstalled is returned by Find when this machine has no usable PostgreSQL server.
var ErrNotInstalled = errors.New("PostgreSQL is not installed")

// Find returns the folder of the initdb and postgres to run: $BURSAR_PG_BIN,
// then PATH, then the newest one in the usual places.
func Find() (binDir string, err error) {
	var refused []string
	for _, places := range candidates() {
		newest := 0
		for _, place := range places {
			version, err := serverVersion(place)
			switch {
			case errors.Is(err, os.ErrNotExist):
			case err != nil:
				refused = append(refused, err.Error())
			case version < oldestVersion:
				refused = append(refused, fmt.Sprintf("%s has version %d", place, version))
			case version > newest:
				newest, binDir = version, place
			}
		}
		if binDir != "" {
			return binDir, nil
		}
	}
	err = fmt.Errorf("%w: no initdb and postgres of version %d or later in $BURSAR_PG_BIN, PATH or the usual places",
		ErrNotInstalled, oldestVersion)
	if len(refused) > 0 {
		err = fmt.Errorf("%w (%s)", err, strings.Join(refused, "; "))
	}
	return "", err
}

// candidates lists folders by preference; within one group the newest wins.
func candidates() [][]string {
	var groups [][]string
	if dir := os.Getenv("BURSAR_PG_BIN"); dir != "" {
		if dir, err := filepath.Abs(dir); err == nil {
			groups = append(groups, []string{dir})
		}
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		// A folder of symbolic links may have one for postgres and none for initdb. Then
		// initdb is beside the target of the link.
		if real, err := filepath.EvalSymlinks(path); err == nil {
			groups = append(groups, []string{filepath.Dir(real)})
		}
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/local/opt/postgresql*/bin",
		"/opt/homebrew/opt/postgresql*/bin",
	} {
		if places, err := filepath.Glob(pattern); err == nil {
			groups = append(groups, places)
		}
	}
	return groups
}

// serverVersion returns the major version of the server in binDir, and
// os.ErrNotExist if initdb or postgres is missing there.
func serverVersion(binDir string) (int, error) {
	for _, name := range []string{"initdb", "postgres"} {
		if _, err := os.Stat(filepath.Join(binDir, name)); err != nil {
			return 0, fmt.Errorf("looking for %s: %w", name, err)
		}
	}
	postgres := filepath.Join(binDir, "postgres")
	out, err := exec.Command(postgres, "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("asking %s for its version: %w", postgres, err)
	}
	return parseVersion(string(out))
}

// parseVersion reads the major version out of "postgres (PostgreSQL) 15.14
// (Debian 15.14-0)", and also of "16beta1" and "17devel".
func parseVersion(line string) (int, error) {
	_, rest, _ := strings.Cut(line, "(PostgreSQL) ")
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	version, err := strconv.Atoi(rest[:digits])
	if err != nil {
		return 0, fmt.Errorf("reading the PostgreSQL version in %q: %w", strings.TrimSpace(line), err)
	}
	return version, nil
}

package pgcluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// serverAttributes make the server shut down at once when its parent dies.
func serverAttributes(account *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: account, Pdeathsig: syscall.SIGQUIT}
}

func processTable() (map[int]process, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("listing the processes: %w", err)
	}
	table := make(map[int]process, len(paths))
	for _, path := range paths {
		stat, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // the process has ended since it was listed
		}
		if err != nil {
			return nil, fmt.Errorf("reading about a process: %w", err)
		}
		// "pid (name) state parent ...", where the name may contain anything.
		var pid, parent int
		var state byte
		_, pidErr := fmt.Sscanf(string(stat), "%d", &pid)
		_, restErr := fmt.Sscanf(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " %c %d", &state, &parent)
		if err := errors.Join(pidErr, restErr); err != nil {
			return nil, fmt.Errorf("parsing %s: %w", path, err)
		}
		table[pid] = process{parent: parent, state: state}
	}
	return table, nil
}

// removeSharedMemory removes the System V segment of a killed server, which the seventh
// line of its pid file names by key and id. The kernel would keep the segment. A
// restarted server replaces it, but not every killed server is restarted.
func removeSharedMemory(pidFile string) error {
	content, err := os.ReadFile(pidFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the server was killed before it wrote the file
	}
	if err != nil {
		return fmt.Errorf("reading the server's pid file: %w", err)
	}
	lines := strings.Split(string(content), "\n")
	if len(lines) < 7 || len(strings.Fields(lines[6])) != 2 {
		return nil
	}
	id, err := strconv.Atoi(strings.Fields(lines[6])[1])
	if err != nil {
		return fmt.Errorf("parsing the server's pid file: %w", err)
	}
	const ipcRmid = 0
	_, _, errno := syscall.Syscall(syscall.SYS_SHMCTL, uintptr(id), ipcRmid, 0)
	if errno != 0 && errno != syscall.EINVAL && errno != syscall.EIDRM { // both errors mean that the segment is already gone
		return fmt.Errorf("removing shared memory segment %d: %w", id, errno)
	}
	return nil
}

//go:build !linux

package pgcluster

import (
	"bytes"
	"fmt"
	"os/exec"
	"syscall"
)

func serverAttributes(account *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: account}
}

func processTable() (map[int]process, error) {
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,state=").Output()
	if err != nil {
		return nil, fmt.Errorf("listing the processes: %w", err)
	}
	table := make(map[int]process)
	for line := range bytes.Lines(out) {
		var pid, parent int
		var state byte
		if _, err := fmt.Sscanf(string(line), "%d %d %c", &pid, &parent, &state); err != nil {
			return nil, fmt.Errorf("parsing %q of ps: %w", line, err)
		}
		table[pid] = process{parent: parent, state: state}
	}
	return table, nil
}

// removeSharedMemory leaves the segment to the restarted server.
func removeSharedMemory(string) error { return nil }

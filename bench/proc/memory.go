package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// Memory is what a process has in the machine's memory, in bytes.
type Memory struct {
	Now  int64
	Peak int64 // since it started
}

// Memory reads what the kernel knows; only Linux tells.
func (p *Process) Memory() (Memory, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.process.Pid))
	if err != nil {
		return Memory{}, fmt.Errorf("read the memory of the server: %w", err)
	}
	return parseMemory(status)
}

func parseMemory(status []byte) (m Memory, err error) {
	for key, into := range map[string]*int64{"VmRSS:": &m.Now, "VmHWM:": &m.Peak} {
		_, rest, found := bytes.Cut(status, []byte("\n"+key))
		fields := bytes.Fields(rest)
		if !found || len(fields) < 2 || string(fields[1]) != "kB" {
			return Memory{}, fmt.Errorf("the kernel does not tell %s", key)
		}
		kib, err := strconv.ParseInt(string(fields[0]), 10, 64)
		if err != nil {
			return Memory{}, fmt.Errorf("read %s: %w", key, err)
		}
		*into = kib << 10
	}
	return m, nil
}

package subject

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// tick is the unit of the kernel's CPU times, which is the same on all of Linux's machines that Go supports.
const tick = 10 * time.Millisecond

// CPUTime returns the CPU time that a server of accounts has taken so far, with that of PostgreSQL.
func (s *Server) CPUTime(ctx context.Context) (time.Duration, error) {
	if s.process == nil {
		return 0, errors.New("read the CPU time of the server: it is not running")
	}
	own, err := readStat(strconv.Itoa(s.process.cmd.Process.Pid))
	pg := s.client.(*money).postgres
	if err != nil || pg == nil {
		return own.used, err
	}
	theirs, err := pg.cpuTime(ctx)
	return own.used + theirs, err
}

// cpuTime returns the CPU time of all processes of PostgreSQL, with those that have ended.
func (p *Postgres) cpuTime(ctx context.Context) (total time.Duration, err error) {
	var parent string
	if err := p.query(ctx, p.cluster.URL("postgres", ""), `SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1)`, &parent); err != nil {
		return 0, err
	}
	all, err := filepath.Glob("/proc/[0-9]*")
	for _, folder := range all {
		pid := filepath.Base(folder)
		is, statErr := readStat(pid)
		switch {
		case errors.Is(statErr, os.ErrNotExist), errors.Is(statErr, syscall.ESRCH): // it has ended
		case statErr != nil:
			err = errors.Join(err, statErr)
		case pid == parent:
			total += is.used + is.ended
		case is.parent == parent:
			total += is.used
		}
	}
	return total, err
}

// stat is what the kernel reports of a process.
type stat struct {
	parent      string
	used, ended time.Duration // CPU time of the process, and of its children that have ended
}

func readStat(pid string) (stat, error) {
	text, err := os.ReadFile("/proc/" + pid + "/stat") // Linux only
	if err != nil {
		return stat{}, fmt.Errorf("read the CPU time of a process: %w", err)
	}
	return parseStat(text)
}

func parseStat(text []byte) (s stat, err error) {
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // the name before may have spaces
	if len(fields) < 15 {
		return s, fmt.Errorf("the kernel reports no CPU time: %.100q", text)
	}
	s.parent = string(fields[1])
	for i, into := range []*time.Duration{&s.used, &s.used, &s.ended, &s.ended} {
		ticks, err := strconv.ParseInt(string(fields[11+i]), 10, 64)
		if err != nil {
			return s, fmt.Errorf("read the CPU time: %w", err)
		}
		*into += time.Duration(ticks) * tick
	}
	return s, nil
}

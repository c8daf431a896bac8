package main

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// profile measures the CPU time of a run by program, from the process accounting of Linux: compilers, tests, browsers,
// databases, the program itself. For builds and tests of go test it also measures by package and group, from the action
// graph. The accounting covers the whole machine and rounds each process down to hundredths of a second. It does not
// include processes that still run.
type profile struct {
	dir    string
	groups int
}

func startProfile(groups int) (*profile, error) {
	dir, err := os.MkdirTemp("", "bursar-profile-")
	if err != nil {
		return nil, err
	}
	p := &profile{dir: dir, groups: groups}
	if err := os.WriteFile(p.accounting(), nil, 0o600); err != nil {
		return nil, errors.Join(err, p.close())
	}
	if err := account(p.accounting()); err != nil {
		return nil, errors.Join(fmt.Errorf("account for processes, which takes root on Linux: %w", err), p.close())
	}
	return p, nil
}

func (p *profile) close() error {
	_ = account("")
	return os.RemoveAll(p.dir)
}

func (p *profile) accounting() string { return filepath.Join(p.dir, "accounting") }

func (p *profile) graph(group int) string {
	return filepath.Join(p.dir, fmt.Sprintf("graph-%d", group))
}

// flags returns the additional flags of a go test command.
func (p *profile) flags(group int) []string {
	if p == nil {
		return nil
	}
	return []string{"-debug-actiongraph=" + p.graph(group)}
}

// usage is the CPU time of some processes.
type usage struct {
	name  string
	cpu   time.Duration
	count int
}

// print writes a table, the largest first.
func (p *profile) print(out io.Writer, groups []group) error {
	var built, sums []usage
	for i, g := range groups {
		name := "compile and link"
		if slices.Contains(g.flags, "-race") {
			name += ", race detector"
		}
		total, packages, err := readGraph(p.graph(i), name)
		if err != nil {
			return err
		}
		sums = append(sums, total)
		built = append(built, packages...)
	}
	programs, err := readAccounting(p.accounting())
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "\nCPU time by program:")
	printUsage(out, programs, 20)
	fmt.Fprintln(out, "\nOf that, for building tests:")
	printUsage(out, sums, len(sums))
	fmt.Fprintln(out, "\nBy package:")
	printUsage(out, built, 20)
	return nil
}

func printUsage(out io.Writer, all []usage, most int) {
	slices.SortStableFunc(all, func(a, b usage) int { return cmp.Compare(b.cpu, a.cpu) })
	var sum time.Duration
	for i, u := range all {
		sum += u.cpu
		if i < most && u.cpu > 0 {
			fmt.Fprintf(out, "%9.1f s %7d  %s\n", u.cpu.Seconds(), u.count, u.name)
		}
	}
	fmt.Fprintf(out, "%9.1f s          in all\n", sum.Seconds())
}

// readGraph sums the CPU time of a go command's actions.
func readGraph(file, name string) (total usage, packages []usage, err error) {
	total.name = name
	text, err := os.ReadFile(file)
	if err != nil {
		return total, nil, err
	}
	var actions []struct {
		Mode, Package   string
		CmdUser, CmdSys time.Duration
	}
	if err := json.Unmarshal(text, &actions); err != nil {
		return total, nil, fmt.Errorf("read the action graph: %w", err)
	}
	for _, a := range actions {
		if cpu := a.CmdUser + a.CmdSys; cpu > 0 {
			total.cpu += cpu
			total.count++
			kind := ""
			if _, after, found := strings.Cut(name, ", "); found {
				kind = ", " + after
			}
			packages = append(packages, usage{a.Mode + " " + a.Package + kind, cpu, 1})
		}
	}
	return total, packages, nil
}

// accountingRecord is struct acct_v3 of linux/acct.h. Its times are hundredths of a second.
type accountingRecord struct {
	Flag, Version byte
	Terminal      uint16
	_             [6]uint32 // exit code, ids and time of start
	Elapsed       float32
	User, System  compressed
	_             [6]uint16 // memory, reads and writes, page faults
	Command       [16]byte
}

// compressed is a number with a base-8 exponent in its highest three bits.
type compressed uint16

func (c compressed) duration() time.Duration {
	return time.Duration(c&0x1fff) << (3 * (c >> 13)) * 10 * time.Millisecond
}

// readAccounting sums the CPU time of processes by program name.
func readAccounting(file string) (programs []usage, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	byName := map[string]*usage{}
	for {
		var r accountingRecord
		if err := binary.Read(f, binary.NativeEndian, &r); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read the accounting: %w", err)
		}
		name, _, _ := strings.Cut(string(r.Command[:]), "\x00")
		if byName[name] == nil {
			byName[name] = &usage{name: name}
		}
		byName[name].cpu += r.User.duration() + r.System.duration()
		byName[name].count++
	}
	for _, u := range byName {
		programs = append(programs, *u)
	}
	return programs, nil
}

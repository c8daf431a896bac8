package subject

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	startLimit = time.Minute      // for a server to answer
	stopLimit  = 15 * time.Second // for a server to end before it is killed
)

// process is a running server.
type process struct {
	cmd    *exec.Cmd
	stop   context.CancelFunc
	exited chan struct{}
}

// start runs a server without its output: a log on the disk of the stores would be flushed
// along with their commits, and where logs go is not what is measured.
func start(path string, args []string) (*process, error) {
	ctx, stop := context.WithCancel(context.Background())
	p := &process{cmd: command(ctx, path, args...), stop: stop, exited: make(chan struct{})}
	if err := p.cmd.Start(); err != nil {
		stop()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	go func() {
		_ = p.cmd.Wait() // ProcessState has the exit status; there is no other error to see
		close(p.exited)
	}()
	return p, nil
}

// command ends with SIGTERM when ctx does. Settings of the user for Bursar do not reach it.
func command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "BURSAR_") })
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopLimit
	return cmd
}

// output runs a program to its end and returns what it printed.
func output(ctx context.Context, path string, args ...string) ([]byte, error) {
	out, err := command(ctx, path, args...).Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return nil, fmt.Errorf("%s %s: %w: %s", path, args[0], err, lastLine(failed.Stderr))
	}
	return out, err
}

// end stops the server.
func (p *process) end() error {
	p.stop()
	<-p.exited
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		return fmt.Errorf("the server did not end within %s and was killed", stopLimit)
	}
	return nil
}

func lastLine(text []byte) string {
	text = bytes.TrimSpace(text)
	text = text[bytes.LastIndexByte(text, '\n')+1:]
	return string(text[:min(len(text), 400)])
}

// Probe is a request that a server answers with 200 once it is ready.
type Probe struct {
	URL    string
	Header map[string]string
}

// await sends the probe until the server answers.
func (p *process) await(ctx context.Context, probe Probe) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		err := call(ctx, client, http.MethodGet, probe.URL, probe.Header, "", nil)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("the server ended (%s); its command was %s", p.cmd.ProcessState, p.cmd)
		case <-ctx.Done():
			return fmt.Errorf("wait for the first answer: %w; last: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// call sends a request and decodes its answer. It is not part of what is measured.
func call(ctx context.Context, client *http.Client, method, address string, header map[string]string, body string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, address, err)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return err // names the method and the address
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, address, err)
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %.200s", method, address, response.Status, answer)
	}
	return decode(answer, into, method+" "+address)
}

// freeAddress returns an address on which no process listens, and no other server will, though all
// addresses are chosen before the first server starts. Its port is below those that kernels
// give to outgoing connections, so that none of them takes it before the server does.
func freeAddress() (string, error) {
	const first, count, attempts = 20000, 12000, 100
	var refused error
	for range attempts {
		host := "127.0.0.1"
		if runtime.GOOS == "linux" { // where all of 127.0.0.0/8 is this machine
			host = fmt.Sprintf("127.%d.%d.%d", rand.IntN(255), rand.IntN(255), 1+rand.IntN(254))
		}
		address := net.JoinHostPort(host, strconv.Itoa(first+rand.IntN(count)))
		listener, err := net.Listen("tcp", address)
		if err == nil {
			return address, listener.Close()
		}
		refused = err
	}
	return "", fmt.Errorf("find a free port: %w", refused)
}

// Memory is the resident memory of a process, in bytes.
type Memory struct {
	Now  int64
	Peak int64 // since it started
}

func (p *process) memory() (Memory, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid)) // Linux only
	if err != nil {
		return Memory{}, fmt.Errorf("read the memory of the server: %w", err)
	}
	return parseMemory(status)
}

func parseMemory(status []byte) (m Memory, err error) {
	for key, into := range map[string]*int64{"VmRSS:": &m.Now, "VmHWM:": &m.Peak} {
		_, rest, _ := bytes.Cut(status, []byte("\n"+key))
		fields := bytes.Fields(rest)
		if len(fields) < 2 || string(fields[1]) != "kB" {
			return Memory{}, fmt.Errorf("the kernel reports no %s", key)
		}
		kib, err := strconv.ParseInt(string(fields[0]), 10, 64)
		if err != nil {
			return Memory{}, fmt.Errorf("read %s: %w", key, err)
		}
		*into = kib << 10
	}
	return m, nil
}

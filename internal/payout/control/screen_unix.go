//go:build unix

package control

import (
	"os/exec"
	"syscall"
)

// endsTogether makes a command end together with all processes that it has started.
func endsTogether(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
}

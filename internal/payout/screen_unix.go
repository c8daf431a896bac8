//go:build unix

package payout

import (
	"os/exec"
	"syscall"
)

// endsTogether lets a command end with all that it has started.
func endsTogether(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
}

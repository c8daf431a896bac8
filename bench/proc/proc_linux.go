package proc

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// logFile is in memory: a log on the disk of the stores would be flushed along
// with their commits, and where logs go to is not what is measured.
func logFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("log", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	// After it was cut short the server must not go on where it was.
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_RDWR|unix.O_APPEND); err != nil {
		return nil, fmt.Errorf("append to a file in memory: %w", err)
	}
	return os.NewFile(uintptr(fd), "log"), nil
}

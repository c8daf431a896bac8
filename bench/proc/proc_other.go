//go:build !linux

package proc

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func logFile() (*os.File, error) {
	temp, err := os.CreateTemp("", "bursar-bench-log-")
	if err != nil {
		return nil, fmt.Errorf("make a log: %w", err)
	}
	file, err := os.OpenFile(temp.Name(), os.O_RDWR|os.O_APPEND, 0o600)
	return file, errors.Join(err, temp.Close(), os.Remove(temp.Name())) // it lives as long as it is open
}

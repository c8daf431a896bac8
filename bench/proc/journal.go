package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// journal is where a server logs to. A server may log every request, so all but
// the newest of it is thrown away.
type journal struct{ file *os.File }

const (
	longestJournal = 16 << 20
	longestTail    = 400
)

func newJournal() (*journal, error) {
	file, err := logFile()
	if err != nil {
		return nil, err
	}
	return &journal{file}, nil
}

func (j *journal) keepShort(until <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-until:
			return
		case <-tick.C:
		}
		if info, err := j.file.Stat(); err == nil && info.Size() > longestJournal {
			_ = j.file.Truncate(0) // if it fails, the log is longer than need be
		}
	}
}

// tail is the last line, for error messages.
func (j *journal) tail() string {
	info, err := j.file.Stat()
	if err != nil {
		return ""
	}
	from := max(info.Size()-1<<14, 0)
	text, err := io.ReadAll(io.NewSectionReader(j.file, from, info.Size()-from))
	if err != nil {
		return ""
	}
	return lastLine(text)
}

func lastLine(text []byte) string {
	text = bytes.TrimSpace(text)
	text = text[bytes.LastIndexByte(text, '\n')+1:]
	return string(text[:min(len(text), longestTail)])
}

func (j *journal) close() error {
	if err := j.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("close the log: %w", err)
	}
	return nil
}

// killGroup ends what a server leaves behind; mostly that is nothing.
func killGroup(leader int) { _ = syscall.Kill(-leader, syscall.SIGKILL) }

package continuous

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/superfly/ltx"

	"bursar/internal/db/sqlite"
)

// closed is the state of a store's file when it was closed.
type closed struct {
	Last ltx.TXID  `json:"last"`
	Size int64     `json:"size"`
	Time time.Time `json:"time"`
}

// continueShipping continues after the last cut of an earlier process. It can do so if the WAL still has that position, or if the
// store was closed there and has not changed since. Otherwise a number is left out, and a new base is needed.
func (s *Shipper) continueShipping() error {
	var was closed
	var jumped ltx.TXID
	// Malformed files are treated as missing.
	_ = getJSON(context.Background(), s.queue, jumpedName, &jumped)
	_ = getJSON(context.Background(), s.queue, closedName, &was) // outdated by the next cut, which has a higher number
	queued, err := s.sweepQueue()
	if err != nil {
		return err
	}
	var newest segment
	for _, q := range queued {
		s.last = max(s.last, q.max)
		if q.level == seconds && q.max >= newest.max {
			newest = q
		}
	}
	s.last = max(s.last, was.Last, jumped, 1)
	start, err := s.wal.Start()
	if err != nil {
		return err
	}
	if now, err := s.lookClosed(); err == nil && was.Last == s.last && now.Size == was.Size && now.Time.Equal(was.Time) {
		s.at.Store(&start)
		s.size = uint32(was.Size / int64(s.wal.PageSize()))
		return nil
	}
	if newest.max == s.last && newest.max != 0 {
		at, size, err := s.find(newest)
		if err == nil {
			s.at.Store(&at)
			s.size = size
			return nil
		}
		if !errors.Is(err, sqlite.ErrGap) {
			return err
		}
	}
	if s.last > 1 {
		s.Log.Warn("the backup needs a new base", "reason", "the store has changed since the last segment, and its log does not contain the changes")
	}
	return s.jump()
}

// sweepQueue removes unfinished files of a killed process, and lists the rest.
func (s *Shipper) sweepQueue() ([]segment, error) {
	err := filepath.WalkDir(string(s.queue), func(path string, entry fs.DirEntry, err error) error {
		isBase := filepath.Base(filepath.Dir(path)) == fmt.Sprint(bases)
		if err == nil && !entry.IsDir() && (strings.HasSuffix(path, unfinished) || isBase) {
			err = os.Remove(path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return list(context.Background(), s.queue)
}

// renewal records that the WAL was reset when everything up to a position was cut.
type renewal struct {
	After sqlite.Position `json:"after"`
	Salt  [8]byte         `json:"salt"` // of the new log
}

// noteRenewal records where a later process continues in a WAL that was reset and not cut yet, in case this process is
// killed. The writer calls it, so it does not wait for the disk. At worst, a record that a power loss destroys costs a new
// base.
func (s *Shipper) noteRenewal() {
	after := *s.at.Load()
	salt, ok := s.wal.Next(after)
	if !ok {
		return // it was cut already, or something is missing, which the next cut detects
	}
	text, err := json.Marshal(renewal{after, salt})
	if err == nil {
		err = os.WriteFile(s.queue.path(renewName), text, 0o600)
	}
	if err != nil {
		s.Log.Warn("the backup needs a new base if the server is killed now", "error", err)
	}
}

// find returns the position in the WAL after which a segment of the queue was cut.
func (s *Shipper) find(newest segment) (at sqlite.Position, size uint32, err error) {
	file, err := os.Open(s.queue.path(newest.name()))
	if err != nil {
		return at, 0, err
	}
	defer file.Close()
	h, _, err := ltx.PeekHeader(file)
	if err != nil {
		return at, 0, fmt.Errorf("%w: %s is damaged: %w", sqlite.ErrGap, newest.name(), err)
	}
	frame := (h.WALOffset + h.WALSize) / (int64(h.PageSize) + sqlite.FrameHeader)
	was := sqlite.Position{Salt: saltOf(h), Frame: uint32(frame), Checksum: h.NodeID}
	var noted renewal
	if getJSON(context.Background(), s.queue, renewName, &noted) == nil && noted.After == was {
		if at, err = s.wal.FindNext(was, noted.Salt); err == nil {
			return at, h.Commit, nil
		}
	}
	at, err = s.wal.Find(was)
	return at, h.Commit, err
}

func (s *Shipper) lookClosed() (closed, error) {
	info, err := os.Stat(filepath.Join(s.Dir, sqlite.FileName))
	if err != nil {
		return closed{}, err
	}
	return closed{Size: info.Size(), Time: info.ModTime()}, nil
}

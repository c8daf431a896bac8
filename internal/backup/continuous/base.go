package continuous

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/superfly/ltx"

	"bursar/internal/db/sqlite"
	"bursar/internal/work"
)

const (
	copyStep     = 1 << 20               // bytes that are read at a time
	copyRest     = 20 * time.Millisecond // between two steps: limits copying to 50 MB a second
	maxBasePause = 10 * time.Minute      // between two tries
)

// makeBases creates a base when one is needed, and every week.
func (s *Shipper) makeBases(ctx context.Context) {
	select {
	case <-s.met:
	case <-ctx.Done():
		return
	}
	pause := retryPause
	for {
		var due <-chan time.Time
		if last := s.Status().Base; !last.IsZero() {
			due = time.After(time.Until(last.Add(baseEvery)))
		}
		select {
		case <-s.needBase:
		case <-due:
		case <-ctx.Done():
			return
		}
		err := s.makeBase(ctx)
		s.failed("base", err)
		if err == nil {
			pause = retryPause
			continue
		}
		s.wantBase()
		if work.Sleep(ctx, pause) != nil {
			return
		}
		pause = min(2*pause, maxBasePause)
	}
}

// makeBase copies the database file during writes. The copy may contain all of a concurrent write, or half of it.
// The segments that are cut meanwhile have all of it, and are merged into the base in the end. So makeBase needs
// neither a lock nor a reader that keeps the WAL from being reset. It needs no segment from the target, which the
// server may not be able to read.
func (s *Shipper) makeBase(ctx context.Context) error {
	if err := s.checkOwner(ctx); err != nil { // before the work of copying
		return err
	}
	at, size, from, jumps, err := s.cutHere()
	if err != nil {
		return err
	}
	// The copy has no WAL, so everything up to the cut must be in the database.
	if err := s.awaitCopied(ctx, at); err != nil {
		return err
	}
	copied := s.queue.path("base" + unfinished)
	defer os.Remove(copied)
	if err := s.copyDatabase(ctx, copied, from, size); err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	_, _, to, now, err := s.cutHere()
	if err != nil {
		return err
	}
	if now != jumps {
		return errors.New("changes were lost while the database was copied")
	}
	made := segment{level: bases, min: 1, max: to}
	path := s.queue.path(made.name())
	defer os.Remove(path)
	if err := s.completeBase(ctx, path, copied, from, to); err != nil {
		return fmt.Errorf("complete the base: %w", err)
	}
	if err := s.checkOwner(ctx); err != nil { // after minutes of copying
		return err
	}
	if err := s.put(ctx, made); err != nil {
		return err
	}
	s.mu.Lock()
	s.status.Base = time.Now()
	s.mu.Unlock()
	s.cutting.Lock()
	defer s.cutting.Unlock()
	if s.jumps == jumps {
		s.mu.Lock()
		s.status.Broken = false
		s.mu.Unlock()
		select { // a request that arrived while this base was made is served too
		case <-s.needBase:
		default:
		}
	}
	s.Log.Info("the backup has a new base", "name", s.sealed(made).name())
	return nil
}

// cutHere cuts a segment and returns the position.
func (s *Shipper) cutHere() (at sqlite.Position, size uint32, last ltx.TXID, jumps int, err error) {
	if err := s.cut(); err != nil {
		return at, 0, 0, 0, err
	}
	s.cutting.Lock()
	defer s.cutting.Unlock()
	return *s.at.Load(), s.size, s.last, s.jumps, nil
}

func (s *Shipper) awaitCopied(ctx context.Context, at sqlite.Position) error {
	for {
		if err := s.Store.CopyLog(ctx); err != nil {
			return err
		}
		done, err := s.wal.IsCopied(at)
		if err != nil || done {
			return err
		}
		if err := work.Sleep(ctx, cutEvery); err != nil { // for readers of old pages
			return err
		}
	}
}

// copyDatabase writes the file of the database as a base.
func (s *Shipper) copyDatabase(ctx context.Context, path string, last ltx.TXID, size uint32) error {
	file, err := os.Open(filepath.Join(s.Dir, sqlite.FileName))
	if err != nil {
		return err
	}
	defer file.Close()
	pageSize := s.wal.PageSize()
	if size == 0 { // nothing has been cut yet
		info, err := file.Stat()
		if err != nil {
			return err
		}
		size = uint32(info.Size() / int64(pageSize))
	}
	return writeFile(path, func(w io.Writer) error {
		e, err := newEncoder(w, ltx.Header{Version: ltx.Version, Flags: ltx.HeaderFlagNoChecksum, PageSize: uint32(pageSize), Commit: size,
			MinTXID: 1, MaxTXID: last, Timestamp: time.Now().UnixMilli()})
		if err != nil {
			return err
		}
		e.SetSpillDir(string(s.queue)) // the index of the pages may be large
		step := make([]byte, copyStep)
		for page := uint32(1); page <= size; {
			n, err := file.ReadAt(step, int64(page-1)*int64(pageSize))
			if err != nil && err != io.EOF {
				return err
			}
			clear(step[n:]) // the file may have become shorter; then a segment has its new size
			for at := 0; at < len(step) && page <= size; at += pageSize {
				if err := e.page(page, step[at:at+pageSize]); err != nil {
					return err
				}
				page++
			}
			if err := work.Sleep(ctx, copyRest); err != nil {
				return err
			}
		}
		return e.close()
	})
}

// completeBase merges a copy of the database with what was cut while it was made.
func (s *Shipper) completeBase(ctx context.Context, to, copied string, from, last ltx.TXID) error {
	for try := 1; ; try++ {
		queued, err := list(ctx, s.queue)
		if err != nil {
			return err
		}
		way, err := follow(queued, from, last)
		if err != nil {
			return err
		}
		paths := []string{copied}
		for _, w := range way {
			paths = append(paths, s.queue.path(w.name()))
		}
		// The uploader may have merged and removed one of them meanwhile.
		if err = merge(ctx, to, paths); !errors.Is(err, fs.ErrNotExist) || try == 3 {
			return err
		}
	}
}

package continuous

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"filippo.io/age"

	"bursar/internal/backup"
	"bursar/internal/db"
	"bursar/internal/db/engine"
	"bursar/internal/db/sqlite"
)

// Moment says which state of a store is wanted: the newest one if it is empty.
type Moment struct {
	At     time.Time // the last one that is not after this time
	Before string    // the last one that does not have this entry of the audit log
}

// Source is a backup that is read.
type Source struct {
	Target     Target
	Identities []age.Identity
}

func (s Source) reader() *reader { return &reader{s.Target, s.Identities} }

// Restored is what a restore has done.
type Restored struct {
	backup.Restored
	Moment   time.Time // of the last commit that is in the store
	Segments int
	Bytes    int64 // of the pages that were written
}

// Restore makes the store as it was at a moment, in a folder that has none. The rails of the new store are
// stopped, and all sessions are ended, before it gets its name.
func Restore(ctx context.Context, by db.Caller, from Source, dir string, m Moment, progress func(bytes int64)) (done Restored, err error) {
	lock, err := sqlite.Lock(dir) // a server that somebody starts meanwhile would make a store here
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := refuseStore(dir); err != nil {
		return done, err
	}
	scratch := filepath.Join(dir, ".restoring")
	if err := os.RemoveAll(scratch); err != nil { // of a restore that was interrupted
		return done, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if done, err = unpack(ctx, from, scratch, m, progress); err != nil {
		return done, err
	}
	name := "a backup of " + done.Moment.UTC().Format(time.DateTime+" UTC")
	if done.Restored, err = backup.Recovered(ctx, by, backup.Place{Config: db.Config{Dir: scratch}, Name: name}, name); err != nil {
		return done, err
	}
	if err := refuseStore(dir); err != nil {
		return done, err
	}
	// Unlike a rename, this does not replace anything.
	if err := os.Link(filepath.Join(scratch, sqlite.FileName), filepath.Join(dir, sqlite.FileName)); err != nil {
		return done, fmt.Errorf("name the store: %w", err)
	}
	return done, syncFolder(dir)
}

// refuseStore refuses a folder that has a store, or the log of one: SQLite would take it for the log of the restored store.
func refuseStore(dir string) error {
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		path := filepath.Join(dir, sqlite.FileName+end)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(fmt.Errorf("%s has %s already: a restore does not replace a store, so move the old one away, with all of its files", dir, filepath.Base(path)), err)
		}
	}
	return nil
}

// unpack writes the database as it was at a moment into a folder.
func unpack(ctx context.Context, from Source, dir string, m Moment, progress func(bytes int64)) (done Restored, err error) {
	all, err := list(ctx, from.Target)
	if err != nil {
		return done, err
	}
	switch readable := inForm(all, len(from.Identities) > 0); {
	case len(all) == 0:
		return done, fmt.Errorf("%s has no backup", from.Target)
	case len(readable) == 0 && len(from.Identities) == 0:
		return done, ErrSealed
	case len(readable) == 0:
		// Somebody may have put another one in the place of one that only holders of the public key can make.
		return done, errors.New("the backup is not encrypted, though a key was given: leave the key out if you trust it")
	default:
		all = readable
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return done, err
	}
	file, err := os.OpenFile(filepath.Join(dir, sqlite.FileName), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	u := &unpacking{reader: from.reader(), all: all, file: file, progress: progress}
	if m.Before != "" {
		err = u.before(ctx, m.Before)
	} else {
		err = u.at(ctx, m.At)
	}
	if err != nil {
		return done, err
	}
	if done.Moment, err = u.time(ctx, u.last); err != nil {
		return done, err
	}
	done.Segments, done.Bytes = u.segments, u.bytes
	return done, file.Sync()
}

// unpacking is a restore of pages on its way.
type unpacking struct {
	*reader
	all      []segment
	file     *os.File
	progress func(bytes int64)

	last     segment // that was written
	segments int
	bytes    int64
}

// at writes the last state that is not after a time.
func (u *unpacking) at(ctx context.Context, at time.Time) error {
	points := u.points()
	last := points[len(points)-1]
	if !at.IsZero() {
		var err error
		if last, err = u.lastUntil(ctx, points, at); err != nil {
			return err
		}
	}
	way, err := plan(u.all, last.max)
	if err != nil {
		return u.explain(ctx, err)
	}
	return u.write(ctx, way, u.file)
}

// points returns a segment for each state that can be restored, in their order.
func (u *unpacking) points() []segment {
	points := slices.Clone(u.all)
	slices.SortStableFunc(points, func(a, b segment) int { return int(int64(a.max) - int64(b.max)) })
	return slices.CompactFunc(points, func(a, b segment) bool { return a.max == b.max })
}

// lastUntil finds the last point that is not after a time. Times grow with numbers.
func (u *unpacking) lastUntil(ctx context.Context, points []segment, at time.Time) (segment, error) {
	var failed error
	n := sort.Search(len(points), func(i int) bool {
		t, err := u.time(ctx, points[i])
		failed = errors.Join(failed, err)
		return err != nil || t.After(at)
	})
	if failed != nil {
		return segment{}, failed
	}
	if n == 0 {
		first, err := u.time(ctx, points[0])
		return segment{}, errors.Join(fmt.Errorf("the backup begins at %s", first.UTC().Format(time.RFC3339)), err)
	}
	return points[n-1], nil
}

// explain tells up to when a backup can be restored from which a segment is missing.
func (u *unpacking) explain(ctx context.Context, err error) error {
	var gap *GapError
	if !errors.As(err, &gap) {
		return err
	}
	var before segment
	for _, p := range u.points() {
		if p.max < gap.Missing {
			before = p
		}
	}
	if at, timeErr := u.time(ctx, before); timeErr == nil {
		return fmt.Errorf("%w: what was written after %s cannot be restored without it; --at takes an earlier time", err, at.UTC().Format(time.RFC3339))
	}
	return err
}

// write writes segments into a database.
func (u *unpacking) write(ctx context.Context, way []segment, to pages) error {
	for _, s := range way {
		n, err := u.apply(ctx, s, to)
		if err != nil {
			return err
		}
		u.last, u.segments, u.bytes = s, u.segments+1, u.bytes+n
		if u.progress != nil {
			u.progress(u.bytes)
		}
	}
	return nil
}

// before writes the last state that does not have an entry of the audit log. It begins with one from before the
// entry was made, and goes on until the entry is there.
func (u *unpacking) before(ctx context.Context, id string) error {
	packed, ok := engine.PackID("aud", id)
	if !ok {
		return fmt.Errorf("%s is no id of an audit entry", id)
	}
	const clockStep = time.Minute // ids of entries have times that may be ahead of the clock
	made := time.UnixMilli(db.IDTime("aud", id)).Add(-clockStep)
	var way []segment
	points := u.points()
	if point, err := u.lastUntil(ctx, points, made); err == nil {
		way, _ = plan(u.all, point.max)
	}
	if way == nil { // there is none from before, so begin with the first base
		i := slices.IndexFunc(points, func(p segment) bool { _, err := plan(u.all, p.max); return err == nil })
		if i < 0 {
			return fmt.Errorf("%s has no base", u.target)
		}
		way, _ = plan(u.all, points[i].max)
	}
	if err := u.write(ctx, way, u.file); err != nil {
		return err
	}
	found, err := sqlite.HasAuditRow(ctx, u.file.Name(), packed)
	if err == nil && found {
		err = fmt.Errorf("the backup has no moment from before %s", id)
	}
	if err != nil {
		return err
	}
	for _, p := range points {
		if p.max <= u.last.max {
			continue
		}
		was := *u
		way, err := follow(u.all, u.last.max, p.max)
		if err != nil {
			// A base that came later leads on.
			if way, err = plan(u.all, p.max); err != nil {
				continue
			}
			if found, err = u.again(ctx, way, packed); err != nil {
				return err
			}
			if found {
				way, err := plan(u.all, was.last.max)
				if err == nil {
					_, err = u.again(ctx, way, packed)
				}
				return err
			}
			continue
		}
		undo := &undoPages{File: u.file, saved: map[int64][]byte{}}
		if info, err := u.file.Stat(); err != nil {
			return err
		} else {
			undo.size = info.Size()
		}
		if err := u.write(ctx, way, undo); err != nil {
			return err
		}
		if found, err = sqlite.HasAuditRow(ctx, u.file.Name(), packed); err != nil {
			return err
		}
		if found {
			u.last = was.last
			return undo.revert()
		}
	}
	return fmt.Errorf("the backup does not have %s", id)
}

// again writes a state from its base, and says whether it has an entry.
func (u *unpacking) again(ctx context.Context, way []segment, entry [16]byte) (found bool, err error) {
	if err := u.file.Truncate(0); err != nil {
		return false, err
	}
	if err := u.write(ctx, way, u.file); err != nil {
		return false, err
	}
	return sqlite.HasAuditRow(ctx, u.file.Name(), entry)
}

// undoPages remembers what it overwrites.
type undoPages struct {
	*os.File
	size     int64
	pageSize int64
	saved    map[int64][]byte
}

// WriteAt implements pages.
func (u *undoPages) WriteAt(page []byte, at int64) (int, error) {
	u.pageSize = int64(len(page))
	if err := u.save(at); err != nil {
		return 0, err
	}
	return u.File.WriteAt(page, at)
}

// Truncate implements pages.
func (u *undoPages) Truncate(size int64) error {
	for at := size; at < u.size; at += u.pageSize {
		if err := u.save(at); err != nil {
			return err
		}
	}
	return u.File.Truncate(size)
}

func (u *undoPages) save(at int64) error {
	if u.saved[at] != nil || at >= u.size {
		return nil
	}
	u.saved[at] = make([]byte, u.pageSize)
	_, err := u.File.ReadAt(u.saved[at], at)
	return err
}

func (u *undoPages) revert() error {
	if err := u.File.Truncate(u.size); err != nil {
		return err
	}
	for at, page := range u.saved {
		if _, err := u.File.WriteAt(page, at); err != nil {
			return err
		}
	}
	return nil
}

package continuous

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"

	"bursar/internal/backup"
	"bursar/internal/db"
	"bursar/internal/db/engine"
	"bursar/internal/db/sqlite"
)

// Moment selects a state of a store. The zero value selects the newest one.
type Moment struct {
	At     time.Time // the last state that is not after this time
	Before string    // the last state without this entry of the audit log
}

// Source is a backup to read from.
type Source struct {
	Target     Target
	Identities []age.Identity
}

func (s Source) reader() *reader { return &reader{target: s.Target, identities: s.Identities} }

// Restored is the result of a restore.
type Restored struct {
	backup.Restored
	Moment   time.Time // of the last commit that is in the store
	Segments int
	Bytes    int64    // of the pages that were written
	Damaged  []string // names of objects that could not be used
}

// Restore restores a store as of a moment, in a folder that has none. The rails of the new store are
// stopped, and all sessions are ended, before it gets its name.
func Restore(ctx context.Context, by db.Caller, from Source, dir string, m Moment, progress func(bytes int64)) (done Restored, err error) {
	lock, err := sqlite.Lock(dir) // a server started meanwhile would create a store here
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := refuseStore(dir); err != nil {
		return done, err
	}
	scratch := filepath.Join(dir, ".restoring")
	if err := os.RemoveAll(scratch); err != nil { // left by an interrupted restore
		return done, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if done, err = unpack(ctx, from, scratch, m, progress); err != nil {
		return done, err
	}
	name := "a backup of " + done.Moment.UTC().Format(time.DateTime+" UTC")
	if done.Restored, err = backup.Recovered(ctx, by, backup.Place{Config: db.Config{Dir: scratch}, Name: name}, name); err != nil {
		return done, ofBackup(err)
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

// ofBackup adds the name of the backup to an error about its store.
func ofBackup(err error) error {
	if errors.Is(err, db.ErrEarlierBuild) {
		return engine.EarlierBuild("backup")
	}
	return err
}

// refuseStore refuses a folder that has a store or a WAL. SQLite would use it as the WAL of the restored store.
func refuseStore(dir string) error {
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		path := filepath.Join(dir, sqlite.FileName+end)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(fmt.Errorf("%s has %s already: a restore does not replace a store, so move the old one away, with all of its files", dir, filepath.Base(path)), err)
		}
	}
	return nil
}

// unpack writes the database as of a moment into a folder.
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
		// An unencrypted backup may have been substituted for an encrypted one, which only holders of the
		// public key can make.
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
	u := &unpacking{reader: from.reader(), all: all, newest: newestOf(all), file: file, progress: progress}
	err = u.restore(ctx, m)
	for _, d := range u.damaged {
		done.Damaged = append(done.Damaged, d.segment.name())
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

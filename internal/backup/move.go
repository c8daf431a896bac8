package backup

import (
	"context"
	"errors"
	"fmt"
	"io"

	"bursar/internal/db"
)

// Place is a store, and its name without secrets.
type Place struct {
	Config db.Config
	Name   string
}

func (p Place) open(ctx context.Context) (*db.DB, error) {
	p.Config.Exclusive, p.Config.AllowMarked = true, true
	d, err := db.Open(ctx, p.Config)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", p.Name, err)
	}
	return d, nil
}

// openTarget opens a store that is to be filled. An existing store is not changed, in case it is
// refused.
func (p Place) openTarget(ctx context.Context) (*db.DB, error) {
	asIs := p
	asIs.Config.NoMigrate = true
	d, err := asIs.open(ctx)
	if errors.Is(err, db.ErrNoStore) {
		return p.open(ctx)
	}
	return d, err
}

// Move makes an empty store the successor of another, which can no longer be used afterwards. The
// package documentation describes what happens when it is interrupted.
func Move(ctx context.Context, from, to Place, progress func(rows int64)) (list []TableDigest, err error) {
	from.Config.NoMigrate = true // until it has been moved
	source, err := from.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	var target *db.DB
	defer func() {
		if target != nil {
			err = errors.Join(err, target.Close())
		}
	}()
	err = source.Exclusive(ctx, func(s *db.Bulk) error {
		mark, err := s.Mark()
		if err != nil {
			return err
		}
		again := mark.Name == db.Moved && mark.Value == to.Name
		if mark.Name != "" && !again {
			return fmt.Errorf("%w: %s is marked as %s (%s)", db.ErrMarked, from.Name, mark.Name, mark.Value)
		}
		to.Config.NoMigrate = again
		if target, err = to.openTarget(ctx); err != nil {
			return err
		}
		if list, err = fill(ctx, s, source, target, "the move from "+from.Name, again, progress); err != nil {
			return err
		}
		return s.Retire(to.Name)
	})
	if err != nil {
		return nil, err
	}
	err = target.Exclusive(ctx, (*db.Bulk).ClearMark)
	if err != nil {
		return nil, fmt.Errorf("the target is complete, but has still its mark, so run the same command again: %w", err)
	}
	return list, nil
}

// fill makes a target equal to the source.
func fill(ctx context.Context, s *db.Bulk, source, target *db.DB, why string, again bool, progress func(rows int64)) ([]TableDigest, error) {
	isEmpty, err := claim(ctx, target, why, again)
	if err != nil {
		return nil, err
	}
	var m Manifest
	err = target.Exclusive(ctx, func(t *db.Bulk) (err error) {
		if isEmpty {
			m, err = send(s, source, t, target, progress)
			return err
		}
		// An interrupted move has filled it.
		if m.Tables, err = digests(s.Q, source, progress); err != nil {
			return err
		}
		have, err := digests(t.Q, target, progress)
		if err != nil {
			return err
		}
		if err := differ(compare(m.Tables, have)); err != nil {
			return fmt.Errorf("an interrupted move has filled the target, and the source has changed since: empty the target and move again: %w", err)
		}
		return nil
	})
	return m.Tables, err
}

// send copies all rows from one store to the other.
func send(s *db.Bulk, source *db.DB, t *db.Bulk, target *db.DB, progress func(rows int64)) (Manifest, error) {
	out, in := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		_, err := write(s.Q, source, in, nil)
		in.CloseWithError(err) // nil means the end
		sent <- err
	}()
	received, err := openStream(out)
	var m Manifest
	if err == nil {
		m, err = load(t, target, received, progress)
	}
	out.CloseWithError(errors.New("the target cannot take more"))
	failed := <-sent // the transaction of the source must not be used by two goroutines
	if err == nil {
		err = failed
	}
	return m, err
}

// Compare reads two stores and reports where the second differs from the first. It changes neither. A server
// that runs on either makes them differ sooner or later.
func Compare(ctx context.Context, from, to Place, progress func(rows int64)) (list []Difference, err error) {
	var all [2][]TableDigest
	for i, p := range []Place{from, to} {
		p.Config.AllowMarked, p.Config.NoMigrate = true, true
		d, err := db.Open(ctx, p.Config)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", p.Name, err)
		}
		err = d.ReadAll(ctx, func(q db.Q) (err error) {
			all[i], err = digests(q, d, progress)
			return err
		})
		if err := errors.Join(err, d.Close()); err != nil {
			return nil, fmt.Errorf("read %s: %w", p.Name, err)
		}
	}
	return compare(all[0], all[1]), nil
}

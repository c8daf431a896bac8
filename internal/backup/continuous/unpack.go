package continuous

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"time"

	"github.com/superfly/ltx"

	"bursar/internal/db"
	"bursar/internal/db/engine"
	"bursar/internal/db/sqlite"
)

// unpacking is a restore in progress.
type unpacking struct {
	*reader
	all      []segment
	newest   segment
	damaged  []*DamagedError // objects that were found damaged, and were removed from all
	file     *os.File
	progress func(bytes int64)

	last     segment // the last segment that was written
	segments int
	bytes    int64
}

// restore writes the state of a moment. When it finds a damaged object it starts again without it. Others may have the
// same pages: those that it was merged from, those that were merged from it, or an older base.
func (u *unpacking) restore(ctx context.Context, m Moment) error {
	for {
		var err error
		if m.Before != "" {
			err = u.before(ctx, m.Before)
		} else {
			err = u.at(ctx, m.At)
		}
		var damaged *DamagedError
		switch isDamage := errors.As(err, &damaged); {
		case err == nil || len(u.damaged) == 0 && !isDamage:
			return err
		case !isDamage:
			return fmt.Errorf("%w: %w", err, u.damaged[len(u.damaged)-1])
		case slices.Contains(u.damaged, damaged):
			return err // nothing replaces it
		}
		u.damaged = append(u.damaged, damaged)
		u.all = slices.DeleteFunc(u.all, func(s segment) bool { return s == damaged.segment })
		u.last, u.segments, u.bytes = segment{}, 0, 0
		if err := u.file.Truncate(0); err != nil {
			return err
		}
	}
}

// at writes the last state at or before a time.
func (u *unpacking) at(ctx context.Context, at time.Time) error {
	to := u.newest.max
	if !at.IsZero() {
		var err error
		if to, err = u.lastUntil(ctx, at); err != nil {
			return err
		}
	}
	way, gap := plan(u.all, to)
	// After damage, the remaining state is tried before the error names it.
	if gap == nil || len(u.damaged) > 0 {
		if err := u.write(ctx, way, u.file); err != nil {
			return err
		}
	}
	if gap != nil && len(way) > 0 {
		return u.explain(ctx, gap, way[len(way)-1])
	}
	return gap
}

// points returns a segment for each state that can be restored, in their order.
func (u *unpacking) points() []segment {
	points := slices.Clone(u.all)
	slices.SortStableFunc(points, func(a, b segment) int { return int(int64(a.max) - int64(b.max)) })
	return slices.CompactFunc(points, func(a, b segment) bool { return a.max == b.max })
}

// lastUntil returns the number of the last state at or before a time. Times increase with numbers.
func (u *unpacking) lastUntil(ctx context.Context, at time.Time) (ltx.TXID, error) {
	points := u.points()
	if len(points) == 0 {
		return u.newest.max, nil // nothing is left after damage, which plan reports
	}
	var failed error
	var last time.Time
	n := sort.Search(len(points), func(i int) bool {
		t, err := u.time(ctx, points[i])
		failed = errors.Join(failed, err)
		if err != nil || t.After(at) {
			return true
		}
		last = t // segments at or before the time are read in order
		return false
	})
	if failed != nil {
		return 0, failed
	}
	if n == 0 {
		first, err := u.time(ctx, points[0])
		return 0, errors.Join(fmt.Errorf("the backup begins at %s", first.UTC().Format(exactly)), err)
	}
	to := points[n-1].max
	// A damaged one between this and the next may also be from before the time.
	for _, d := range u.damaged {
		if s := d.segment; s.max > to && (n == len(points) || s.max < points[n].max) && last.Before(at) {
			return s.max, nil
		}
	}
	return to, nil
}

// exactly is the format of times with the precision of segments, so that --at finds the
// same segment.
const exactly = "2006-01-02T15:04:05.000Z07:00"

// explain adds to an error until when the backup can be restored.
func (u *unpacking) explain(ctx context.Context, err error, last segment) error {
	at, timeErr := u.time(ctx, last)
	if timeErr != nil {
		return timeErr
	}
	if d := u.damageBehind(err); d != nil {
		err = d
	}
	return fmt.Errorf("%w: what was written after %s cannot be restored without it; --at takes that time, or an earlier one", err, at.UTC().Format(exactly))
}

// damageBehind returns the damaged object that has the missing commits, or nil.
func (u *unpacking) damageBehind(err error) *DamagedError {
	var gap *GapError
	if !errors.As(err, &gap) {
		return nil
	}
	for _, d := range slices.Backward(u.damaged) { // the shortest is found last
		if d.segment.min <= gap.Missing && gap.Missing <= d.segment.max {
			return d
		}
	}
	return nil
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

// before writes the last state without an entry of the audit log. It begins with a state from before the entry
// was created, and continues until the entry appears.
func (u *unpacking) before(ctx context.Context, id string) error {
	packed, ok := engine.PackID("aud", id)
	if !ok {
		return fmt.Errorf("%s is no id of an audit entry", id)
	}
	const clockStep = time.Minute // the times in ids of entries may be ahead of the clock
	made := time.UnixMilli(db.IDTime("aud", id)).Add(-clockStep)
	var way []segment
	points := u.points()
	if to, err := u.lastUntil(ctx, made); err == nil {
		way, _ = plan(u.all, to)
	}
	if way == nil { // there is none from before, so start with the first base
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
	var stuck error // a gap that no base covers yet
	for _, p := range points {
		if p.max <= u.last.max {
			continue
		}
		was := *u
		way, gap := follow(u.all, u.last.max, p.max)
		if gap != nil {
			// A later base continues.
			if way, err = plan(u.all, p.max); err != nil {
				stuck = gap
				continue
			}
			stuck = nil
			if found, err = u.replay(ctx, way, packed); err != nil {
				return err
			}
			if found && u.damageBehind(gap) != nil {
				return u.explain(ctx, gap, was.last)
			}
			if found {
				way, err := plan(u.all, was.last.max)
				if err == nil {
					_, err = u.replay(ctx, way, packed)
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
	if stuck != nil {
		return u.explain(ctx, stuck, u.last)
	}
	return fmt.Errorf("the backup does not have %s", id)
}

// replay writes a state from its base, and reports whether it has an entry.
func (u *unpacking) replay(ctx context.Context, way []segment, entry [16]byte) (found bool, err error) {
	if err := u.file.Truncate(0); err != nil {
		return false, err
	}
	if err := u.write(ctx, way, u.file); err != nil {
		return false, err
	}
	return sqlite.HasAuditRow(ctx, u.file.Name(), entry)
}

// undoPages saves the pages that it overwrites.
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

package continuous

import (
	"bursar/internal/work"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"filippo.io/age"
)

// uploadAll sends the queue to the target after every cut.
func (s *Shipper) uploadAll(ctx context.Context) {
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
		err := s.upload(ctx)
		s.failed("upload", err)
		if err == nil {
			continue
		}
		s.boundQueue(ctx)
		if work.Sleep(ctx, retryPause) != nil {
			return
		}
	}
}

// upload sends the queue, merges segments whose period is over, and removes segments that are no longer
// needed.
func (s *Shipper) upload(ctx context.Context) error {
	if !s.known {
		if err := s.claimTarget(ctx); err != nil {
			return err
		}
		s.known = true
	}
	s.cutting.Lock()
	safe := s.cutAt
	queued, err := list(ctx, s.queue)
	s.cutting.Unlock()
	if err != nil {
		return err
	}
	if err := s.checkOwner(ctx); err != nil {
		s.known = s.known && !errors.Is(err, errReturned)
		return err
	}
	for _, q := range s.waiting(queued) {
		if err := s.put(ctx, q); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.status.Queue = 0
	if !s.status.Broken { // otherwise it exists, and cannot be restored
		s.status.Safe = safe
	}
	s.mu.Unlock()
	now := time.Now()
	if !now.Before(s.nextMerge) {
		s.nextMerge = now.Truncate(time.Minute).Add(time.Minute + 2*time.Second)
		if err := s.mergeQueue(ctx, queued, now); err != nil {
			return fmt.Errorf("merge segments: %w", err)
		}
	}
	s.tidyQueue(queued)
	if status := s.Status(); !now.Before(s.nextOwn) || s.recorded != (!status.Broken && !status.Safe.IsZero()) {
		// It may have disappeared since it was looked up above, and must not be created again.
		if err := s.checkOwner(ctx); err != nil {
			return err
		}
		if err := s.writeOwner(ctx); err != nil {
			return err
		}
		s.nextOwn = now.Add(ownEvery)
		s.repair()
	}
	if !now.Before(s.nextThin) {
		if err := s.deleteExpired(ctx, now); err != nil {
			return err
		}
		s.nextThin = now.Add(thinEvery)
	}
	return nil
}

// repair requests a new base if a verification has found damage that the newest base does not repair. Nothing else reads
// the objects, and the server may have no key to decrypt them.
func (s *Shipper) repair() {
	v := s.Status().Verified
	if v.At.Equal(s.repaired) {
		return
	}
	s.repaired = v.At // if nothing was written since, the new base has the name of the old one
	var base segment
	s.mu.Lock()
	for name := range s.landed {
		if o, ok := parseSegment(Object{Name: name}); ok && o.level == bases && o.max > base.max {
			base = o
		}
	}
	s.mu.Unlock()
	for _, name := range v.Damaged {
		if d, ok := parseSegment(Object{Name: name}); ok && (d.max > base.max || d == base) {
			s.Log.Warn("the backup needs a new base", "reason", v.Error)
			s.wantBase()
			return
		}
	}
}

// waiting returns the segments that the target does not have yet.
func (s *Shipper) waiting(queued []segment) (some []segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range queued {
		if q.level != bases && !s.landed[s.sealed(q).name()] {
			some = append(some, q)
		}
	}
	return some
}

// forget empties the queue. A new base replaces it.
func (s *Shipper) forget(ctx context.Context) error {
	queued, err := list(ctx, s.queue)
	if err != nil {
		return err
	}
	for _, q := range queued {
		if err := os.Remove(s.queue.path(q.name())); err != nil {
			return err
		}
	}
	return s.jump()
}

// boundQueue keeps a target that does not answer from filling the disk of the store.
func (s *Shipper) boundQueue(ctx context.Context) {
	s.cutting.Lock()
	defer s.cutting.Unlock()
	queued, err := list(ctx, s.queue)
	if err != nil {
		return
	}
	var size int64
	waiting := s.waiting(queued)
	for _, q := range waiting {
		size += q.object.Size
	}
	s.mu.Lock()
	s.status.Queue = len(waiting)
	s.mu.Unlock()
	if size <= max(s.limit, int64(s.size)*int64(s.wal.PageSize())) {
		return
	}
	s.Log.Warn("the backup cannot be reached, and its queue is dropped: it needs a new base", "segments", len(waiting), "bytes", size)
	if err := s.forget(ctx); err != nil {
		s.Log.Error("the queue of the backup cannot be dropped", "error", err)
	}
}

// sealed returns the segment under its name in the target.
func (s *Shipper) sealed(q segment) segment {
	q.sealed = len(s.Recipients) > 0
	return q
}

// put uploads a segment of the queue.
func (s *Shipper) put(ctx context.Context, q segment) error {
	file, err := os.Open(s.queue.path(q.name()))
	if err != nil {
		return err
	}
	defer file.Close()
	if len(s.Recipients) > 0 {
		sealed, err := s.seal(file)
		if err != nil {
			return fmt.Errorf("encrypt %s: %w", q.name(), err)
		}
		defer os.Remove(sealed.Name())
		defer sealed.Close()
		file = sealed
	}
	hash := sha256.New()
	size, err := io.Copy(hash, file)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	name := s.sealed(q).name()
	if err := s.Target.PutSummed(ctx, name, file, size, hex.EncodeToString(hash.Sum(nil))); err != nil {
		return fmt.Errorf("store %s in %s: %w", name, s.Target, err)
	}
	s.mu.Lock()
	s.status.Segments++
	s.status.Bytes += uint64(size)
	s.landed[name] = true
	s.mu.Unlock()
	return nil
}

// seal encrypts a file into another one, so that its size is known before it is sent.
func (s *Shipper) seal(from io.Reader) (sealed *os.File, err error) {
	if sealed, err = os.CreateTemp(string(s.queue), "sealed-*"+unfinished); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = sealed.Close()
			_ = os.Remove(sealed.Name())
		}
	}()
	w, err := age.Encrypt(sealed, s.Recipients...)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(w, from); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	_, err = sealed.Seek(0, io.SeekStart)
	return sealed, err
}

// mergeQueue merges the segments of each minute, hour and day that is over. They are still in the queue, because the
// server cannot read what it has encrypted.
func (s *Shipper) mergeQueue(ctx context.Context, queued []segment, now time.Time) error {
	for level := minutes; level <= days; level++ {
		lasts := periods[level].lasts
		var group []segment
		var period time.Time
		flush := func() error {
			if len(group) == 0 || !now.After(period.Add(lasts)) {
				group = nil
				return nil
			}
			made := segment{level: level, min: group[0].min, max: group[len(group)-1].max}
			paths := make([]string, len(group))
			for i, g := range group {
				paths[i] = s.queue.path(g.name())
			}
			group = nil
			if err := merge(ctx, s.queue.path(made.name()), paths); err != nil {
				return fmt.Errorf("%s: %w", made.name(), err)
			}
			s.merged[level] = made.max
			queued = append(queued, made)
			return nil
		}
		for _, q := range slices.Clone(queued) {
			if q.level != level-1 || q.max <= s.merged[level] {
				continue
			}
			at, err := s.timeOf(ctx, q)
			if err != nil {
				return err
			}
			if p := at.Truncate(lasts); len(group) > 0 && (!p.Equal(period) || q.min != group[len(group)-1].max+1) {
				if err := flush(); err != nil {
					return err
				}
				period = p
			} else if len(group) == 0 {
				period = p
			}
			group = append(group, q)
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return nil
}

// timeOf returns when a segment of the queue was cut.
func (s *Shipper) timeOf(ctx context.Context, q segment) (time.Time, error) {
	if at, ok := s.times[q.name()]; ok {
		return at, nil
	}
	at, err := (&reader{target: s.queue}).time(ctx, q)
	if err == nil {
		s.times[q.name()] = at
	}
	return at, err
}

// tidyQueue removes segments that were sent and merged. The newest cut stays: from it a later process reads
// where to continue in the WAL.
func (s *Shipper) tidyQueue(queued []segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, q := range queued {
		isNewest := q.level == seconds && (i+1 == len(queued) || queued[i+1].level != seconds)
		if q.level == bases || isNewest || !s.landed[s.sealed(q).name()] || q.level < days && q.max > s.merged[q.level+1] {
			continue
		}
		if os.Remove(s.queue.path(q.name())) == nil {
			delete(s.times, q.name())
		}
	}
}

// getJSON reads a small object.
func getJSON(ctx context.Context, t Target, name string, into any) error {
	object, err := t.Get(ctx, name)
	if err != nil {
		return err
	}
	defer object.Close()
	return json.NewDecoder(io.LimitReader(object, 1<<16)).Decode(into)
}

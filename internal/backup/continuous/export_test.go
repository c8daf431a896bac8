package continuous

import (
	"context"
	"time"
)

// Cut cuts at once.
func (s *Shipper) Cut() error { return s.cut() }

// Upload sends the queue at once.
func (s *Shipper) Upload(ctx context.Context) error { return s.upload(ctx) }

// MakeBase makes a base at once.
func (s *Shipper) MakeBase(ctx context.Context) error { return s.makeBase(ctx) }

// NeedsBase reports whether a base is requested.
func (s *Shipper) NeedsBase() bool { return len(s.needBase) > 0 }

// Unpack restores the pages and changes nothing.
func Unpack(ctx context.Context, from Source, dir string, m Moment) (Restored, error) {
	return unpack(ctx, from, dir, m, nil)
}

// Merge merges the queue as if it were a later time.
func (s *Shipper) Merge(ctx context.Context, now time.Time) error {
	queued, err := list(ctx, s.queue)
	if err != nil {
		return err
	}
	return s.mergeQueue(ctx, queued, now)
}

// Outdated returns the names of what is kept no longer.
func Outdated(objects []Object, now time.Time) (names []string) {
	var all []segment
	for _, o := range objects {
		if s, ok := parseSegment(o); ok {
			all = append(all, s)
		}
	}
	for _, s := range outdated(all, now, true) {
		names = append(names, s.name())
	}
	return names
}

// LimitQueue drops the queue if it is larger than that.
func (s *Shipper) LimitQueue(ctx context.Context, bytes int64) {
	s.limit, s.size = bytes, 0
	s.boundQueue(ctx)
}

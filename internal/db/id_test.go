package db_test

import (
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

// steps returns a clock that gives each of its times once, and then the last one
// again and again.
func steps(millis ...int64) func() time.Time {
	var n atomic.Int64
	return func() time.Time {
		i := min(n.Add(1), int64(len(millis)))
		return time.UnixMilli(millis[i-1])
	}
}

func TestIDsHaveAPrefixAndATimeOrderedValue(t *testing.T) {
	form := regexp.MustCompile(`^entry_[0-9a-hjkmnp-tv-z]{26}$`)
	if id := dbtest.SQLite(t).Open(t).NewID("entry"); !form.MatchString(id) {
		t.Errorf("id %s does not have the form %s", id, form)
	}
}

func TestIDsGrow(t *testing.T) {
	const now = 1_700_000_000_000
	for name, clock := range map[string]func() time.Time{
		"with time":                 time.Now,
		"while the clock stands":    steps(now),
		"while the clock goes back": steps(now, now, now+5, now-1000, now-2000, now+1, now-3000),
	} {
		t.Run(name, func(t *testing.T) {
			d := dbtest.SQLite(t).OpenAt(t, clock)
			last := ""
			for range 70_000 { // more than one millisecond has room for
				id := d.NewID("x")
				if id <= last {
					t.Fatalf("%s was made after %s", id, last)
				}
				last = id
			}
		})
	}
}

func TestFirstIDBoundsAMillisecond(t *testing.T) {
	const now = 1_700_000_000_000
	d := dbtest.SQLite(t).OpenAt(t, func() time.Time { return time.UnixMilli(now) })
	for range 1000 {
		id := d.NewID("aud")
		if id < db.FirstID("aud", now) || id >= db.FirstID("aud", now+1) {
			t.Fatalf("id %s lies outside its millisecond, %s to %s", id, db.FirstID("aud", now), db.FirstID("aud", now+1))
		}
	}
}

func TestIDsAreUniqueAcrossGoroutinesAndNodes(t *testing.T) {
	store := dbtest.SQLite(t)
	clock := func() time.Time { return time.UnixMilli(1_700_000_000_000) }
	nodes := []*db.DB{store.OpenAt(t, clock), store.OpenAt(t, clock)}
	const makers, each = 8, 2000
	made := make([][]string, makers)
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() {
			for range each {
				made[i] = append(made[i], nodes[i%len(nodes)].NewID("x"))
			}
		})
	}
	all.Wait()
	seen := map[string]bool{}
	for _, list := range made {
		for _, id := range list {
			if seen[id] {
				t.Fatalf("id %s was made twice", id)
			}
			seen[id] = true
		}
	}
}

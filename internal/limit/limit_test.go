package limit_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bursar/internal/limit"
)

// clock is a clock that a test moves.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.UnixMilli(1_700_000_000_000)} }

func (c *clock) Now() time.Time { return c.now }

// drain takes tokens until there are none and says how many there were.
func drain(b *limit.Buckets, key string) (taken int) {
	for b.Take(key).OK {
		taken++
	}
	return taken
}

func TestBucketHoldsItsBurst(t *testing.T) {
	b := limit.New(10, 7, newClock().Now)
	if got := drain(b, "a"); got != 7 {
		t.Errorf("a bucket of 7 gave %d tokens", got)
	}
}

func TestRemainingCountsDown(t *testing.T) {
	b := limit.New(10, 3, newClock().Now)
	for want := 2; want >= 0; want-- {
		if got := b.Take("a").Remaining; got != want {
			t.Errorf("%d tokens remain, want %d", got, want)
		}
	}
	if v := b.Take("a"); v.OK || v.Remaining != 0 {
		t.Errorf("an empty bucket says %+v", v)
	}
}

func TestBucketFillsWithTime(t *testing.T) {
	c := newClock()
	b := limit.New(2, 10, c.Now)
	drain(b, "a")
	for _, step := range []struct {
		wait time.Duration
		want int
	}{
		{400 * time.Millisecond, 0},
		{100 * time.Millisecond, 1},
		{2 * time.Second, 4},
		{time.Hour, 10}, // no more than the burst
	} {
		c.now = c.now.Add(step.wait)
		if got := drain(b, "a"); got != step.want {
			t.Errorf("after another %s there are %d tokens, want %d", step.wait, got, step.want)
		}
	}
}

// Anyone who waits as long as they are told gets through, at every rate in use.
func TestWaitIsLongEnoughAndNotLonger(t *testing.T) {
	for _, perSecond := range []float64{50, 5, 3, 1, 0.5, 100.0 / 60, 20.0 / 60, 10.0 / 60, 7.0 / 60} {
		t.Run(fmt.Sprint(perSecond), func(t *testing.T) {
			c := newClock()
			b := limit.New(perSecond, 10, c.Now)
			drain(b, "a")
			for range 100 {
				c.now = c.now.Add(time.Duration(float64(time.Second) / perSecond / 3))
				wait := b.Peek("a").Wait
				if almost := wait - time.Millisecond; almost > 0 {
					c.now = c.now.Add(almost)
					if b.Peek("a").OK {
						t.Fatalf("there is a token before the %s that the caller was told to wait", wait)
					}
					c.now = c.now.Add(-almost)
				}
				c.now = c.now.Add(wait)
				if v := b.Take("a"); !v.OK {
					t.Fatalf("after the %s that the caller was told to wait there is no token: %s more", wait, v.Wait)
				}
			}
		})
	}
}

func TestPeekTakesNothing(t *testing.T) {
	b := limit.New(10, 2, newClock().Now)
	for range 10 {
		if v := b.Peek("a"); !v.OK || v.Remaining != 2 {
			t.Fatalf("peeking at a full bucket says %+v", v)
		}
	}
	drain(b, "a")
	if v := b.Peek("a"); v.OK || v.Wait <= 0 {
		t.Errorf("peeking at an empty bucket says %+v", v)
	}
}

func TestKeysDoNotShareABucket(t *testing.T) {
	b := limit.New(10, 3, newClock().Now)
	drain(b, "a")
	if got := drain(b, "b"); got != 3 {
		t.Errorf("another key has %d tokens, want 3", got)
	}
}

func TestNoBucketsMeanNoLimit(t *testing.T) {
	var b *limit.Buckets
	for range 1000 {
		if !b.Take("a").OK || !b.Peek("a").OK {
			t.Fatal("no limit said no")
		}
	}
}

func TestConcurrentCallersGetTheBurstAndNoMore(t *testing.T) {
	b := limit.New(1, 50, newClock().Now)
	var taken atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				if b.Take("a").OK {
					taken.Add(1)
				}
			}
		})
	}
	all.Wait()
	if got := taken.Load(); got != 50 {
		t.Errorf("callers at once took %d tokens of 50", got)
	}
}

func TestNeighboursAreOneNetwork(t *testing.T) {
	for ip, want := range map[string]string{
		"192.0.2.7":             "192.0.2.0/24",
		"192.0.2.255":           "192.0.2.0/24",
		"::ffff:192.0.2.9":      "192.0.2.0/24",
		"192.0.3.7":             "192.0.3.0/24",
		"2001:db8:1:2:3:4:5:6":  "2001:db8:1::/48",
		"2001:db8:1:ffff::1":    "2001:db8:1::/48",
		"2001:db8:2::1":         "2001:db8:2::/48",
		"fe80::1%eth0":          "fe80::/48",
		"":                      "",
		"not an address at all": "not an address at all",
	} {
		if got := limit.Network(ip); got != want {
			t.Errorf("the network of %q is %q, want %q", ip, got, want)
		}
	}
}

package signin_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bursar/internal/signin"
	"bursar/internal/wait"
)

// A flood from one network fills all the room to wait for the hasher. Anyone who comes from
// elsewhere still finds a place.
func TestAFloodFromOneNetworkLeavesOthersAPlace(t *testing.T) {
	for name, address := range map[string]func(i int) string{
		"IPv6": func(i int) string { return fmt.Sprintf("2001:db8:7:%x::1", i) },
		"IPv4": func(i int) string { return fmt.Sprintf("192.0.2.%d", i%256) },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, h *house) {
				const honest, room = 8, 256
				h.Room(room)
				for i := range honest {
					h.resident(fmt.Sprintf("user%d@example.com", i))
				}
				release := sync.OnceFunc(h.Hold())
				defer release()
				var flood sync.WaitGroup
				defer flood.Wait()
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				var refused atomic.Int64
				for i := range room + 50 {
					flood.Go(func() {
						_, err := h.Password(ctx, from(address(i)), fmt.Sprintf("nobody%d@example.com", i), newPassword)
						if err != nil && strings.Contains(err.Error(), "UNAVAILABLE") {
							refused.Add(1)
						}
					})
				}
				wait.Until(t, "the room to wait is full", func() bool { return refused.Load() == 50 && h.Waiting() == room })
				var errs []error
				done := make(chan struct{})
				go func() {
					defer close(done)
					errs = sideBySide(honest, func(i int) error {
						_, err := h.Password(t.Context(), from(fmt.Sprintf("198.51.%d.7", i)), fmt.Sprintf("user%d@example.com", i), goodPassword)
						return err
					})
				}()
				wait.Until(t, "the others are refused", func() bool { return refused.Load() == 50+honest })
				release()
				<-done
				for _, err := range errs {
					must(t, err)
				}
			})
		})
	}
}

// A thousand networks of as many regions wait for the hasher. Each caller gets a turn, and none is turned away.
func TestAThousandNetworksLeaveOthersTheirTurn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		const networks, honest = 1000, 8
		for i := range honest {
			h.resident(fmt.Sprintf("user%d@example.com", i))
		}
		release := sync.OnceFunc(h.Hold())
		defer release()
		var flood, people sync.WaitGroup
		defer flood.Wait()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var refused atomic.Int64
		signIn := func(ctx context.Context, ip, email, password string) error {
			_, err := h.Password(ctx, from(ip), email, password)
			if err != nil && strings.Contains(err.Error(), "UNAVAILABLE") {
				refused.Add(1)
			}
			return err
		}
		for i := range networks {
			flood.Go(func() {
				_ = signIn(ctx, fmt.Sprintf("%d.%d.0.1", 20+i/250, i%250), fmt.Sprintf("nobody%d@example.com", i), newPassword)
			})
		}
		waits := func(count int64) func() bool {
			return func() bool { return refused.Load()+int64(h.Waiting()) == count }
		}
		wait.Until(t, "a thousand networks wait", waits(networks))
		errs := make([]error, honest)
		for i := range honest {
			people.Go(func() {
				errs[i] = signIn(t.Context(), fmt.Sprintf("198.%d.100.7", i), fmt.Sprintf("user%d@example.com", i), goodPassword)
			})
		}
		wait.Until(t, "the others wait, too", waits(networks+honest))
		release()
		people.Wait()
		for _, err := range errs {
			must(t, err)
		}
		if got := refused.Load(); got != 0 {
			t.Errorf("%d were turned away", got)
		}
	})
}

// While a hundred of one network wait, each of the others is served after at most one of
// them.
func TestNetworksTakeTurnsAtTheHasher(t *testing.T) {
	line := signin.NewLine(200)
	for range 100 {
		line.Join("one region", "flood")
	}
	for i := range 3 {
		line.Join("one region", fmt.Sprintf("honest %d", i))
	}
	line.Join("one region", "honest 0")
	served(t, line, "flood", "honest 0", "honest 1", "honest 2", "flood", "honest 0", "flood", "flood")
}

// A region that asks from a thousand networks has one turn in two.
func TestRegionsTakeTurnsAtTheHasher(t *testing.T) {
	line := signin.NewLine(2000)
	for i := range 1000 {
		line.Join("large", fmt.Sprintf("network %d", i))
	}
	line.Join("small", "honest 0")
	line.Join("small", "honest 1")
	served(t, line, "network 0", "honest 0", "network 1", "honest 1", "network 2", "network 3")
}

func served(t *testing.T, line *signin.Line, want ...string) {
	t.Helper()
	for i, network := range want {
		if got := line.Next(); got != network {
			t.Errorf("turn %d went to %q, not to %q", i, got, network)
		}
	}
}

// Where all room is taken, a network or region with more than its share gives up a place. No more wait than there is room for.
func TestRoomToWaitForTheHasherIsShared(t *testing.T) {
	line := signin.NewLine(100)
	join := func(want bool, region, network string) {
		t.Helper()
		if got := line.Join(region, network); got != want || line.Waiting() > 100 {
			t.Errorf("%s of %s joined: %v, and %d wait", network, region, got, line.Waiting())
		}
	}
	for i := range 100 {
		join(true, "large", fmt.Sprintf("network %d", i))
	}
	join(false, "large", "network 0")
	join(false, "large", "network 100")
	for i := range 50 {
		join(true, "small", fmt.Sprintf("honest %d", i))
	}
	join(false, "small", "honest 50")
	for i := range 66 {
		join(true, fmt.Sprintf("region %d", i), "alone")
	}
	crowded := signin.NewLine(100)
	for i := range 100 {
		crowded.Join(fmt.Sprintf("region %d", i), fmt.Sprintf("network %d", i))
	}
	if crowded.Join("another region", "network") || crowded.Waiting() != 100 {
		t.Error("a caller joined though each region has one place")
	}
}

func TestACallerThatStopsWaitingForTheHasherLeavesNothingBehind(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.resident("ada@example.com")
		release := sync.OnceFunc(h.Hold())
		defer release()
		ctx, stop := context.WithCancel(t.Context())
		var gone sync.WaitGroup
		for i := range 20 {
			gone.Go(func() { _, _ = h.Password(ctx, from(fmt.Sprintf("198.51.%d.7", i%3)), "ada@example.com", goodPassword) })
		}
		wait.Until(t, "twenty wait", func() bool { return h.Waiting() == 20 })
		stop()
		gone.Wait()
		if left := h.Waiting(); left != 0 {
			t.Errorf("%d are still waiting", left)
		}
		release()
		if !h.knows("ada@example.com", goodPassword) {
			t.Error("the right password is refused")
		}
	})
}

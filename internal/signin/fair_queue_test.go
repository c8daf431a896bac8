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

// A flood from one network fills all the room to wait for the hasher. Whoever comes from
// elsewhere still finds a place.
func TestAFloodFromOneNetworkLeavesOthersAPlace(t *testing.T) {
	for name, address := range map[string]func(i int) string{
		"IPv6": func(i int) string { return fmt.Sprintf("2001:db8:7:%x::1", i) },
		"IPv4": func(i int) string { return fmt.Sprintf("192.0.2.%d", i%256) },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, h *house) {
				const honest = 8
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
				for i := range signin.MaxWaiting + 50 {
					flood.Go(func() {
						_, err := h.Password(ctx, from(address(i)), fmt.Sprintf("nobody%d@example.com", i), newPassword)
						if err != nil && strings.Contains(err.Error(), "UNAVAILABLE") {
							refused.Add(1)
						}
					})
				}
				wait.Until(t, "the room to wait is full", func() bool { return refused.Load() == 50 && h.Waiting() == signin.MaxWaiting })
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

// While a hundred of one network wait, each of the others is served after at most one of
// them.
func TestNetworksTakeTurnsAtTheHasher(t *testing.T) {
	line := signin.NewLine()
	for range 100 {
		line.Join("flood")
	}
	for i := range 3 {
		line.Join(fmt.Sprintf("honest %d", i))
	}
	line.Join("honest 0")
	want := []string{"flood", "honest 0", "honest 1", "honest 2", "flood", "honest 0", "flood", "flood"}
	for i, network := range want {
		if served := line.Next(); served != network {
			t.Errorf("turn %d went to %q, not to %q", i, served, network)
		}
	}
}

func TestWhoeverStopsWaitingForTheHasherLeavesNothingBehind(t *testing.T) {
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

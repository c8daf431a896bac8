package sqlite

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"bursar/internal/db/engine"
	"bursar/internal/wait"
)

// occupyWriter keeps the writer busy until release is called, so that what is
// written meanwhile shares the next commit.
func occupyWriter(t *testing.T, e *Engine) (release func()) {
	t.Helper()
	busy, free := make(chan struct{}, 2), make(chan struct{})
	done := startWrite(e, func(engine.Conn) error {
		busy <- struct{}{} // it runs twice if a write of its group fails
		<-free
		return errOnPurpose // and has written nothing, so it just leaves the group
	})
	<-busy
	return func() {
		close(free)
		if err := <-done; !errors.Is(err, errOnPurpose) {
			t.Errorf("the write that kept the writer busy ended with %v", err)
		}
	}
}

var errOnPurpose = errors.New("on purpose")

func TestAWriteThatFailsIsUndoneAloneInItsGroup(t *testing.T) {
	for name, fail := range map[string]func(c engine.Conn) error{
		"an error":     func(engine.Conn) error { return errOnPurpose },
		"a panic":      func(engine.Conn) error { panic("on purpose") },
		"a constraint": func(c engine.Conn) error { return insert(c, "taken") },
		"malformed SQL": func(c engine.Conn) error {
			_, err := c.Query("SELECT nothing FROM nowhere", nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t)
			must(t, <-startInsert(e, "taken"))
			release := occupyWriter(t, e)
			const writes, bad = 7, 3
			var results []<-chan error
			for i := range writes {
				results = append(results, startWrite(e, func(c engine.Conn) error {
					if err := insert(c, fmt.Sprint(i)); err != nil || i != bad {
						return err
					}
					return fail(c)
				}))
				wait.Until(t, "the write is queued", func() bool { return len(e.writer.queue) == i+1 })
			}
			release()
			for i, done := range results {
				if err := <-done; (err != nil) != (i == bad) {
					t.Errorf("write %d ended with %v", i, err)
				}
			}
			if n := countPairs(t, e); n != writes {
				t.Errorf("%d rows, want %d: those that succeeded and the one before", n, writes)
			}
		})
	}
}

func TestTheWriteOfACallerWhoHasLeftIsSkipped(t *testing.T) {
	e := open(t)
	release := occupyWriter(t, e)
	ctx, leave := context.WithCancel(t.Context())
	ran, done := false, make(chan error, 1)
	go func() {
		done <- e.Write(ctx, func(engine.Conn) error {
			ran = true
			return nil
		})
	}()
	wait.Until(t, "the write is queued", func() bool { return len(e.writer.queue) == 1 })
	leave()
	release()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller who left gets %v", err)
	}
	if ran {
		t.Error("the write of a caller who left ran")
	}
}

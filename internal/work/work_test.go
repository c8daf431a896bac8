package work_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bursar/internal/work"
)

var errFails = errors.New("it fails")

// outcome is what a step returns.
type outcome struct {
	worked bool
	err    error
}

// run runs a loop with an interval of a minute for as long as given. Its steps return the outcomes, and then that there is no work. It
// returns when each step began, and what was logged.
func run(t *testing.T, l work.Loop, lasts time.Duration, outcomes ...outcome) (at []time.Duration, logged string) {
	t.Helper()
	var log bytes.Buffer
	l.Interval, l.Log, l.Failure = time.Minute, slog.New(slog.NewTextHandler(&log, nil)), "work waits"
	begun := time.Now()
	l.Step = func(context.Context) (bool, error) {
		at = append(at, time.Since(begun))
		if len(at) > len(outcomes) {
			return false, nil
		}
		return outcomes[len(at)-1].worked, outcomes[len(at)-1].err
	}
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	l.Run(ctx)
	return at, log.String()
}

func TestALoopBeginsTheNextStepAtOnceWhileThereIsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at, _ := run(t, work.Loop{}, 90*time.Second, outcome{worked: true}, outcome{worked: true})
		if want := []time.Duration{0, 0, 0, time.Minute}; !slices.Equal(at, want) {
			t.Errorf("steps began at %v, want %v", at, want)
		}
	})
}

func TestALoopWaitsAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at, logged := run(t, work.Loop{}, 90*time.Second, outcome{worked: true, err: errFails})
		if want := []time.Duration{0, time.Minute}; !slices.Equal(at, want) {
			t.Errorf("steps began at %v, want %v", at, want)
		}
		if !strings.Contains(logged, `level=ERROR msg="work waits" error="it fails"`) {
			t.Errorf("it logged %q", logged)
		}
	})
}

func TestALoopLogsEachFailureOrTheFirstInARow(t *testing.T) {
	for once, want := range map[bool]int{false: 3, true: 2} {
		synctest.Test(t, func(t *testing.T) {
			_, logged := run(t, work.Loop{Once: once}, time.Hour, outcome{err: errFails}, outcome{err: errFails}, outcome{}, outcome{err: errFails})
			if got := strings.Count(logged, "work waits"); got != want {
				t.Errorf("once is %t: it logged %d failures, want %d", once, got, want)
			}
		})
	}
}

func TestALoopDoesNotLogWhatItsEndCauses(t *testing.T) {
	var log bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	work.Loop{Log: slog.New(slog.NewTextHandler(&log, nil)), Step: func(ctx context.Context) (bool, error) {
		stop()
		return true, ctx.Err()
	}}.Run(ctx)
	if log.Len() > 0 {
		t.Errorf("it logged %q", &log)
	}
}

func TestASignalEndsThePauseOfALoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wake := make(work.Signal, 1)
		time.AfterFunc(time.Second, wake.Send)
		at, _ := run(t, work.Loop{Wake: wake}, 30*time.Second)
		if want := []time.Duration{0, time.Second}; !slices.Equal(at, want) {
			t.Errorf("steps began at %v, want %v", at, want)
		}
	})
}

func TestASignalIsKeptUntilItIsReceived(t *testing.T) {
	wake := make(work.Signal, 1)
	wake.Send()
	wake.Send() // does not block
	<-wake
	select {
	case <-wake:
		t.Error("it kept two signals")
	default:
	}
}

func TestASleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := work.Sleep(ctx, time.Second); err != nil {
			t.Errorf("a short one returns %v", err)
		}
		if err := work.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a long one returns %v", err)
		}
	})
}

func TestWorkIsDueAtOnceAndAtFixedTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()
		var at []time.Duration
		begun := time.Now()
		work.Every(ctx, time.Minute, func() {
			at = append(at, time.Since(begun))
			time.Sleep(10 * time.Second)
		})
		if want := []time.Duration{0, time.Minute, 2 * time.Minute}; !slices.Equal(at, want) {
			t.Errorf("it was called at %v, want %v", at, want)
		}
	})
}

func TestNothingBeginsAfterTheEnd(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	fail := func() { t.Error("it began") }
	work.Every(ctx, time.Nanosecond, fail)
	work.Loop{Step: func(context.Context) (bool, error) { fail(); return false, nil }}.Run(ctx)
}

func TestALeaseIsRenewedUntilTheWorkEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		end := work.Renew(t.Context(), time.Minute, func(context.Context) { calls++ })
		time.Sleep(3*time.Minute + time.Second)
		end()
		time.Sleep(time.Hour)
		if calls != 3 {
			t.Errorf("it was renewed %d times", calls)
		}
	})
}

func TestTheGraceEndsAPeriodAfterItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, stop := context.WithCancel(t.Context())
		longer, cancel := work.Grace(parent, time.Minute)
		defer cancel()
		time.Sleep(time.Hour)
		if longer.Err() != nil {
			t.Error("it ends although its parent has not")
		}
		stop()
		time.Sleep(time.Minute - time.Nanosecond)
		synctest.Wait()
		if longer.Err() != nil {
			t.Error("it ends before the grace period is over")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if longer.Err() == nil {
			t.Error("it does not end after the grace period")
		}
	})
}

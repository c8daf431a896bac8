package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/client"
)

// ledger is a log in memory, whose entries appear in the order in which they are
// committed, which need not be that in which they were made.
type ledger struct {
	rows    []api.AuditEntry
	failure error // of the next read, in its middle
	polls   int
	each    func(poll int) // what happens before a read
}

const second = int64(1000)

func entryAt(at int64) api.AuditEntry {
	return api.AuditEntry{ID: fmt.Sprintf("aud_%08d", at), Timestamp: at}
}

func (l *ledger) add(times ...int64) {
	for _, at := range times {
		l.rows = append(l.rows, entryAt(at))
	}
}

func (l *ledger) read(_ context.Context, from time.Time) iter.Seq2[api.AuditEntry, error] {
	if l.each != nil {
		l.each(l.polls)
	}
	l.polls++
	newest := slices.Clone(l.rows)
	slices.SortFunc(newest, func(a, b api.AuditEntry) int { return strings.Compare(b.ID, a.ID) })
	return func(yield func(api.AuditEntry, error) bool) {
		for i, row := range newest {
			if i > 0 && l.failure != nil {
				failure := l.failure
				l.failure = nil
				yield(api.AuditEntry{}, failure)
				return
			}
			if !from.IsZero() && row.Timestamp < from.UnixMilli() {
				return
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// follow runs a tail over a ledger until it has polled so many times.
func follow(t *testing.T, l *ledger, n, polls int, each func(poll int)) (shown []int64, said []string, err error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l.each = func(poll int) {
		if poll == polls {
			stop()
		}
		if each != nil {
			each(poll)
		}
	}
	one := &tail{
		rows:   l.read,
		say:    func(text string) { said = append(said, text) },
		every:  time.Microsecond,
		follow: true,
		print: func(rows []api.AuditEntry) error {
			for _, row := range rows {
				shown = append(shown, row.Timestamp)
			}
			return nil
		},
	}
	err = one.run(ctx, n)
	return shown, said, err
}

func wantShown(t *testing.T, got []int64, want ...int64) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("shown are %v, want %v", got, want)
	}
}

func TestTailShowsEveryEntryOnce(t *testing.T) {
	l := &ledger{}
	l.add(100*second, 101*second, 102*second, 103*second)
	shown, _, err := follow(t, l, 2, 5, func(poll int) {
		switch poll {
		case 1:
			l.add(104*second, 105*second)
		case 3:
			l.add(190*second, 191*second)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	wantShown(t, shown, 102*second, 103*second, 104*second, 105*second, 190*second, 191*second)
}

func TestTailShowsWhatIsCommittedLate(t *testing.T) {
	l := &ledger{}
	l.add(100*second, 110*second)
	shown, _, err := follow(t, l, 1, 4, func(poll int) {
		switch poll {
		case 1:
			l.add(105*second, 112*second) // made before what was shown, seen after it
		case 2:
			l.add(111 * second)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	wantShown(t, shown, 110*second, 105*second, 112*second, 111*second)
}

func TestTailBeginsWithNothing(t *testing.T) {
	l := &ledger{}
	shown, _, err := follow(t, l, 20, 3, func(poll int) {
		if poll == 2 {
			l.add(5*second, 900*second)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	wantShown(t, shown, 5*second, 900*second)

	l = &ledger{}
	l.add(100*second, 200*second)
	shown, _, err = follow(t, l, 0, 3, func(poll int) {
		if poll == 1 {
			l.add(201 * second)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	wantShown(t, shown, 201*second)
}

func TestTailGoesOnAfterAFailure(t *testing.T) {
	for _, failure := range []error{errors.New("connection refused"), &client.Error{Status: 503}, &client.Error{Status: 429}, context.DeadlineExceeded} {
		l := &ledger{}
		l.add(100*second, 101*second)
		shown, said, err := follow(t, l, 1, 5, func(poll int) {
			switch poll {
			case 1:
				l.add(102*second, 103*second)
				l.failure = failure // after one of them was read
			case 2:
				l.failure = failure
			}
		})
		if err != nil {
			t.Fatalf("%v: %v", failure, err)
		}
		wantShown(t, shown, 101*second, 102*second, 103*second)
		if len(said) != 2 || !strings.Contains(said[0], "retrying") || !strings.Contains(said[1], "again") {
			t.Errorf("%v: said is %q", failure, said)
		}
	}
}

func TestTailEndsWhereItMay(t *testing.T) {
	l := &ledger{}
	l.add(100*second, 101*second)
	refused := &client.Error{Status: 403, Message: "no"}
	_, _, err := follow(t, l, 1, 5, func(poll int) {
		if poll == 1 {
			l.failure = refused
		}
	})
	if !errors.Is(err, refused) {
		t.Errorf("the error is %v", err)
	}
	full := errors.New("no space left")
	one := &tail{rows: l.read, follow: true, every: time.Microsecond, print: func([]api.AuditEntry) error { return full }}
	l.each = nil
	if err := one.run(t.Context(), 1); !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
}

func TestTailForgetsWhatItCannotMeetAgain(t *testing.T) {
	l := &ledger{}
	one := &tail{rows: l.read, print: func([]api.AuditEntry) error { return nil }, follow: true, seen: map[string]int64{}}
	for at := range int64(1000) {
		l.add(at * second)
		if _, err := one.poll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(one.seen) > 40 {
		t.Errorf("it remembers %d entries", len(one.seen))
	}
}

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

// book is a log in memory, whose entries have places in the order in which they were
// committed, which need not be that in which they were made.
type book struct {
	rows    []api.AuditEntry
	failure error // of the next request
	polls   int
	each    func(poll int) // what happens before a request
}

const second = int64(1000)

func (l *book) add(times ...int64) {
	for _, at := range times {
		l.rows = append(l.rows, api.AuditEntry{ID: fmt.Sprintf("aud_%08d", at), Timestamp: at, Seq: int64(len(l.rows)) + 1})
	}
}

func (l *book) newest(context.Context) iter.Seq2[api.AuditEntry, error] {
	newest := slices.Clone(l.rows)
	slices.SortFunc(newest, func(a, b api.AuditEntry) int { return strings.Compare(b.ID, a.ID) })
	return func(yield func(api.AuditEntry, error) bool) {
		for _, row := range newest {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// next returns two entries at most.
func (l *book) next(_ context.Context, after int64) (*api.AuditFeed, error) {
	l.polls++
	if l.each != nil {
		l.each(l.polls)
	}
	if failure := l.failure; failure != nil {
		l.failure = nil
		return nil, failure
	}
	entries := slices.Clone(l.rows[after:])
	entries = entries[:min(2, len(entries))]
	end := after + int64(len(entries))
	return &api.AuditFeed{Entries: entries, After: end, HasMore: end < int64(len(l.rows))}, nil
}

// follow runs a tail over a book until it has asked so many times.
func follow(t *testing.T, l *book, n, polls int, each func(poll int)) (shown []int64, said []string, err error) {
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
		newest: l.newest, all: l.newest, next: l.next,
		say:    func(text string) { said = append(said, text) },
		retry:  time.Microsecond,
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
	l := &book{}
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
	l := &book{}
	l.add(100*second, 110*second)
	shown, _, err := follow(t, l, 1, 5, func(poll int) {
		switch poll {
		case 1:
			l.add(105*second, 112*second) // made before what was shown, committed after it
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
	l := &book{}
	shown, _, err := follow(t, l, 20, 3, func(poll int) {
		if poll == 2 {
			l.add(5*second, 900*second)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	wantShown(t, shown, 5*second, 900*second)

	l = &book{}
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
		l := &book{}
		l.add(100*second, 101*second)
		shown, said, err := follow(t, l, 1, 5, func(poll int) {
			switch poll {
			case 1:
				l.add(102*second, 103*second)
				l.failure = failure
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
	l := &book{}
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
	one := &tail{newest: l.newest, all: l.newest, next: l.next, follow: true, print: func([]api.AuditEntry) error { return full }}
	l.each = nil
	if err := one.run(t.Context(), 1); !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
}

func TestTailShowsEntriesOnceThatHadNoPlaceYet(t *testing.T) {
	for n, want := range map[int][]int64{5: {100 * second, 101 * second, 102 * second}, 0: {102 * second}} {
		l := &book{}
		l.add(100*second, 101*second)
		l.rows[1].Seq = 0 // committed a moment ago
		shown, _, err := follow(t, l, n, 4, func(poll int) {
			if poll == 2 {
				l.add(102 * second)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		wantShown(t, shown, want...)
	}
}

package db_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/db/dbtest/pgcluster"
	"bursar/internal/wait"
)

// openWithReplica opens the store of a pair, whose standby serves lists, and waits until it does.
func openWithReplica(t *testing.T, p *pgcluster.Pair) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: p.URL(), ReadURL: p.Standby.URL("postgres", "")})
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })
	wait.Until(t, "the replica serves lists", d.Lists().Used.Load)
	return d
}

// lists counts the settings of a name with a list.
func lists(t testing.TB, d *db.DB, name string) (n int) {
	t.Helper()
	err := d.ReadList(t.Context(), func(q db.Q) error {
		_, err := q.Row(`SELECT count(*) FROM setting WHERE name = $1`, name).Scan(&n)
		return err
	})
	if err != nil {
		t.Errorf("list %s: %v", name, err)
	}
	return n
}

// servedBy returns how many lists each server has served.
func servedBy(d *db.DB) (primary, replica uint64) {
	return d.Lists().Primary.Load(), d.Lists().Replica.Load()
}

// startAsync starts a pair whose commits do not wait for the standby, which may so be behind. It has the
// tables already: without them it would be of no use where it is promoted.
func startAsync(t *testing.T) *pgcluster.Pair {
	t.Helper()
	p := dbtest.Pair(t)
	d, err := db.Open(t.Context(), db.Config{URL: p.URL()})
	must(t, err)
	must(t, d.Close())
	must(t, p.Primary.WaitForStandbys(t.Context(), false))
	return p
}

func TestAListShowsWhatWasWrittenBeforeItAtAnyNode(t *testing.T) {
	p := startAsync(t)
	here := openWithReplica(t, p)
	there := openWithReplica(t, p)
	for i := range 100 {
		name := fmt.Sprintf("streaming-%d", i)
		mustPut(t, here, name)
		if lists(t, there, name) != 1 {
			t.Errorf("the other node does not list %s", name)
		}
	}
	wait.Until(t, "the replica serves a list", func() bool {
		lists(t, there, "streaming-0")
		_, replica := servedBy(there)
		return replica > 0
	})

	must(t, p.Standby.PauseReplay(t.Context()))
	for i := range 20 {
		name := fmt.Sprintf("paused-%d", i)
		mustPut(t, here, name)
		for node, d := range map[string]*db.DB{"same": here, "other": there} {
			if lists(t, d, name) != 1 {
				t.Errorf("the %s node does not list %s", node, name)
			}
		}
	}
	if there.Lists().Used.Load() || there.Lists().Lag.Load() == 0 {
		t.Error("a replica that is behind is taken for one that is not")
	}

	must(t, p.Standby.ResumeReplay(t.Context()))
	_, before := servedBy(there)
	wait.Until(t, "the replica serves lists again", func() bool {
		if lists(t, there, "paused-19") != 1 {
			t.Error("it does not list what was written while it was behind")
		}
		_, after := servedBy(there)
		return after > before
	})
}

func TestAStandbyThatStopsChangesNoAnswer(t *testing.T) {
	p := startAsync(t)
	d := openWithReplica(t, p)
	mustPut(t, d, "kept")
	ctx, stop := context.WithCancel(t.Context())
	var served atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if lists(t, d, "kept") != 1 {
				t.Error("a list was empty")
			}
			served.Add(1)
		}
	}()
	more := func() {
		before := served.Load()
		wait.Until(t, "lists are served", func() bool { return served.Load() > before+50 })
	}
	more()
	must(t, p.Standby.Kill())
	more()
	wait.Until(t, "the replica is given up", func() bool { return !d.Lists().Used.Load() })
	must(t, p.Standby.Follow(t.Context(), p.Primary))
	wait.Until(t, "the replica is used again", d.Lists().Used.Load)
	more()
	stop()
	<-done
}

func TestAPromotedReplicaServesNoLists(t *testing.T) {
	p := startAsync(t)
	d, err := db.Open(t.Context(), db.Config{URL: p.Primary.URL("postgres", ""), ReadURL: p.Standby.URL("postgres", "")})
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })
	mustPut(t, d, "kept")
	wait.Until(t, "the replica serves lists", d.Lists().Used.Load)
	must(t, p.Standby.Promote(t.Context()))
	// It has replayed all that the primary has, and more is yet to come on its own.
	_, before := servedBy(d)
	if lists(t, d, "kept") != 1 {
		t.Error("a list was empty")
	}
	if _, after := servedBy(d); after != before || d.Lists().Used.Load() {
		t.Error("a server that is no standby any more has served a list")
	}
	mustPut(t, d, "after the promotion")
	if lists(t, d, "after the promotion") != 1 {
		t.Error("a list does not show what was written")
	}
}

func TestAReplicaOfAnotherTimelineServesNoLists(t *testing.T) {
	p := startAsync(t)
	replica, err := p.Primary.Standby(t.Context())
	must(t, err)
	t.Cleanup(func() { must(t, replica.Stop()) })
	d, err := db.Open(t.Context(), db.Config{URL: p.URL(), ReadURL: replica.URL("postgres", "")})
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })
	// The replica gets far ahead of the standby that is promoted then.
	must(t, p.Standby.Kill())
	must(t, change(t.Context(), d, happened, func(tx *db.Tx) error {
		random := make([]byte, 4<<20)
		_, _ = rand.Read(random) // it never fails
		return tx.Exec(insertSetting, "lost", hex.EncodeToString(random))
	}))
	wait.Until(t, "the replica serves lists", func() bool {
		_, before := servedBy(d)
		if lists(t, d, "lost") != 1 {
			t.Error("a list does not show what was written")
		}
		_, after := servedBy(d)
		return after > before
	})
	must(t, p.Primary.Kill())
	must(t, p.Standby.Restart(t.Context()))
	must(t, p.Standby.Promote(t.Context()))
	for i := range 20 {
		name := fmt.Sprintf("kept-%d", i)
		mustPut(t, d, name)
		if lists(t, d, name) != 1 || lists(t, d, "lost") != 0 {
			t.Errorf("%s was listed by a replica that has another history", name)
		}
	}
}

func TestAfterAFailoverTheOtherServerIsTheReplica(t *testing.T) {
	p := startAsync(t)
	d, err := db.Open(t.Context(), db.Config{URL: p.URL(), ReadURL: p.URL() + "&target_session_attrs=standby"})
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })
	wait.Until(t, "the replica serves lists", d.Lists().Used.Load)
	must(t, p.FailOver(t.Context(), func() {
		mustPut(t, d, "alone")
		if lists(t, d, "alone") != 1 {
			t.Error("a list does not show what was written")
		}
	}))
	wait.Until(t, "the other server serves lists", func() bool {
		_, before := servedBy(d)
		if lists(t, d, "alone") != 1 {
			t.Error("a list does not show what was written")
		}
		_, after := servedBy(d)
		return after > before
	})
}

func TestAReplicaIsOfTheSameStore(t *testing.T) {
	p := startAsync(t)
	other := dbtest.Postgres(t)
	reports := make(chan error, 1)
	d, err := db.Open(t.Context(), db.Config{URL: p.URL(), ReadURL: other.Config.URL, OnReplica: func(err error) {
		select {
		case reports <- err:
		default:
		}
	}})
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })
	mustPut(t, d, "kept")
	if err := <-reports; err == nil || !strings.Contains(err.Error(), "no copy of the store") {
		t.Errorf("the reason is %v", err)
	}
	if lists(t, d, "kept") != 1 {
		t.Error("a list was empty")
	}
}

func TestAListThatFailsAtTheReplicaIsServedByThePrimary(t *testing.T) {
	p := startAsync(t)
	d := openWithReplica(t, p)
	mustPut(t, d, "kept")
	// On a busy machine the replica may be behind, and then it is not used.
	wait.Until(t, "a list fails at the replica, which stays fit, and not at the primary", func() bool {
		runs, n := 0, 0
		err := d.ReadList(t.Context(), func(q db.Q) error {
			if _, err := q.Row(`SELECT count(*) FROM setting WHERE name = $1`, "kept").Scan(&n); err != nil {
				return err
			}
			if runs++; runs == 1 {
				return errOnPurpose
			}
			return nil
		})
		return err == nil && runs == 2 && n == 1 && d.Lists().Used.Load()
	})
	if err := d.ReadList(t.Context(), func(db.Q) error { return errOnPurpose }); !errors.Is(err, errOnPurpose) {
		t.Errorf("the error is %v", err)
	}
}

func TestSQLiteHasNoReplica(t *testing.T) {
	_, err := db.Open(t.Context(), db.Config{Dir: t.TempDir(), ReadURL: "postgres://127.0.0.1:1/bursar"})
	if err == nil || !strings.Contains(err.Error(), "SQLite has none") {
		t.Errorf("it was opened: %v", err)
	}
}

// BenchmarkListBesideWrites compares lists by the replica with lists by the primary, while a writer
// writes all the time.
func BenchmarkListBesideWrites(b *testing.B) {
	p := dbtest.Pair(b)
	must(b, p.Primary.WaitForStandbys(b.Context(), false))
	for _, by := range []string{"primary", "replica"} {
		for _, writes := range []bool{false, true} {
			b.Run(fmt.Sprintf("by=%s/writes=%v", by, writes), func(b *testing.B) {
				config := db.Config{URL: p.URL()}
				if by == "replica" {
					config.ReadURL = p.Standby.URL("postgres", "")
				}
				d, err := db.Open(b.Context(), config)
				must(b, err)
				defer func() { _ = d.Close() }()
				if by == "replica" {
					wait.Until(b, "the replica serves lists", d.Lists().Used.Load)
				}
				ctx, stop := context.WithCancel(b.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					for i := 0; writes && ctx.Err() == nil; i++ {
						if err := put(b.Context(), d, fmt.Sprintf("%s/%d/%d", by, b.N, i)+time.Now().String()); err != nil {
							b.Error(err)
							return
						}
					}
				}()
				b.SetParallelism(8)
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						lists(b, d, "none")
					}
				})
				b.StopTimer()
				stop()
				<-done
				if by == "replica" {
					primary, replica := servedBy(d)
					b.ReportMetric(float64(replica)/float64(primary+replica), "by-replica")
				}
			})
		}
	}
}

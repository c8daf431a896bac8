package postgres_test

import (
	"context"
	"fmt"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/db/dbtest/pgcluster"
	"bursar/internal/db/engine"
	"bursar/internal/wait"
)

// uncertain reports whether every look at the epoch gives a new number.
func uncertain(e *engine.Epoch) bool {
	first, second := e.Current(), e.Current()
	return first != second
}

func TestNothingIsCachedWhileTheServerIsAway(t *testing.T) {
	cluster := dbtest.Cluster(t, pgcluster.Options{Durable: true})
	url, err := cluster.NewSchema(t.Context())
	must(t, err)
	d := openAt(t, url)
	defer func() { must(t, d.Close()) }()
	must(t, d.insert(t.Context(), "before"))
	wait.Until(t, "the engine listens", func() bool { return !uncertain(d.epoch) })
	before := d.epoch.Current()

	must(t, cluster.Kill())
	wait.Until(t, "the engine notices that it hears nothing", func() bool { return uncertain(d.epoch) })
	if err := d.Read(t.Context(), func(c engine.Conn) error {
		_, err := c.Query(`SELECT 1`, nil)
		return err
	}); err == nil {
		t.Error("a read succeeds while the server is away")
	}
	if err := d.insert(t.Context(), "during"); err == nil {
		t.Error("a write succeeds while the server is away")
	}

	must(t, cluster.Restart(context.Background()))
	wait.Until(t, "the engine listens again", func() bool { return !uncertain(d.epoch) })
	if d.epoch.Current() <= before {
		t.Error("the epoch is the one from before the outage")
	}
	attempt := 0
	wait.Until(t, "the engine writes again", func() bool {
		attempt++ // a new name, because an attempt that failed may be stored
		return d.insert(t.Context(), fmt.Sprint("after ", attempt)) == nil
	})
	if !d.has(t, "before") {
		t.Error("what was written before the outage is gone")
	}
}

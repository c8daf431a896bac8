package subject

import (
	"path/filepath"
	"testing"
	"time"
)

// moved is how many entries are moved, with as many rows of the audit log.
const moved = 1_000_000

// BenchmarkMove moves a store of a million entries, whose rows of the audit log have no places yet, from SQLite to PostgreSQL and back. Filling it takes some
// minutes; -benchtime=1x does so once.
func BenchmarkMove(b *testing.B) {
	ctx := b.Context()
	pg, err := StartPostgres(ctx)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := pg.Stop(); err != nil {
			b.Error(err)
		}
	})
	setup := Setup{Root: filepath.Join("..", ".."), Dir: b.TempDir(), Postgres: pg}
	binary, err := setup.bursar(ctx)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		if _, err := newSQLiteStore(ctx, binary, dir, moved); err != nil {
			b.Fatal(err)
		}
		url, err := pg.schema(ctx)
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		for _, step := range []struct{ name, from, to string }{{"to-postgres", dir, url}, {"back", url, b.TempDir()}} {
			begun := time.Now()
			if _, err := output(ctx, binary, "move", "--from", step.from, "--to", step.to); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(time.Since(begun).Seconds(), "s/"+step.name)
		}
	}
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"bursar/bench/build"
	"bursar/bench/progress"
	"bursar/bench/subject"
)

// team is the subjects of a run, and what they need.
type team struct {
	options
	root     string
	dir      string // for their stores
	progress *progress.Progress
	postgres *subject.Postgres
	subjects []*subject.Subject
	skipped  []string
}

// gather builds all programs. Those that do not build are skipped; without Bursar
// there is nothing to measure.
func (t *team) gather(ctx context.Context) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("find a folder for the programs: %w", err)
	}
	cache = filepath.Join(cache, "bursar-bench")
	t.progress.Say("building Bursar")
	// Not into the cache, which other copies of the source share.
	bursar, err := build.Bursar(t.root).Into(ctx, t.dir)
	if err != nil {
		return err
	}
	if err := t.startPostgres(ctx); err != nil {
		return err
	}
	version := build.Commit(ctx, t.root)
	t.add("bursar-sqlite", func() *subject.Subject { return subject.BursarSQLite(bursar, version, t.dir, t.sizes) })
	if t.postgres != nil {
		t.add("bursar-postgres", func() *subject.Subject { return subject.BursarPostgres(bursar, version, t.postgres, t.sizes) })
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	t.add("bare", func() *subject.Subject { return subject.Bare(self, bursar, t.dir, t.sizes) })
	if err := t.gatherPocketBase(ctx, cache); err != nil {
		return err
	}
	if err := t.gatherKratos(ctx, cache); err != nil {
		return err
	}
	if len(t.subjects) == 0 && len(t.skipped) == 0 {
		return fmt.Errorf("--subjects: no subject has a name that matches %s", t.options.subjects)
	}
	return nil
}

func (t *team) startPostgres(ctx context.Context) (err error) {
	if !t.asked("bursar-postgres") && !t.asked("kratos-postgres") {
		return nil
	}
	if t.postgres, err = subject.StartPostgres(ctx); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t.skip("All on PostgreSQL", err)
		t.postgres = nil
	}
	return nil
}

func (t *team) gatherPocketBase(ctx context.Context, cache string) error {
	if !t.asked("pocketbase") && !t.asked("pocketbase-full") {
		return nil
	}
	binary, version, err := t.build(ctx, build.PocketBase(t.root), cache, "github.com/pocketbase/pocketbase")
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t.skip("PocketBase", err)
		return nil
	}
	t.add("pocketbase", func() *subject.Subject { return subject.PocketBase(binary, version, t.dir, t.sizes) })
	t.add("pocketbase-full", func() *subject.Subject { return subject.PocketBaseFull(binary, version, t.dir, t.sizes) })
	return nil
}

func (t *team) gatherKratos(ctx context.Context, cache string) error {
	if !t.asked("kratos-sqlite") && !t.asked("kratos-postgres") {
		return nil
	}
	binary, version, err := t.build(ctx, build.Kratos(t.root), cache, "github.com/ory/kratos")
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t.skip("Kratos", err)
		return nil
	}
	t.add("kratos-sqlite", func() *subject.Subject { return subject.KratosSQLite(binary, version, t.dir, t.sizes) })
	if t.postgres != nil {
		t.add("kratos-postgres", func() *subject.Subject { return subject.KratosPostgres(binary, version, t.dir, t.postgres, t.sizes) })
	}
	return nil
}

func (t *team) build(ctx context.Context, p build.Program, cache, module string) (binary, version string, err error) {
	t.progress.Say("building %s; the first time takes minutes", p.Name)
	if binary, err = p.Into(ctx, cache); err != nil {
		return "", "", err
	}
	version, err = build.Version(binary, module)
	return binary, version, err
}

// asked says whether a subject is to be measured.
func (t *team) asked(name string) bool {
	peer := name != "bare" && name != "bursar-sqlite" && name != "bursar-postgres"
	return !(peer && t.noPeers) && (t.programs == nil || t.programs.MatchString(name))
}

func (t *team) add(name string, make func() *subject.Subject) {
	if t.asked(name) {
		t.subjects = append(t.subjects, make())
	}
}

func (t *team) skip(what string, err error) {
	line := fmt.Sprintf("%s: %v", what, err)
	t.skipped = append(t.skipped, line)
	t.progress.Say("skipped: %s", line)
}

// dismiss ends what the subjects needed.
func (t *team) dismiss() error {
	if t.postgres == nil {
		return nil
	}
	return t.postgres.Stop()
}

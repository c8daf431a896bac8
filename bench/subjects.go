package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"bursar/bench/run"
	"bursar/bench/subject"
)

// subjects builds the programs that a run measures.
type subjects struct {
	options
	root     string
	dir      string // for their stores
	progress *run.Progress
	postgres *subject.Postgres
	all      []*subject.Subject
	skipped  []string
}

// prepare builds all programs. A peer that does not build is skipped, but not Bursar.
func (s *subjects) prepare(ctx context.Context) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("find a folder for the programs: %w", err)
	}
	cache = filepath.Join(cache, "bursar-bench")
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	s.progress.Say("building Bursar")
	bursar, err := subject.BuildBursar(ctx, s.root, s.dir) // not into the cache, which other copies of the source share
	if err != nil {
		return err
	}
	if s.asked("bursar-postgres") || s.asked("kratos-postgres") {
		if s.postgres, err = subject.StartPostgres(ctx); err != nil {
			s.skip("everything on PostgreSQL", err)
		}
	}
	version := subject.Commit(ctx, s.root)
	s.add("bursar-sqlite", func() *subject.Subject { return subject.BursarSQLite(bursar, version, s.dir, s.sizes) })
	s.add("bursar-postgres", func() *subject.Subject { return subject.BursarPostgres(bursar, version, s.postgres, s.sizes) })
	s.add("bare", func() *subject.Subject { return subject.Bare(self, bursar, s.dir, s.sizes) })
	s.addPocketBase(ctx, cache)
	s.addKratos(ctx, cache)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(s.all) == 0 && len(s.skipped) == 0 {
		return fmt.Errorf("--subjects: no subject has a name that matches %s", s.options.subjects)
	}
	return nil
}

func (s *subjects) addPocketBase(ctx context.Context, cache string) {
	if !s.asked("pocketbase") && !s.asked("pocketbase-full") {
		return
	}
	s.progress.Say("building PocketBase; the first time takes minutes")
	binary, version, err := subject.BuildPocketBase(ctx, s.root, cache)
	if err != nil {
		s.skip("PocketBase", err)
		return
	}
	s.add("pocketbase", func() *subject.Subject { return subject.PocketBase(binary, version, s.dir, s.sizes) })
	s.add("pocketbase-full", func() *subject.Subject { return subject.PocketBaseFull(binary, version, s.dir, s.sizes) })
}

func (s *subjects) addKratos(ctx context.Context, cache string) {
	if !s.asked("kratos-sqlite") && !s.asked("kratos-postgres") {
		return
	}
	s.progress.Say("building Kratos; the first time takes minutes")
	binary, version, err := subject.BuildKratos(ctx, s.root, cache)
	if err != nil {
		s.skip("Kratos", err)
		return
	}
	s.add("kratos-sqlite", func() *subject.Subject { return subject.KratosSQLite(binary, version, s.dir, s.sizes) })
	s.add("kratos-postgres", func() *subject.Subject { return subject.KratosPostgres(binary, version, s.dir, s.postgres, s.sizes) })
}

// asked reports whether a subject is to be measured.
func (s *subjects) asked(name string) bool {
	peer := name != "bare" && !strings.HasPrefix(name, "bursar-")
	return !(peer && s.noPeers) && (s.programs == nil || s.programs.MatchString(name))
}

// add adds a subject that is asked for, unless it needs a PostgreSQL that is not there.
func (s *subjects) add(name string, make func() *subject.Subject) {
	if s.asked(name) && (s.postgres != nil || !strings.HasSuffix(name, "-postgres")) {
		s.all = append(s.all, make())
	}
}

func (s *subjects) skip(what string, err error) {
	line := fmt.Sprintf("%s: %v", what, err)
	s.skipped = append(s.skipped, line)
	s.progress.Say("skipped: %s", line)
}

func (s *subjects) stopPostgres() error {
	if s.postgres == nil {
		return nil
	}
	return s.postgres.Stop()
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"bursar/bench/subject"
)

// prepare builds the programs to measure. A peer that does not build is skipped, but not Bursar.
func (o options) prepare(ctx context.Context, root, dir string, log func(string, ...any)) (setup subject.Setup, all []*subject.Subject, skipped []string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return setup, nil, nil, fmt.Errorf("find a folder for the programs: %w", err)
	}
	setup = subject.Setup{Root: root, Dir: dir, Cache: filepath.Join(cache, "bursar-bench"), Sizes: o.sizes}
	type builder struct {
		name string
		make func(context.Context, subject.Setup) (*subject.Subject, error)
	}
	builders := []builder{
		{"bursar-sqlite", subject.BursarSQLite}, {"bursar-postgres", subject.BursarPostgres}, {"bare", subject.Bare},
		{"bursar-sqlite-backup", subject.WithBackup()},
		{"pocketbase", subject.PocketBase}, {"pocketbase-full", subject.PocketBaseFull},
		{"kratos-sqlite", subject.KratosSQLite}, {"kratos-postgres", subject.KratosPostgres},
	}
	if o.before != "" {
		builders = append(builders, builder{"bursar-sqlite-before", subject.Before(o.before, subject.BursarSQLite)},
			builder{"bursar-postgres-before", subject.Before(o.before, subject.BursarPostgres)})
	}
	for _, s := range builders {
		if o.programs != nil && !o.programs.MatchString(s.name) {
			continue
		}
		log("building %s", s.name)
		var made *subject.Subject
		var err error
		if setup.Postgres == nil && strings.Contains(s.name, "-postgres") {
			setup.Postgres, err = subject.StartPostgres(ctx)
		}
		if err == nil {
			made, err = s.make(ctx, setup)
		}
		switch {
		case ctx.Err() != nil:
			return setup, nil, nil, ctx.Err()
		case err != nil && s.name == "bursar-sqlite":
			return setup, nil, nil, err
		case err != nil:
			skipped = append(skipped, fmt.Sprintf("%s: %v", s.name, err))
			log("skipped %s: %v", s.name, err)
		default:
			all = append(all, made)
		}
	}
	if len(all) == 0 && len(skipped) == 0 {
		err = fmt.Errorf("--subjects: no subject has a name that matches %s", o.subjects)
	}
	return setup, all, skipped, err
}

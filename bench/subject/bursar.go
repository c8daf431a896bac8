package subject

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bursar/bench/fill"
	"bursar/bench/plan"
	"bursar/bench/proc"
	"bursar/bench/report"
)

// sharedIDs is how many entries single reads and updates go round.
const sharedIDs = 500

// BursarSQLite is the product on its embedded store.
func BursarSQLite(binary, version, dir string, sizes plan.Sizes) *Subject {
	s := &Subject{Binary: binary, Subject: report.Subject{Name: "bursar-sqlite", Title: "Bursar on SQLite", Version: version}}
	for _, size := range append([]int{0}, sizes.All()...) {
		s.Jobs = append(s.Jobs, Job{Title: fmt.Sprintf("%s, %s rows", s.Title, plan.Number(size)), Size: size, Rows: 2 * size,
			Do: func(ctx context.Context) (*Server, error) {
				b, err := newSQLiteStore(ctx, binary, filepath.Join(dir, fmt.Sprintf("bursar-%d", size)), size)
				if err != nil {
					return nil, err
				}
				return b.server()
			}})
	}
	return s
}

// BursarPostgres is the product on a PostgreSQL server, with a schema for each store.
func BursarPostgres(binary, version string, pg *Postgres, sizes plan.Sizes) *Subject {
	s := &Subject{Subject: report.Subject{Name: "bursar-postgres", Title: "Bursar on PostgreSQL", Version: version + ", PostgreSQL " + pg.Version}}
	for _, size := range append([]int{0}, sizes.All()...) {
		s.Jobs = append(s.Jobs, Job{Title: fmt.Sprintf("%s, %s rows", s.Title, plan.Number(size)), Size: size, Rows: 2 * size,
			Do: func(ctx context.Context) (*Server, error) {
				b, err := newPostgresStore(ctx, binary, pg, size)
				if err != nil {
					return nil, err
				}
				return b.server()
			}})
	}
	return s
}

// bursar is the product over one store.
type bursar struct {
	binary string
	store  []string // the flag that names the store, and its value
	bytes  int64
	plan   fill.Plan
	key    string
	base   string
	token  string
	deep   map[string]string // the cursor of a deep page, by filter
}

func newSQLiteStore(ctx context.Context, binary, dir string, size int) (*bursar, error) {
	b := &bursar{binary: binary, store: []string{"--data", dir}, deep: map[string]string{}}
	if err := b.init(ctx, size); err != nil {
		return nil, err
	}
	if size > 0 {
		if err := fill.SQLite(ctx, dir, b.plan); err != nil {
			return nil, err
		}
	}
	var err error
	b.bytes, err = folderSize(dir)
	return b, err
}

func newPostgresStore(ctx context.Context, binary string, pg *Postgres, size int) (*bursar, error) {
	url, err := pg.schema(ctx)
	if err != nil {
		return nil, err
	}
	b := &bursar{binary: binary, store: []string{"--database-url", url}, deep: map[string]string{}}
	if err := b.init(ctx, size); err != nil {
		return nil, err
	}
	if size > 0 {
		if err := fill.Postgres(ctx, url, b.plan); err != nil {
			return nil, err
		}
	}
	b.bytes, err = pg.size(ctx, url)
	return b, err
}

func (b *bursar) init(ctx context.Context, size int) error {
	out, err := proc.Output(ctx, proc.Command{Path: b.binary, Args: append([]string{"init", "--email", "ada@example.com",
		"--name", "Ada Lovelace", "--organization", "Acme", "--workspace", "Treasury", "--json"}, b.store...)})
	if err != nil {
		return fmt.Errorf("set up the store: %w", err)
	}
	var made struct {
		UserID      string `json:"user_id"`
		WorkspaceID string `json:"workspace_id"`
		APIKey      string `json:"api_key"`
	}
	if err := json.Unmarshal(out, &made); err != nil {
		return fmt.Errorf("set up the store: it printed %.200q: %w", out, err)
	}
	b.key = made.APIKey
	b.plan = fill.Plan{WorkspaceID: made.WorkspaceID, ActorID: made.UserID, Entries: size, Now: time.Now().UnixMilli()}
	return nil
}

func (b *bursar) server() (*Server, error) {
	address, err := proc.FreeAddress()
	if err != nil {
		return nil, err
	}
	b.base = "http://" + address
	return &Server{
		Size: b.plan.Entries, Logs: b.plan.Entries, Bytes: b.bytes, speaker: b,
		Command: proc.Command{Path: b.binary, Args: append([]string{"serve", "--listen", address, "--rate-limit", "off"}, b.store...)},
		Probe:   proc.Probe{URL: b.base + "/healthz"},
	}, nil
}

// folderSize is that of all files in a folder.
func folderSize(dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(entry.Name(), "-shm") {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("measure the store: %w", err)
	}
	return total, nil
}

package subject

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bursar/bench/fill"
	"bursar/bench/plan"
	"bursar/bench/report"
)

// BursarSQLite is the product on its embedded store.
func BursarSQLite(ctx context.Context, setup Setup) (*Subject, error) {
	s := &Subject{Subject: report.Subject{Name: "bursar-sqlite", Title: "Bursar on SQLite"}}
	fresh := func(ctx context.Context) (*bursar, error) {
		return newSQLiteStore(ctx, s.Binary, filepath.Join(setup.Dir, "fresh-"+rand.Text()), 0)
	}
	s.Import = func(ctx context.Context, lines int) (rate, bare float64, err error) {
		return importInto(ctx, lines, fresh, copySQLite)
	}
	s.addMoney(setup, fresh)
	return s, s.addStores(ctx, setup, func(ctx context.Context, size int) (*bursar, error) {
		return newSQLiteStore(ctx, s.Binary, filepath.Join(setup.Dir, fmt.Sprintf("bursar-%d", size)), size)
	})
}

// BursarPostgres is the product on a PostgreSQL server, with a schema for each store.
func BursarPostgres(ctx context.Context, setup Setup) (*Subject, error) {
	s := &Subject{Subject: report.Subject{Name: "bursar-postgres", Title: "Bursar on PostgreSQL"}}
	fresh := func(ctx context.Context) (*bursar, error) {
		return newPostgresStore(ctx, s.Binary, setup.Dir, setup.Postgres, 0)
	}
	s.Import = func(ctx context.Context, lines int) (rate, bare float64, err error) {
		return importInto(ctx, lines, fresh, copyPostgres)
	}
	s.addMoney(setup, fresh)
	err := s.addStores(ctx, setup, func(ctx context.Context, size int) (*bursar, error) {
		return newPostgresStore(ctx, s.Binary, setup.Dir, setup.Postgres, size)
	})
	s.Version += ", PostgreSQL " + setup.Postgres.Version
	return s, err
}

// The variants of the product that show what something costs.
const (
	backup = "backup" // with a continuous backup into a folder
	before = "before" // as it was at an earlier commit
)

// WithBackup is the product on its embedded store with a continuous backup.
func WithBackup() func(context.Context, Setup) (*Subject, error) {
	return variant(backup, "with a continuous backup", BursarSQLite)
}

// Before is the product on one of its databases as it was at a commit. It only makes payouts.
func Before(commit string, of func(context.Context, Setup) (*Subject, error)) func(context.Context, Setup) (*Subject, error) {
	return func(ctx context.Context, setup Setup) (*Subject, error) {
		root, err := setup.extract(ctx, commit)
		if err != nil {
			return nil, err
		}
		setup.Root, setup.at = root, commit
		s, err := variant(before, "before", of)(ctx, setup)
		if s != nil {
			s.Stores = slices.DeleteFunc(s.Stores, func(store Store) bool { return store.Money != plan.PayoutStore })
		}
		return s, err
	}
}

// variant only creates.
func variant(name, title string, of func(context.Context, Setup) (*Subject, error)) func(context.Context, Setup) (*Subject, error) {
	return func(ctx context.Context, setup Setup) (*Subject, error) {
		setup.variant = name
		setup.Dir = filepath.Join(setup.Dir, name)
		setup.Sizes = plan.Sizes{Main: setup.Sizes.Main}
		if err := os.MkdirAll(setup.Dir, 0o700); err != nil {
			return nil, fmt.Errorf("make a folder for the stores: %w", err)
		}
		s, err := of(ctx, setup)
		if s != nil {
			s.Name += "-" + name
			s.Title += " " + title
			s.Import = nil
		}
		return s, err
	}
}

// addStores builds the product and adds an empty store and one of each size.
func (s *Subject) addStores(ctx context.Context, setup Setup, make func(ctx context.Context, size int) (*bursar, error)) (err error) {
	s.Binary, err = setup.bursar(ctx)
	s.Version = setup.commit(ctx)
	for _, size := range slices.Compact(append([]int{0}, setup.Sizes.All()...)) {
		s.Stores = append(s.Stores, Store{Rows: 2 * size, Fill: func(ctx context.Context) (*Server, error) {
			b, err := make(ctx, size)
			if err != nil {
				return nil, err
			}
			b.variant = setup.variant
			return b.server()
		}})
	}
	return err
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
	deep   map[string]string // cursors of deep pages, by filter

	auditKey []string // the flag that names the key of the audit log, and its value
	postgres *Postgres
	variant  string
}

func newSQLiteStore(ctx context.Context, binary, dir string, size int) (*bursar, error) {
	b := &bursar{binary: binary, store: []string{"--data", dir}, deep: map[string]string{}}
	err := b.init(ctx, size)
	if err == nil && size > 0 {
		err = fill.SQLite(ctx, dir, b.plan)
	}
	if err == nil {
		b.bytes, err = folderSize(dir)
	}
	return b, err
}

func newPostgresStore(ctx context.Context, binary, dir string, pg *Postgres, size int) (*bursar, error) {
	url, err := pg.schema(ctx)
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, "keys-"+rand.Text()) // the checkpoint of the audit log is beside its key
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for the keys: %w", err)
	}
	b := &bursar{binary: binary, postgres: pg, store: []string{"--database-url", url, "--vault-key", filepath.Join(dir, "vault.key")}, deep: map[string]string{}}
	if _, err := output(ctx, binary, append([]string{"admin", "vault", "init"}, b.store...)...); err != nil {
		return nil, fmt.Errorf("make the vault key: %w", err)
	}
	if err = b.init(ctx, size); err == nil {
		b.auditKey = []string{"--audit-key", filepath.Join(dir, "audit.key")}
		_, err = output(ctx, binary, slices.Concat([]string{"admin", "audit", "init"}, b.auditKey, b.store)...)
	}
	if err == nil && size > 0 {
		err = fill.Postgres(ctx, url, b.plan)
	}
	if err == nil {
		b.bytes, err = pg.size(ctx, url)
	}
	return b, err
}

// init sets up the store, with one entry for fill to copy unless it stays empty.
func (b *bursar) init(ctx context.Context, size int) error {
	out, err := output(ctx, b.binary, append([]string{"init", "--email", "ada@example.com",
		"--name", "Ada Lovelace", "--organization", "Acme", "--workspace", "Treasury", "--json"}, b.store...)...)
	if err != nil {
		return fmt.Errorf("set up the store: %w", err)
	}
	var made struct {
		UserID      string `json:"user_id"`
		WorkspaceID string `json:"workspace_id"`
		APIKey      string `json:"api_key"`
	}
	if err := decode(out, &made, "bursar init"); err != nil {
		return err
	}
	b.key = made.APIKey
	b.plan = fill.Plan{WorkspaceID: made.WorkspaceID, ActorID: made.UserID, Entries: size}
	if size > 0 {
		if err := b.createSource(ctx); err != nil {
			return fmt.Errorf("create the entry to copy: %w", err)
		}
	}
	b.plan.Now = time.Now().UnixMilli()
	return nil
}

// createSource lets the product create an entry with a tag.
func (b *bursar) createSource(ctx context.Context) error {
	server, err := b.server()
	if err != nil {
		return err
	}
	return server.during(ctx, func() (err error) {
		b.plan.TagID, err = b.create(ctx, "/v1/directory/tags", `{"workspace_id":"`+b.plan.WorkspaceID+`","name":"Half"}`)
		if err == nil {
			b.plan.SourceID, err = b.create(ctx, "/v1/directory", `{"workspace_id":"`+b.plan.WorkspaceID+
				`","type":"person","tags":["`+b.plan.TagID+`"],"fields":`+fill.Fields+`}`)
		}
		return err
	})
}

func (b *bursar) create(ctx context.Context, path, body string) (id string, err error) {
	var made struct{ Data struct{ ID string } }
	header := b.header()
	header["Content-Type"] = "application/json"
	err = call(ctx, http.DefaultClient, http.MethodPost, b.base+path, header, body, &made)
	return made.Data.ID, err
}

func (b *bursar) server() (*Server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	b.base = "http://" + address
	args := slices.Concat([]string{"serve", "--listen", address, "--rate-limit", "off"}, b.store, b.auditKey)
	if b.variant == backup {
		args = append(args, "--backup", b.store[1]+"-backup")
	}
	return &Server{
		Size: b.plan.Entries, Logs: b.plan.Entries, Bytes: b.bytes, client: b, probe: Probe{URL: b.base + "/healthz"},
		path: b.binary, args: args,
	}, nil
}

// folderSize returns the size of all files in a folder, except for shared memory.
func folderSize(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
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

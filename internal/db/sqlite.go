package db

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// SQLiteFile is the name of the database in the data folder.
const SQLiteFile = "bursar.db"

// busyTimeout is how long one waits for another process that holds the file.
const busyTimeout = 10 * time.Second

// sqlite keeps many connections that read and one that writes.
type sqlite struct {
	path    string
	readers chan *sqliteConn // nil stands for one that is yet to be opened
	writer  *sqliteWriter
}

func openSQLite(ctx context.Context, dir string, e *epoch, readers int) (*sqlite, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	s := &sqlite{path: filepath.Join(dir, SQLiteFile), readers: make(chan *sqliteConn, readers)}
	file, err := os.OpenFile(s.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the data file: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("open the data file: %w", err)
	}
	failed := new(syncFailure)
	vfs, err := newWALVFS(failed)
	if err != nil {
		return nil, err
	}
	writing, err := openSQLiteConn(ctx, vfs.uri(s.path), "PRAGMA wal_autocheckpoint = 0;")
	if err != nil {
		vfs.close()
		return nil, err
	}
	// A process that was killed during a commit may have left pages in the WAL that
	// are not on disk, and readers see them from now on.
	if err := errors.Join(s.keepPrivate(), syncFile(s.path+"-wal")); err != nil {
		defer vfs.close()
		return nil, errors.Join(err, writing.close())
	}
	for range readers {
		s.readers <- nil
	}
	s.writer = startSQLiteWriter(writing, vfs, startCheckpointer(s.path, failed), e)
	return s, nil
}

// keepPrivate makes SQLite's side files nobody else's to read, before anything is
// written to them: the folder may have been there, open to others.
func (s *sqlite) keepPrivate() error {
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Chmod(s.path+suffix, 0o600); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("close the data file to others: %w", err)
		}
	}
	return nil
}

func (s *sqlite) read(ctx context.Context, fn func(conn) error) error {
	var c *sqliteConn
	select {
	case c = <-s.readers:
	case <-ctx.Done():
		return fmt.Errorf("wait for a connection: %w", ctx.Err())
	}
	defer func() { s.readers <- c }()
	if c == nil {
		opened, err := openSQLiteConn(ctx, s.path, "PRAGMA query_only = ON;")
		if err != nil {
			return err
		}
		c = opened
	}
	c.db.SetInterrupt(ctx)
	defer c.endRead()
	err := fn(c)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

func (s *sqlite) write(ctx context.Context, fn func(conn) error) error { return s.writer.do(ctx, fn) }

func (s *sqlite) detectReuseOnInsert() bool { return false }

func (s *sqlite) announce() string { return "" }

func (s *sqlite) migrate(ctx context.Context, now int64) error {
	all, err := migrations("sqlite", sqliteSchema)
	if err != nil {
		return err
	}
	if err := s.write(ctx, func(c conn) error { return applyPending(c.(*sqliteConn), all, now) }); err != nil {
		return err
	}
	return syncFile(filepath.Dir(s.path)) // else a power loss could remove the names of new files
}

// syncFile puts a file or a folder on disk, if there is one.
func syncFile(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s to sync it: %w", filepath.Base(path), err)
	}
	defer file.Close()
	if err := file.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("sync %s: %w", filepath.Base(path), err)
	}
	return nil
}

func (s *sqlite) close() error {
	var errs []error
	for range cap(s.readers) {
		if c := <-s.readers; c != nil {
			errs = append(errs, c.close())
		}
	}
	// The writer goes last: the last one out folds the log into the file.
	return errors.Join(append(errs, s.writer.stop())...)
}

// sqliteConn is one connection with its prepared statements.
type sqliteConn struct {
	db       *sqlite3.Conn
	prepared map[string]*sqliteStmt
	wrote    bool // since the job began
}

// sqliteStmt is a statement that is kept. SQLite numbers $2 by where it first
// appears, not by its digits: order says which argument each place takes.
type sqliteStmt struct {
	*sqlite3.Stmt
	order    []int
	values   []any // bound last, which stay bound until others are
	readOnly bool
}

func openSQLiteConn(ctx context.Context, path, extra string) (*sqliteConn, error) {
	db, err := sqlite3.OpenContext(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", SQLiteFile, err)
	}
	if err := db.BusyTimeout(busyTimeout); err != nil {
		return nil, errors.Join(fmt.Errorf("configure SQLite: %w", err), db.Close())
	}
	if err := configureSQLite(ctx, db, extra); err != nil {
		return nil, errors.Join(fmt.Errorf("configure SQLite: %w", err), db.Close())
	}
	// Without it SQLite plans a statement anew whenever a parameter changes that
	// might decide about a partial index: a third of the time of a list.
	if _, err := db.Config(sqlite3.DBCONFIG_ENABLE_QPSG, true); err != nil {
		return nil, errors.Join(fmt.Errorf("configure SQLite: %w", err), db.Close())
	}
	return &sqliteConn{db: db, prepared: map[string]*sqliteStmt{}}, nil
}

// configureSQLite tries again while several open a fresh file at once: SQLite does
// not wait for its lock when it changes the journal.
func configureSQLite(ctx context.Context, db *sqlite3.Conn, extra string) error {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	for {
		err := db.Exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON;
			PRAGMA cache_size = -8192; PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY;` + extra)
		if !errors.Is(err, sqlite3.BUSY) {
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

func (c *sqliteConn) close() error {
	var errs []error
	for _, stmt := range c.prepared {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, c.db.Close())...)
}

func (c *sqliteConn) query(sql string, args []any) (Rows, error) {
	stmt, err := c.bound(sql, args)
	if err != nil {
		return nil, err
	}
	return &sqliteRows{stmt}, nil
}

func (c *sqliteConn) exec(sql string, args []any) error {
	stmt, err := c.bound(sql, args)
	if err != nil {
		return err
	}
	for stmt.Step() {
	}
	err = stmt.Err()
	if failed := stmt.Reset(); err == nil {
		err = failed // else it repeats the error
	}
	return err
}

func (c *sqliteConn) script(sql string) error {
	c.wrote = true
	return c.db.Exec(sql)
}

func (c *sqliteConn) snapshot() error { return c.exec("BEGIN", nil) }

// endRead leaves the connection as the next one expects it, also when the caller
// has gone.
func (c *sqliteConn) endRead() {
	c.db.SetInterrupt(context.Background())
	if !c.db.GetAutocommit() {
		// A read transaction has nothing to lose; were this to fail, the next
		// statement on the connection would say so.
		_ = c.exec("ROLLBACK", nil)
	}
}

func (c *sqliteConn) bound(sql string, args []any) (*sqlite3.Stmt, error) {
	stmt := c.prepared[sql]
	if stmt == nil {
		var err error
		if stmt, err = c.prepare(sql); err != nil {
			return nil, err
		}
		c.prepared[sql] = stmt
	}
	if stmt.Busy() {
		return nil, errors.New("a statement is used inside its own answer")
	}
	if !stmt.readOnly {
		c.wrote = true
	}
	for i, n := range stmt.order {
		if n >= len(args) {
			return nil, fmt.Errorf("parameter $%d has no value", n+1)
		}
		if err := stmt.bind(i, args[n]); err != nil {
			return nil, fmt.Errorf("bind parameter $%d: %w", n+1, err)
		}
	}
	return stmt.Stmt, nil
}

func (c *sqliteConn) prepare(sql string) (*sqliteStmt, error) {
	raw, _, err := c.db.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	stmt := &sqliteStmt{Stmt: raw, readOnly: raw.ReadOnly()}
	for i := range raw.BindCount() {
		n, err := strconv.Atoi(strings.TrimPrefix(raw.BindName(i+1), "$"))
		if err != nil || n < 1 {
			return nil, errors.Join(errors.New("parameters are named $1, $2 and so on"), raw.Close())
		}
		stmt.order = append(stmt.order, n-1)
		stmt.values = append(stmt.values, unbound{})
	}
	return stmt, nil
}

// unbound is the value of a parameter that has none yet.
type unbound struct{}

// bind gives a place its value. Most statements run again with some of the values
// that they had before, such as the workspace: those are not copied anew.
func (s *sqliteStmt) bind(place int, value any) (err error) {
	switch v := value.(type) {
	case nil:
		if s.values[place] == nil {
			return nil
		}
		err = s.BindNull(place + 1)
	case string:
		if s.values[place] == value {
			return nil
		}
		err = s.BindText(place+1, v)
	case int64:
		err = s.BindInt64(place+1, v)
	case int:
		err = s.BindInt(place+1, v)
	case bool:
		err = s.BindBool(place+1, v)
	default:
		return fmt.Errorf("unsupported %T", value)
	}
	s.values[place] = value
	if err != nil {
		s.values[place] = unbound{}
	}
	return err
}

type sqliteRows struct{ stmt *sqlite3.Stmt }

func (r *sqliteRows) Next() bool        { return r.stmt.Step() }
func (r *sqliteRows) Err() error        { return r.stmt.Err() }
func (r *sqliteRows) Close()            { _ = r.stmt.Reset() } // repeats the error that Err has told
func (r *sqliteRows) Text(i int) string { return r.stmt.ColumnText(i) }
func (r *sqliteRows) Raw(i int) []byte  { return r.stmt.ColumnRawText(i) }
func (r *sqliteRows) Int(i int) int64   { return r.stmt.ColumnInt64(i) }
func (r *sqliteRows) Bool(i int) bool   { return r.stmt.ColumnBool(i) }
func (r *sqliteRows) Null(i int) bool   { return r.stmt.ColumnType(i) == sqlite3.NULL }

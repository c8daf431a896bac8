package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"bursar/internal/db/engine"
	"bursar/internal/work"
)

// busyTimeout is how long a connection waits for a lock of another process.
const busyTimeout = 10 * time.Second

// conn is a connection with its prepared statements.
type conn struct {
	db       *sqlite3.Conn
	prepared map[string]*statement
	wrote    bool // the job has written something
}

// statement is a prepared statement. SQLite numbers parameters by their first
// appearance in the text, whatever the digits after the $.
type statement struct {
	*sqlite3.Stmt
	order    []int // by SQLite's number: which argument the parameter takes
	readOnly bool
}

func openConn(ctx context.Context, path, extra string) (*conn, error) {
	db, err := sqlite3.OpenContext(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", FileName, err)
	}
	if err := db.BusyTimeout(busyTimeout); err != nil {
		return nil, errors.Join(fmt.Errorf("configure SQLite: %w", err), db.Close())
	}
	if err := configure(ctx, db, extra); err != nil {
		return nil, errors.Join(fmt.Errorf("configure SQLite: %w", err), db.Close())
	}
	// Without this guarantee SQLite plans a statement again whenever a parameter changes
	// that might decide whether a partial index applies. That takes a third of the time
	// of a list.
	if _, err := db.Config(sqlite3.DBCONFIG_ENABLE_QPSG, true); err != nil {
		return nil, errors.Join(fmt.Errorf("configure SQLite: %w", err), db.Close())
	}
	return &conn{db: db, prepared: map[string]*statement{}}, nil
}

// configure retries while other connections open the same new file, because SQLite
// does not wait for the lock when it changes the journal mode.
//
// The WAL file is cut to 128 MiB when the WAL is reset, which is more than the writer lets it grow to. Its earlier contents
// show a backup, after a kill, that it has missed nothing (see Log.Find).
func configure(ctx context.Context, db *sqlite3.Conn, extra string) error {
	return untilFree(ctx, func() error {
		return db.Exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON;
			PRAGMA cache_size = -8192; PRAGMA journal_size_limit = 134217728; PRAGMA temp_store = MEMORY;` + extra)
	})
}

// untilFree repeats run while others hold a lock that SQLite does not wait for.
func untilFree(ctx context.Context, run func() error) error {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	for {
		err := run()
		if !errors.Is(err, sqlite3.BUSY) {
			return err
		}
		if work.Sleep(ctx, 5*time.Millisecond) != nil {
			return err
		}
	}
}

func (c *conn) close() error {
	var errs []error
	for _, stmt := range c.prepared {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, c.db.Close())...)
}

// Query implements engine.Conn.
func (c *conn) Query(sql string, args []any) (engine.Rows, error) {
	stmt, err := c.bound(sql, args)
	if err != nil {
		return nil, err
	}
	return &rows{stmt}, nil
}

// Exec implements engine.Conn.
func (c *conn) Exec(sql string, args []any) error {
	stmt, err := c.bound(sql, args)
	if err != nil {
		return err
	}
	for stmt.Step() {
	}
	err = stmt.Err()
	if failed := stmt.Reset(); err == nil {
		err = failed // otherwise Reset repeats the error
	}
	return err
}

// queryInt returns the first column of the first row.
func (c *conn) queryInt(sql string) (n int64, err error) {
	r, err := c.Query(sql, nil)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	if r.Next() {
		n = r.Int(0)
	}
	return n, r.Err()
}

// Script implements engine.Migrator.
func (c *conn) Script(sql string) error {
	c.wrote = true
	return c.db.Exec(sql)
}

// Snapshot implements engine.Conn.
func (c *conn) Snapshot() error { return c.Exec("BEGIN", nil) }

// endRead makes the connection ready for the next caller, even if the context of
// this one has ended.
func (c *conn) endRead() {
	c.db.SetInterrupt(context.Background())
	if !c.db.GetAutocommit() {
		// A read transaction has nothing to lose, and the next statement on the
		// connection would report a failure.
		_ = c.Exec("ROLLBACK", nil)
	}
}

func (c *conn) bound(sql string, args []any) (*sqlite3.Stmt, error) {
	stmt := c.prepared[sql]
	if stmt == nil {
		var err error
		if stmt, err = c.prepare(sql); err != nil {
			return nil, err
		}
		c.prepared[sql] = stmt
	}
	if stmt.Busy() {
		return nil, errors.New("a statement runs while its own result is being read")
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

func (c *conn) prepare(sql string) (*statement, error) {
	raw, _, err := c.db.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	stmt := &statement{Stmt: raw, readOnly: raw.ReadOnly()}
	for i := range raw.BindCount() {
		n, err := strconv.Atoi(strings.TrimPrefix(raw.BindName(i+1), "$"))
		if err != nil || n < 1 {
			return nil, errors.Join(errors.New("parameters must be named $1, $2 and so on"), raw.Close())
		}
		stmt.order = append(stmt.order, n-1)
	}
	return stmt, nil
}

// bind sets the value of a parameter.
func (s *statement) bind(n int, value any) error {
	switch v := value.(type) {
	case nil:
		return s.BindNull(n + 1)
	case string:
		return s.BindText(n+1, v)
	case [16]byte:
		return s.BindBlob(n+1, v[:])
	case []byte:
		return s.BindBlob(n+1, v)
	case int64:
		return s.BindInt64(n+1, v)
	case int:
		return s.BindInt(n+1, v)
	case bool:
		return s.BindBool(n+1, v)
	default:
		return fmt.Errorf("unsupported %T", value)
	}
}

type rows struct{ stmt *sqlite3.Stmt }

func (r *rows) Next() bool        { return r.stmt.Step() }
func (r *rows) Err() error        { return r.stmt.Err() }
func (r *rows) Close()            { _ = r.stmt.Reset() } // Reset repeats the error that Err returned
func (r *rows) Text(i int) string { return r.stmt.ColumnText(i) }
func (r *rows) Raw(i int) []byte  { return r.stmt.ColumnRawBlob(i) } // the bytes of a text, too
func (r *rows) Int(i int) int64   { return r.stmt.ColumnInt64(i) }
func (r *rows) Bool(i int) bool   { return r.stmt.ColumnBool(i) }
func (r *rows) Null(i int) bool   { return r.stmt.ColumnType(i) == sqlite3.NULL }

package bare

import (
	"fmt"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"bursar/bench/fill"
	"bursar/internal/db"
)

// writer creates entries.
type writer struct {
	*grouper
	conn         *sqlite3.Conn
	entry, audit insert
	fields       int // column of the entry
	at           int // Unix milliseconds; each create has its own millisecond
}

// insert is a prepared statement and the row that it inserts copies of.
type insert struct {
	row  fill.Row
	stmt *sqlite3.Stmt
}

func startWriter(c Config) (*writer, error) {
	conn, err := open(c.Path)
	if err != nil {
		return nil, err
	}
	w := &writer{conn: conn, at: int(time.Now().UnixMilli())}
	if w.entry, err = w.prepare("directory_entry", fill.OfEntry("id", c.SourceID), nil); err != nil {
		return nil, err
	}
	if w.audit, err = w.prepare("audit_log", fill.NewestAuditRow(), map[string]func(int) any{
		"resource_id_key": func(i int) any { return fill.FilterKey("resource_id", c.WorkspaceID, db.FirstID("entry", int64(i))) },
	}); err != nil {
		return nil, err
	}
	w.fields = slices.Index(w.entry.row.Columns, "fields")
	w.grouper = newGrouper(w.commit)
	return w, nil
}

func (w *writer) prepare(table string, where fill.Condition, columns map[string]func(int) any) (insert, error) {
	row, err := fill.ReadSQLite(w.conn, table, where, fill.Vary{At: func(i int) int64 { return int64(i) }, Columns: columns})
	if err != nil {
		return insert{}, fmt.Errorf("read the row to copy: %w", err)
	}
	stmt, _, err := w.conn.PrepareFlags(fill.InsertSQL(table, row.Columns), sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return insert{}, fmt.Errorf("prepare an insert into %s: %w", table, err)
	}
	return insert{row, stmt}, nil
}

// stop ends the writing. There must be no create after it.
func (w *writer) stop() {
	w.grouper.stop()
	_ = w.entry.stmt.Close()
	_ = w.audit.stmt.Close()
	_ = w.conn.Close()
}

func (w *writer) commit(group []*job) error {
	if err := w.conn.Exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	for _, j := range group {
		if err := w.insert(j); err != nil {
			_ = w.conn.Exec(`ROLLBACK`)
			return err
		}
	}
	return w.conn.Exec(`COMMIT`)
}

// insert writes an entry and its audit row, with the columns of the product. Only ids, times
// and fields are new.
func (w *writer) insert(j *job) error {
	w.at++
	j.id = db.FirstID("entry", int64(w.at))
	entry := w.entry.row.Values(w.at)
	entry[w.fields] = j.fields
	if err := fill.Insert(w.entry.stmt, entry); err != nil {
		return fmt.Errorf("write the entry: %w", err)
	}
	if err := fill.Insert(w.audit.stmt, w.audit.row.Values(w.at)); err != nil {
		return fmt.Errorf("write the audit row: %w", err)
	}
	return nil
}

package bare

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/ncruces/go-sqlite3"
)

type reader struct {
	conn *sqlite3.Conn
	stmt *sqlite3.Stmt
}

const shown = 25

const newest = `SELECT e.id, e.type, e.label, e.status, e.fields FROM directory_entry e
	WHERE e.workspace_id = $1 AND e.deleted_at IS NULL AND e.id < $2 ORDER BY e.id DESC LIMIT $3`

func openReader(c Config) (*reader, error) {
	conn, err := open(c.Path)
	if err != nil {
		return nil, err
	}
	stmt, _, err := conn.PrepareFlags(newest, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, fmt.Errorf("prepare the list: %w", err)
	}
	return &reader{conn, stmt}, nil
}

func (r *reader) close() {
	_ = r.stmt.Close()
	_ = r.conn.Close() // nothing was changed
}

func (r *reader) page(workspaceID string) ([]byte, error) {
	defer func() { _ = r.stmt.Reset() }() // returns the error of the last step again
	for i, value := range []string{workspaceID, "~"} {
		if err := r.stmt.BindText(i+1, value); err != nil {
			return nil, fmt.Errorf("bind: %w", err)
		}
	}
	if err := r.stmt.BindInt(3, shown+1); err != nil { // one more row tells whether there is another page
		return nil, fmt.Errorf("bind: %w", err)
	}
	body := append(make([]byte, 0, 8192), `{"ok":true,"data":[`...)
	for rows := 0; r.stmt.Step() && rows < shown; rows++ {
		if body[len(body)-1] == '}' {
			body = append(body, ',')
		}
		body = append(body, `{"id":"`...)
		body = append(body, r.stmt.ColumnRawText(0)...)
		body = append(body, `","type":"`...)
		body = append(body, r.stmt.ColumnRawText(1)...)
		body = append(body, `","label":`...)
		body, _ = jsontext.AppendQuote(body, r.stmt.ColumnRawText(2))
		body = append(body, `,"status":"`...)
		body = append(body, r.stmt.ColumnRawText(3)...)
		body = append(body, `","fields":`...)
		body = append(body, r.stmt.ColumnRawText(4)...)
		body = append(body, '}')
	}
	return append(body, `]}`...), r.stmt.Err()
}

package bare

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/ncruces/go-sqlite3"

	"bursar/internal/db"
)

type reader struct {
	conn *sqlite3.Conn
	stmt *sqlite3.Stmt // the list of the workspace, with all parameters bound
}

const shown = 25

const newest = `SELECT e.id, e.type, e.label, e.status, e.fields FROM directory_entry e
	WHERE e.workspace_number = $1 AND e.deleted_at IS NULL AND e.id < $2 ORDER BY e.id DESC LIMIT $3`

func openReader(c Config) (*reader, error) {
	conn, err := open(c.Path)
	if err != nil {
		return nil, err
	}
	stmt, _, err := conn.PrepareFlags(newest, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, fmt.Errorf("prepare the list: %w", err)
	}
	number, err := workspaceNumber(conn, c.WorkspaceID)
	if err == nil {
		err = stmt.BindInt64(1, number)
	}
	if err == nil {
		err = stmt.BindBlob(2, bytes.Repeat([]byte{0xff}, 16)) // above every id
	}
	if err == nil {
		err = stmt.BindInt(3, shown+1) // one more row shows whether there is another page
	}
	if err != nil {
		return nil, fmt.Errorf("bind: %w", err)
	}
	return &reader{conn, stmt}, nil
}

// workspaceNumber is what the product's rows name the workspace by.
func workspaceNumber(conn *sqlite3.Conn, id string) (number int64, err error) {
	stmt, _, err := conn.Prepare(`SELECT number FROM workspace WHERE id = $1`)
	if err != nil {
		return 0, err
	}
	if err = stmt.BindText(1, id); err == nil && stmt.Step() {
		number = stmt.ColumnInt64(0)
	}
	return number, errors.Join(err, stmt.Close())
}

func (r *reader) close() {
	_ = r.stmt.Close()
	_ = r.conn.Close() // nothing was changed
}

func (r *reader) page() ([]byte, error) {
	defer func() { _ = r.stmt.Reset() }() // returns the error of the last step again
	body := append(make([]byte, 0, 8192), `{"ok":true,"data":[`...)
	for rows := 0; r.stmt.Step() && rows < shown; rows++ {
		if body[len(body)-1] == '}' {
			body = append(body, ',')
		}
		body = append(body, `{"id":"`...)
		body = db.AppendID(body, "entry", r.stmt.ColumnRawBlob(0))
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

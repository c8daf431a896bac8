package bare

import (
	"fmt"
	"strconv"
	"time"

	"github.com/ncruces/go-sqlite3"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
)

// writer commits all creates that wait in one transaction.
type writer struct {
	conn        *sqlite3.Conn
	entry, row  *sqlite3.Stmt
	workspaceID string
	at          int64 // each create is a millisecond of its own
	queue       chan *job
	done        chan struct{}
}

type job struct {
	fields string
	id     string
	err    error
	done   chan struct{}
}

func startWriter(c Config) (*writer, error) {
	conn, err := open(c.Path)
	if err != nil {
		return nil, err
	}
	w := &writer{conn: conn, workspaceID: c.WorkspaceID, at: time.Now().UnixMilli(), queue: make(chan *job, 512), done: make(chan struct{})}
	w.entry, _, err = conn.PrepareFlags(`INSERT INTO directory_entry (id, workspace_id, type, label, label_sent, name, status, fields, words, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, fmt.Errorf("prepare the entry: %w", err)
	}
	w.row, _, err = conn.PrepareFlags(`INSERT INTO audit_log (id, workspace_id, action, outcome, description, actor_type, actor_id, actor_name, actor_email,
		resource_type, resource_id, request_id, ip, at, sent) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, fmt.Errorf("prepare the audit row: %w", err)
	}
	go w.loop()
	return w, nil
}

func (w *writer) create(fields string) (id string, err error) {
	j := &job{fields: fields, done: make(chan struct{})}
	w.queue <- j
	<-j.done
	return j.id, j.err
}

// stop is called when nobody creates any more.
func (w *writer) stop() {
	close(w.queue)
	<-w.done
}

func (w *writer) loop() {
	defer close(w.done)
	for first := range w.queue {
		group := []*job{first}
		for len(w.queue) > 0 && len(group) < 256 {
			group = append(group, <-w.queue)
		}
		err := w.commit(group)
		for _, j := range group {
			j.err = err
			close(j.done)
		}
	}
	_ = w.entry.Close()
	_ = w.row.Close()
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

// insert writes the two rows that the product writes for an entry, column by
// column. What it would have found in the request is made up.
func (w *writer) insert(j *job) error {
	w.at++
	j.id = db.FirstID("entry", w.at)
	label := "Ada Lovelace " + strconv.FormatInt(w.at%100_000, 10)
	if err := run(w.entry, j.id, w.workspaceID, "person", label, false, "", "active", j.fields, " ada com example lovelace", w.at, w.at); err != nil {
		return fmt.Errorf("write the entry: %w", err)
	}
	row := api.AuditEntry{
		ID: db.FirstID("aud", w.at), Action: string(audit.EntryCreated), ActorName: "Ada Lovelace", ActorEmail: "ada@example.com",
		Description: "Created person " + label, Outcome: string(audit.Success), Timestamp: w.at, ActorID: "usr_01m7f4dmeb000sgqgd6d7veyf4", ActorType: string(audit.User),
		ResourceType: "directory_entry", ResourceID: j.id, RequestID: "req_01m7f4dmeb000sgqgd6d7veyf4", IP: "127.0.0.1",
	}
	if err := run(w.row, row.ID, w.workspaceID, row.Action, row.Outcome, row.Description, row.ActorType, row.ActorID, row.ActorName, row.ActorEmail,
		row.ResourceType, row.ResourceID, row.RequestID, row.IP, row.Timestamp, string(row.AppendJSON(nil))); err != nil {
		return fmt.Errorf("write the audit row: %w", err)
	}
	return nil
}

func run(stmt *sqlite3.Stmt, values ...any) error {
	for i, value := range values {
		var err error
		switch v := value.(type) {
		case string:
			err = stmt.BindText(i+1, v)
		case int64:
			err = stmt.BindInt64(i+1, v)
		case bool:
			err = stmt.BindBool(i+1, v)
		}
		if err != nil {
			return err
		}
	}
	return stmt.Exec()
}

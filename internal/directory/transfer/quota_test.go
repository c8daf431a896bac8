package transfer_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

// A workspace can leave a few files in the store at once. A file that is sent again is none more.
func TestFilesThatWaitAreFew(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		path := "/v1/directory/imports?default_type=person&workspace_id=" + n.First.WorkspaceID
		send := func(i int) *servertest.Answer {
			return c.Do(http.MethodPost, path, fmt.Sprintf("name\nPerson %d\n", i), "Content-Type", "text/csv", "Idempotency-Key", fmt.Sprint("file-", i))
		}
		sent := servertest.SideBySide(12, func(i int) *servertest.Answer { return send(i) })
		if got := servertest.Statuses(sent); got["200"] != 10 || got["422 TOO_MANY"] != 2 {
			t.Fatalf("of 12 files at once: %v", got)
		}
		for i, first := range sent {
			if first.Status == http.StatusOK {
				if again := send(i).OK().Text("id"); again != first.Text("id") {
					t.Errorf("a file that was sent again is %s, not %s", again, first.Text("id"))
				}
			}
		}
		if left := n.Count(t, `SELECT count(*) FROM directory_import`); left != 10 {
			t.Errorf("there are %d imports and uploads", left)
		}
		n.RunImports(t)
		send(12).OK()

		t.Run("and not too large together", func(t *testing.T) {
			c := c.On(t)
			_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
				return struct{}{}, audit.None("as if the file were large"), tx.Exec(`UPDATE directory_import SET bytes = 400 * 1024 * 1024 WHERE ended_at = 0`)
			})
			if err != nil {
				t.Fatal(err)
			}
			c.Do(http.MethodPost, path, "name\nAda\n", "Content-Type", "text/csv").Fails(http.StatusUnprocessableEntity, "TOO_MANY")
			if left := n.Count(t, `SELECT count(*) FROM directory_import WHERE status = 'uploading'`); left != 0 {
				t.Errorf("%d refused uploads are left", left)
			}
		})
	})
}

// An upload that has stopped goes after its lease, and an import with its refused lines after a month.
func TestWhatIsOverIsForgotten(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		done := c.Import("type,name\nship,Ada\n")
		chunks := func() int { return n.Count(t, `SELECT count(*) FROM directory_import_chunk`) }
		if got := chunks(); got != 1 { // the file is gone, and the refused line is there
			t.Errorf("%d chunks are left of an import that has ended", got)
		}
		_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			return struct{}{}, audit.None("an upload whose server was killed"), tx.Exec(`INSERT INTO directory_import
				SELECT 'imp_x', workspace_id, workspace_number, 'uploading', options, actor, 0, 0, 0, 0, 0, 0, 0, 0, '', '', $1, created_at, 0, 0 FROM directory_import`,
				tx.Now()+time.Minute.Milliseconds())
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			wait time.Duration
			left int
		}{{0, 2}, {2 * time.Minute, 1}, {30 * 24 * time.Hour, 0}} {
			n.Clock.Advance(step.wait)
			if err := n.Server.Tidy(t.Context()); err != nil {
				t.Fatal(err)
			}
			if left := n.Count(t, `SELECT count(*) FROM directory_import`); left != step.left {
				t.Errorf("after %s there are %d, want %d", step.wait, left, step.left)
			}
		}
		if got := chunks(); got != 0 {
			t.Errorf("%d chunks are left", got)
		}
		n.Admin(t).Get(importPath(done, "")).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
	})
}

// counted counts what was taken of a body. The client still reads it when the answer is there.
type counted struct {
	head string
	sent atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n := copy(p, c.head)
	c.head = c.head[n:]
	for ; n < len(p); n++ {
		p[n] = 'x'
	}
	c.sent.Add(int64(n))
	return n, nil
}

// A line of 100 MB, and of any length, is refused as soon as it is too long.
func TestAnEndlessLineIsRefusedEarly(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		for _, head := range []string{"type,name\nperson,", "type,name\nperson,\"", `{"name":"`} {
			body := &counted{head: head}
			answer := c.Stream(http.MethodPost, "/v1/directory/imports?default_type=person&workspace_id="+n.First.WorkspaceID, body)
			answer.Fails(http.StatusBadRequest, "VALIDATION_ERROR")
			if text := string(answer.Body); !strings.Contains(text, "larger than 1 MiB") {
				t.Errorf("%q: %s", head, text)
			}
			if sent := body.sent.Load(); sent > 16<<20 { // most of it waits in buffers of the network
				t.Errorf("%q: %d MiB were taken before the refusal", head, sent>>20)
			}
			if left := n.Count(t, `SELECT count(*) FROM directory_import_chunk`); left != 0 {
				t.Errorf("%q: %d chunks are left", head, left)
			}
		}
	})
}

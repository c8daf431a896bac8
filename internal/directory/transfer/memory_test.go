package transfer_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// heapWatcher keeps the largest heap that was live when someone looked.
type heapWatcher struct{ least, most uint64 }

// look counts what two collections have found alive, and not what was allocated since. What is allocated while one marks
// counts as alive, which on a busy machine may be all that an import reads meanwhile; so the smaller number counts.
func (w *heapWatcher) look() {
	now := min(liveHeap(), liveHeap())
	if w.least == 0 {
		w.least = now
	}
	w.most = max(w.most, now)
}

func liveHeap() uint64 {
	runtime.GC()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}

// longLines is a file with long lines, none of which can be imported.
type longLines struct {
	*heapWatcher
	left, read int
	piece      []byte
}

func (l *longLines) Read(p []byte) (int, error) {
	if len(l.piece) == 0 {
		if l.left == 0 {
			return 0, io.EOF
		}
		l.left--
		l.piece = []byte("ship," + strings.Repeat("x", 100_000) + "\n")
		if l.read++; l.read%50 == 1 {
			l.look()
		}
	}
	n := copy(p, l.piece)
	l.piece = l.piece[n:]
	return n, nil
}

// However large a file is, little of it is in memory at once. No other test runs beside this one.
func TestMemoryDoesNotGrowWithTheFile(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		c, heap := n.Admin(t), &heapWatcher{}
		lines := 500 // 50 MB
		if testing.Short() {
			lines = 100
		}
		file := io.MultiReader(strings.NewReader("type,name\n"), &longLines{heapWatcher: heap, left: lines})
		id := c.Stream(http.MethodPost, "/v1/directory/imports?workspace_id="+n.First.WorkspaceID, file).OK().Text("id")
		ended, worker := make(chan error, 1), n.Worker()
		go func() {
			for worked, err := true, error(nil); ; {
				if worked, err = worker.ImportTurn(t.Context()); !worked || err != nil {
					ended <- err
					return
				}
			}
		}()
		for running := true; running; {
			heap.look()
			select {
			case err := <-ended:
				if running = false; err != nil {
					t.Fatal(err)
				}
			case <-time.After(100 * time.Millisecond): // collecting garbage all the time would take as long as the import
			}
		}
		if got, want := servertest.Counts(c.Get("/v1/directory/imports/"+id).OK()), fmt.Sprint("completed 0 0 0 ", lines); got != want {
			t.Errorf("the import is %s, want %s", got, want)
		}
		if grown := (heap.most - heap.least) >> 20; grown > 30 {
			t.Errorf("the memory has grown by %d MiB", grown)
		}
		t.Logf("from %d to %d KiB", heap.least>>10, heap.most>>10)
	})
}

// A transaction has few lines if each of them has many accounts: everyone's writes wait for it.
func TestLinesWithManyAccountsAreImportedFewAtATime(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		line := `{"type":"person","name":"Ada","receiving_methods":[` +
			strings.TrimSuffix(strings.Repeat(`{"provider":"bank","account_name":"Ada","account_id":"1"},`, 50), ",") + "]}\n"
		if got := servertest.Counts(n.Admin(t).Import(strings.Repeat(line, 100), "dry_run", "true")); got != "completed 100 0 0 0" {
			t.Fatalf("the import is %s", got)
		}
		if got := n.Count(t, `SELECT count(*) FROM directory_import_chunk WHERE part = 'plan'`); got < 10 { // one for each transaction
			t.Errorf("5,000 accounts were imported in %d transactions", got)
		}
	})
}

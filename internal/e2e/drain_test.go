package e2e_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
)

func TestDrainAnswersEveryRequest(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		made := initialise(t, store)
		p := startNode(t, store)
		admin := servertest.Remote(t, p.URL, made).Admin(t)
		var answered atomic.Int64
		var told sync.Map // ids of entries
		var clients sync.WaitGroup
		for i := range 8 {
			c := dial(t, p)
			clients.Go(func() {
				for n := 0; ; n++ {
					method, path, body := http.MethodPost, "/v1/directory", newPerson(made.WorkspaceID)
					if (n+i)%2 == 0 {
						method, path, body = http.MethodGet, "/v1/directory?workspace_id="+made.WorkspaceID, ""
					}
					response, answer, err := c.ask(method, path, admin.Token, body)
					if err != nil || response.StatusCode != http.StatusOK {
						t.Errorf("%s %s: %v %s", method, path, err, answer)
						return
					}
					if method == http.MethodPost {
						told.Store(entryID(t, answer), true)
					}
					answered.Add(1)
					if response.Close {
						return
					}
				}
			})
		}
		watch := dial(t, p)
		clients.Go(func() { // a load balancer
			for {
				response, answer, err := watch.ask(http.MethodGet, "/readyz", "", "")
				if err != nil {
					t.Errorf("GET /readyz: %v", err)
					return
				}
				if response.Close {
					if response.StatusCode != http.StatusServiceUnavailable {
						t.Errorf("a server that is draining says that it is ready: %s", answer)
					}
					return
				}
			}
		})
		wait.Until(t, "requests are answered", func() bool { return answered.Load() > 100 || t.Failed() })
		p.signal(t, syscall.SIGTERM)
		clients.Wait()
		p.end(t)
		folded(t, store)

		p = startNode(t, store)
		client := servertest.Remote(t, p.URL, made).Holder(t, admin.Token)
		have := map[string]bool{}
		for _, row := range everyRow(client, "/v1/directory?limit=100&workspace_id="+made.WorkspaceID) {
			have[row["id"].(string)] = true
		}
		told.Range(func(id, _ any) bool {
			if !have[id.(string)] {
				t.Errorf("entry %s was answered and is lost", id)
			}
			return true
		})
	})
}

func entryID(t *testing.T, answer []byte) string {
	var body struct{ Data struct{ ID string } }
	if err := json.Unmarshal(answer, &body); err != nil || body.Data.ID == "" {
		t.Errorf("a create is answered %s", answer)
	}
	return body.Data.ID
}

// folded demands that SQLite's log was folded into the file.
func folded(t *testing.T, store dbtest.Store) {
	t.Helper()
	if store.Engine != "sqlite" {
		return
	}
	log, err := os.Stat(filepath.Join(store.Config.Dir, "bursar.db-wal"))
	if err == nil && log.Size() > 0 {
		t.Errorf("%d bytes are left in the log", log.Size())
	} else if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
}

func TestRequestUnderWayIsFinishedBeforeTheServerStops(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	made := initialise(t, store)
	p := start(t, store)
	admin := servertest.Remote(t, p.URL, made).Admin(t)
	body := newPerson(made.WorkspaceID)
	c := dial(t, p)
	if _, err := io.WriteString(c, head(http.MethodPost, "/v1/directory", admin.Token, len(body))+body[:10]); err != nil {
		t.Fatal(err)
	}
	// Answered after it on the same machine, so the server has seen the first.
	admin.Get("/v1/auth/me").OK()
	p.signal(t, syscall.SIGTERM)
	wait.Until(t, "the server takes no more connections", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	if _, err := io.WriteString(c, body[10:]); err != nil {
		t.Fatal(err)
	}
	if response, answer, err := c.answer(http.MethodPost); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("the request under way: %v %s", err, answer)
	}
	p.end(t)
}

func TestIdleServerStopsThoughClientsStayConnected(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		p := start(t, store)
		if _, _, err := dial(t, p).ask(http.MethodGet, "/healthz", "", ""); err != nil {
			t.Fatal(err)
		}
		p.signal(t, syscall.SIGINT)
		p.end(t)
		folded(t, store)
	})
}

func TestUsedPortIsReportedPlainly(t *testing.T) {
	t.Parallel()
	p := start(t, dbtest.SQLite(t))
	address := strings.TrimPrefix(p.URL, "http://")
	got := command(t, nil, "serve", "--data", t.TempDir(), "--listen", address)
	if got.Code != 1 || !strings.Contains(got.Err, address) || !strings.Contains(got.Err, "address already in use") {
		t.Errorf("exit code %d: %s", got.Code, got.Err)
	}
	if strings.Contains(got.Out, "bk_") {
		t.Error("a server that did not start made an API key")
	}
}

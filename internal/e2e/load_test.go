package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bursar/internal/server/servertest"
	"bursar/internal/setup"
	"bursar/internal/wait"
)

// call is a write with an idempotency key.
type call struct {
	method, path string
	body         servertest.Body
	key          string
}

// reply is what a call was answered.
type reply struct {
	status   int
	replayed bool
	code     string
	id       string
}

// send makes a call that may go wrong on the way.
func send(client *http.Client, url, token string, c call) (r reply, err error) {
	body, err := json.Marshal(c.body)
	if err != nil {
		return r, err
	}
	request, err := http.NewRequest(c.method, url+c.path, bytes.NewReader(body))
	if err != nil {
		return r, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", c.key)
	response, err := client.Do(request)
	if err != nil {
		return r, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return r, err
	}
	var answer struct {
		Data  struct{ ID string }
		Error struct{ Code string }
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return r, fmt.Errorf("the answer %d is not JSON: %s", response.StatusCode, data)
	}
	return reply{response.StatusCode, response.Header.Get("Idempotent-Replayed") == "true", answer.Error.Code, answer.Data.ID}, nil
}

// load is a number of writers and what they were told.
type load struct {
	made    setup.Result
	token   string
	client  *http.Client
	writers []*writer
	told    atomic.Int64  // writes that were answered
	failed  atomic.Int64  // writes that were not, or with a 500
	pause   time.Duration // of a writer after an answer, where it matters that there are always requests and not how many
}

// writer creates entries and, in between, updates one of its own.
type writer struct {
	name    string
	own     string            // the entry that it updates
	version int               // that it was told is stored
	entries map[string]string // idempotency key to id
	fresh   []call            // answered since the last check
	open    *call             // sent, and not answered
	count   int
}

func newLoad(made setup.Result, writers int) *load {
	l := &load{made: made, client: &http.Client{Timeout: wait.Limit()}}
	for i := range writers {
		l.writers = append(l.writers, &writer{name: fmt.Sprint("w", i), entries: map[string]string{}})
	}
	return l
}

// next is the call that was not answered, or a new one.
func (w *writer) next(workspace string) call {
	if w.open != nil {
		return *w.open
	}
	w.count++
	c := call{method: http.MethodPost, path: "/v1/directory", key: fmt.Sprint(w.name, "-", w.count)}
	c.body = servertest.Body{"workspace_id": workspace, "type": "person", "fields": servertest.Body{"key": c.key}}
	if w.own != "" && w.count%2 == 0 {
		c.method, c.path = http.MethodPatch, "/v1/directory/"+w.own
		c.body = servertest.Body{"fields": servertest.Body{"version": w.version + 1}}
	}
	w.open = &c
	return c
}

// note keeps what a call was answered.
func (w *writer) note(c call, id string) {
	w.open = nil
	w.fresh = append(w.fresh, c)
	if c.method == http.MethodPatch {
		w.version++
		return
	}
	w.entries[c.key] = id
	if w.own == "" {
		w.own = id
	}
}

// write lets a writer write until stop is closed or a call fails; with retry it
// makes a failed call again.
func (l *load) write(t *testing.T, url string, w *writer, stop <-chan struct{}, retry bool) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		c := w.next(l.made.WorkspaceID)
		got, err := send(l.client, url, l.token, c)
		pause := 10 * time.Millisecond // of a client that retries
		switch {
		case err == nil && got.status == http.StatusOK:
			w.note(c, got.id)
			l.told.Add(1)
			pause = l.pause
		case err == nil && got.code != "INTERNAL_ERROR" && got.code != "UNAVAILABLE":
			t.Errorf("%s %s is answered %d %s", c.method, c.path, got.status, got.code)
			return
		case err != nil && retry:
			t.Errorf("%s %s is not answered: %v", c.method, c.path, err)
			return
		default:
			l.failed.Add(1)
			if !retry {
				return
			}
		}
		if pause > 0 {
			select {
			case <-stop:
			case <-time.After(pause):
			}
		}
	}
}

// begin sets all writers to work until end is called, or the test ends.
func (l *load) begin(t *testing.T, url string, retry bool) (end func()) {
	stop := make(chan struct{})
	var all sync.WaitGroup
	for _, w := range l.writers {
		all.Go(func() { l.write(t, url, w, stop, retry) })
	}
	end = sync.OnceFunc(func() {
		close(stop)
		all.Wait()
	})
	t.Cleanup(end)
	return end
}

// awaitTold waits until so many more writes are answered.
func (l *load) awaitTold(t *testing.T, more int64) {
	t.Helper()
	goal := l.told.Load() + more
	wait.Until(t, "writes are answered", func() bool { return l.told.Load() >= goal || t.Failed() })
}

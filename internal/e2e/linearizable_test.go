package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/torture"
	"bursar/internal/wait"
)

// asked is what someone asked for: to create the entry of an idempotency key, or to find it.
type asked struct {
	key    string
	create bool
}

// unknown is the answer to a request that had none: it may have happened, then or later.
const unknown = "?"

// entries is what one store does that no one else uses, one request after the other. The first
// create with a key makes an entry, each further one is answered with the same, and anyone who looks for
// it finds it from then on. The state of a key is the id of its entry.
func entries() porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byKey := map[string][]porcupine.Operation{}
			for _, o := range history {
				byKey[o.Input.(asked).key] = append(byKey[o.Input.(asked).key], o)
			}
			var parts [][]porcupine.Operation
			for _, part := range byKey {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() any { return "" },
		Step: func(state, input, output any) (bool, any) {
			is, got := state.(string), output.(string)
			switch create := input.(asked).create; {
			case create && is == "":
				return got != "", got
			case create && got == unknown:
				return true, is
			case is == unknown && got != "": // now it is known which entry was made
				return true, got
			default:
				return got == is, is
			}
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %q", input, output) },
	}
}

func TestAHistoryWithALostDuplicatedOrLateCreateIsRejected(t *testing.T) {
	create, find := asked{"k", true}, asked{"k", false}
	op := func(in asked, out string, from, to int64) porcupine.Operation {
		return porcupine.Operation{Input: in, Output: out, Call: from, Return: to}
	}
	for name, c := range map[string]struct {
		history []porcupine.Operation
		want    bool
	}{
		"made and found":             {[]porcupine.Operation{op(create, "a", 0, 1), op(find, "a", 2, 3)}, true},
		"made again":                 {[]porcupine.Operation{op(create, "a", 0, 1), op(create, "a", 2, 3)}, true},
		"unknown and found":          {[]porcupine.Operation{op(create, unknown, 0, 9), op(find, "a", 2, 3), op(create, "a", 4, 5)}, true},
		"unknown and not there":      {[]porcupine.Operation{op(create, unknown, 0, 9), op(find, "", 2, 3)}, true},
		"not found yet, at one time": {[]porcupine.Operation{op(create, "a", 0, 5), op(find, "", 1, 2)}, true},
		"lost":                       {[]porcupine.Operation{op(create, "a", 0, 1), op(find, "", 2, 3)}, false},
		"doubled":                    {[]porcupine.Operation{op(create, "a", 0, 1), op(create, "b", 2, 3)}, false},
		"found and lost":             {[]porcupine.Operation{op(create, unknown, 0, 9), op(find, "a", 2, 3), op(find, "", 4, 5)}, false},
	} {
		if got := porcupine.CheckOperations(entries(), c.history); got != c.want {
			t.Errorf("%s: accepted %v, want %v", name, got, c.want)
		}
	}
}

// Clients of two nodes create and find entries while the primary of PostgreSQL is killed and its
// standby promoted.
func TestTwoNodesAnswerAsOneStoreWouldWhileThePrimaryDies(t *testing.T) {
	t.Parallel()
	pair := dbtest.Pair(t)
	store := dbtest.Store{Engine: "postgres", Config: db.Config{URL: pair.URL()}, VaultKey: vaultKey}
	made := initialise(t, store)
	nodes := []*process{startNode(t, store), startNode(t, store)}
	c := &chronicle{workspace: made.WorkspaceID, token: servertest.Remote(t, nodes[0].URL, made).Admin(t).Token, began: time.Now()}
	working, stop := context.WithCancel(t.Context())
	defer stop()
	var clients sync.WaitGroup
	for i := range 6 {
		clients.Go(func() { c.work(t, working, i, nodes[i%len(nodes)].URL) })
	}
	more := func() {
		t.Helper()
		goal := c.known.Load() + 200
		wait.Until(t, "requests are answered", func() bool { return c.known.Load() >= goal || t.Failed() })
	}
	for range torture.Rounds(1, 20) {
		more()
		if err := pair.FailOver(t.Context(), more); err != nil {
			t.Fatal(err)
		}
	}
	more()
	stop()
	clients.Wait()
	if got := porcupine.CheckOperationsTimeout(entries(), c.history, wait.Limit()); got != porcupine.Ok {
		t.Errorf("no order of the %d requests explains what they were answered: %s", len(c.history), got)
	}
	t.Logf("%d requests were answered, and of %d the outcome is unknown", c.known.Load(), c.lost)
	for _, p := range nodes {
		p.terminate(t)
	}
}

// chronicle makes requests and writes down what was asked and answered, and when.
type chronicle struct {
	workspace, token string
	began            time.Time
	known            atomic.Int64 // requests that were answered

	mu      sync.Mutex
	history []porcupine.Operation
	lost    int // requests of which the outcome is unknown
}

// work asks a node for one thing after the other until the context ends. All clients use the same
// keys at about the same time.
func (c *chronicle) work(t *testing.T, ctx context.Context, id int, address string) {
	client := &http.Client{Timeout: wait.Limit()}
	for ctx.Err() == nil {
		in := asked{key: fmt.Sprintf("key%d", int(c.known.Load()/8)+rand.IntN(4)), create: rand.IntN(2) == 0}
		o := porcupine.Operation{ClientId: id, Input: in, Call: int64(time.Since(c.began))}
		out, err := c.ask(client, address, in)
		o.Output, o.Return = out, int64(time.Since(c.began))
		c.mu.Lock()
		switch {
		case err != nil:
			t.Errorf("%+v: %v", in, err)
		case out == unknown && in.create:
			o.Return = int64(time.Hour) // it may yet happen
			c.lost++
			c.history = append(c.history, o)
		case out != unknown && out != refused:
			c.history = append(c.history, o)
			c.known.Add(1)
		}
		c.mu.Unlock()
	}
}

// refused is the answer to a request that was not carried out.
const refused = "!"

// ask makes a request, and returns the id of the entry that was made or found.
func (c *chronicle) ask(client *http.Client, address string, in asked) (string, error) {
	if in.create {
		body := servertest.Body{"workspace_id": c.workspace, "type": "person", "label": in.key, "fields": servertest.Body{}}
		got, err := send(client, address, c.token, call{method: http.MethodPost, path: "/v1/directory", body: body, key: in.key})
		switch {
		case err != nil || got.code == "UNAVAILABLE": // which may be told of an unknown outcome
			return unknown, nil
		case got.status == http.StatusConflict: // another client is asking for the same at the moment
			return refused, nil
		case got.status != http.StatusOK:
			return "", fmt.Errorf("a create is answered %d %s", got.status, got.code)
		}
		return got.id, nil
	}
	request, err := http.NewRequest(http.MethodGet, address+"/v1/directory?workspace_id="+c.workspace+"&q="+url.QueryEscape(in.key), nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	response, err := client.Do(request)
	if err != nil {
		return unknown, nil
	}
	defer response.Body.Close()
	var answer struct{ Data []struct{ ID, Label string } }
	if err := json.NewDecoder(response.Body).Decode(&answer); response.StatusCode == http.StatusServiceUnavailable || err != nil {
		return unknown, nil
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("a list is answered %d", response.StatusCode)
	}
	found := ""
	for _, e := range answer.Data {
		if e.Label == in.key { // others may begin in the same way
			found += e.ID
		}
	}
	return found, nil
}

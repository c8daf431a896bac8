package e2e_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// TestSlowClientsDelayNoOther opens more connections than the store has, and
// leaves each in the middle of its request.
func TestSlowClientsDelayNoOther(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		made := initialise(t, store)
		p := start(t, store)
		admin := servertest.Remote(t, p.URL, made).Admin(t)
		body := newPerson(made.WorkspaceID)
		create := head(http.MethodPost, "/v1/directory", admin.Token, len(body))
		const slow = 40
		var unfinished []*connection
		for i := range slow {
			c := dial(t, p)
			part := create[:i+1] // somewhere in the headers
			if i%2 == 0 {
				part = create + body[:i]
				unfinished = append(unfinished, c)
			}
			if _, err := io.WriteString(c, part); err != nil {
				t.Fatal(err)
			}
		}
		dribbling := dial(t, p) // sends a byte of its headers before each quick request

		// Sooner than the server gives up on the slow ones.
		quick := &http.Client{Timeout: 8 * time.Second}
		for i := range 2 * slow {
			c := call{method: http.MethodPost, path: "/v1/directory", key: "quick", body: servertest.Body{
				"workspace_id": made.WorkspaceID, "type": "person", "fields": servertest.Body{"i": i},
			}}
			c.key += time.Duration(i).String()
			if _, err := io.WriteString(dribbling, create[i:i+1]); err != nil {
				t.Fatal(err)
			}
			if got, err := send(quick, p.URL, admin.Token, c); err != nil || got.status != http.StatusOK {
				t.Fatalf("a quick client among slow ones: %v %v", got, err)
			}
		}

		for i, c := range unfinished {
			if _, err := io.WriteString(c, body[2*i:]); err != nil {
				t.Fatal(err)
			}
			if response, answer, err := c.answer(http.MethodPost); err != nil || response.StatusCode != http.StatusOK {
				t.Fatalf("a slow client that got to the end of its request: %v %s", err, answer)
			}
		}
	})
}

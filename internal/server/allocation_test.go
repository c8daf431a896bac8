package server_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// discard is a response writer that keeps the status alone and allocates nothing.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }

// allocations counts what the server allocates for a request, without what net/http
// does around it.
func allocations(t *testing.T, n *servertest.Node, token, path string) float64 {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, path, nil)
	request.Header.Set("Authorization", "Bearer "+token)
	answer := &discard{header: http.Header{}}
	count := testing.AllocsPerRun(500, func() {
		clear(answer.header)
		n.Server.ServeHTTP(answer, request)
	})
	if answer.status != http.StatusOK {
		t.Fatalf("%s is answered with %d", path, answer.status)
	}
	return count
}

// A count of allocations does not depend on the machine, so this shows a change that makes
// the most frequent requests more expensive. The race detector empties pools at random,
// which costs some more allocations.
func TestHotPathsAllocateNoMoreThanTheyDid(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	admin := n.Admin(t)
	entry := newEntry(n.First.WorkspaceID)
	for i := range 30 {
		admin.Post("/v1/directory", entry(int64(i))).OK()
	}
	for path, limit := range map[string]float64{
		"/v1/auth/me": 10,
		"/v1/directory?workspace_id=" + n.First.WorkspaceID: 34,
		"/v1/audit?workspace_id=" + n.First.WorkspaceID:     36,
	} {
		got := allocations(t, n, admin.Token, path)
		if got > limit+raceAllocations {
			t.Errorf("%s allocates %.0f times, %.0f at most before", path, got, limit+raceAllocations)
		}
	}
}

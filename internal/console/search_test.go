package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"bursar/internal/server/servertest"
)

// addPayee adds a person to a workspace.
func addPayee(t testing.TB, by *servertest.Client, workspaceID, first, last string) string {
	t.Helper()
	return by.On(t).Post("/v1/directory", servertest.Body{
		"workspace_id": workspaceID, "type": "person", "fields": servertest.Body{"first-name": first, "last-name": last},
	}).OK().Text("id")
}

func TestSearchShowsAFewResultsAndLeadsToAll(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	for i := range 7 {
		addPayee(t, admin, n.First.WorkspaceID, "Many", fmt.Sprintf("Payee%d", i))
		admin.Post("/v1/workspaces/"+n.First.WorkspaceID+"/members", servertest.Body{"email": fmt.Sprintf("many%d@example.com", i), "role": "viewer"}).OK()
	}
	visitor := browse(t, n, adminEmail)
	got := visitor.get(room(n, "/search?q=many"), "X-Fragment", "results").body
	if strings.Count(got, "Many Payee") != 5 || !strings.Contains(got, room(n, "/directory?q=many")) || !strings.Contains(got, room(n, "/members?q=many")) || !strings.Contains(got, "10 results") {
		t.Errorf("the results are:\n%s", got)
	}
	for name, q := range map[string]string{"long": strings.Repeat("x", 500), "many words": strings.Repeat("x%20", 20), "signs": "%25%5f%27%22%3c%00%ff"} {
		if got := visitor.get(room(n, "/search?q="+q)); got.status != http.StatusOK {
			t.Errorf("%s: answered %d", name, got.status)
		}
	}
}

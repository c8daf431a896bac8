package transfer_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func exportPath(n *servertest.Node, query ...string) string {
	return "/v1/directory/export?" + servertest.Query(append([]string{"workspace_id", n.First.WorkspaceID}, query...)...)
}

// exported are the values of a column of a CSV file, in its order.
func exported(t *testing.T, file, column string) (values []string) {
	t.Helper()
	at := -1
	for i, line := range strings.Split(strings.TrimRight(file, "\n"), "\n") {
		cells := strings.Split(line, ",")
		if i == 0 {
			at = slices.Index(cells, column)
			continue
		}
		values = append(values, cells[at])
	}
	return values
}

func TestAnExportHasWhatTheListHas(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		var file strings.Builder
		file.WriteString("type,name,status,tags,external_id\n")
		for i := range 130 {
			fmt.Fprintf(&file, "%s,Payee %d,%s,t%d,E-%d\n", []string{"person", "organization"}[i%2], i, []string{"active", "inactive"}[i/2%2], i%3, i)
		}
		c.Import(file.String())
		for _, query := range [][]string{
			{}, {"type", "person"}, {"status", "inactive"}, {"tag", "t1"}, {"q", "payee"}, {"external_id", "E-7"}, {"external_id", "nobody"},
			{"type", "person", "status", "active", "tag", "t2", "q", "payee"}, {"tag", "nothing"},
		} {
			list := c.Walk("/v1/directory?limit=100&workspace_id="+n.First.WorkspaceID+"&"+servertest.Query(query...), nil)
			csv := exported(t, string(c.Get(exportPath(n, append(query, "format", "csv")...)).Body), "id")
			if !slices.Equal(csv, list) {
				t.Errorf("%v: the export has %d entries, the list %d, or in another order", query, len(csv), len(list))
			}
			lines := strings.Count(string(c.Get(exportPath(n, append(query, "format", "ndjson")...)).Body), "\n")
			if lines != len(list) {
				t.Errorf("%v: the export as NDJSON has %d entries, the list %d", query, lines, len(list))
			}
		}
		rows := n.Audited(t, n.First.WorkspaceID)
		if last := rows[len(rows)-1]; last != "directory.exported" {
			t.Errorf("the log tells %s", last)
		}
		c.Get(exportPath(n, "format", "xlsx")).Invalid("format")
	})
}

// What changes while a file is sent is not in it.
func TestAnExportIsOfOneMoment(t *testing.T) {
	dbtest.TakesSeconds(t)
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		var file strings.Builder
		file.WriteString("type,name,note\n")
		many := 800
		if testing.Short() {
			many = 400 // which may all wait in buffers before anything changes
		}
		for range many {
			file.WriteString("person,Before," + strings.Repeat("x", 15000) + "\n") // 12 MB: more than waits in buffers
		}
		c.Import(file.String())
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.URL+exportPath(n, "format", "ndjson"), nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+c.Token)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		first := make([]byte, 1000)
		if _, err := io.ReadFull(answer.Body, first); err != nil {
			t.Fatal(err)
		}
		ids := c.Walk("/v1/directory?limit=100&workspace_id="+n.First.WorkspaceID, nil)
		items := make([]servertest.Body, 200)
		for i := range items {
			items[i] = servertest.Body{"id": ids[len(ids)-1-i], "name": "After"} // the last that are sent
		}
		c.Post("/v1/directory/batch", servertest.Body{"workspace_id": n.First.WorkspaceID, "items": items}).OK()
		c.Delete("/v1/directory/" + ids[len(ids)-300]).OK()
		c.Entry(servertest.Body{"name": "After"})
		rest, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(first) + string(rest); strings.Count(text, `"name":"Before"`) != many || strings.Contains(text, `"After"`) {
			t.Errorf("the export has %d entries as they were, and tells of changes: %v", strings.Count(text, `"name":"Before"`), strings.Contains(text, `"After"`))
		}
	})
}

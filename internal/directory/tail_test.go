package directory_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestASearchFindsTheLastFourDigitsOfAnAccount(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		find := func(c *servertest.Client, q string, more ...string) []string {
			return c.Entries(append([]string{"q", q}, more...)...).OK().Column("label")
		}
		entry := func(name, number string) string {
			id := c.Entry(servertest.Body{"name": name})
			c.AddMethod(id, servertest.Account(number))
			return id
		}
		ada := entry("Ada", "DE00 3704 0044 0532 4711")
		entry("Bob", "0000004711")
		entry("Short", "4711") // of which nothing is shown either
		entry("Letters", "00000047AB")
		c.Entry(servertest.Body{"name": "House 4711"})
		gone := entry("Gone", "99994711")
		c.Delete("/v1/directory/" + gone).OK()
		c.AddMethod(ada, servertest.Account("11114711"))

		if got := find(c, "4711"); !slices.Equal(got, []string{"House 4711", "Bob", "Ada"}) {
			t.Errorf("4711 finds %v", got)
		}
		if got := find(c, "4711", "limit", "1"); !slices.Equal(got, []string{"House 4711"}) {
			t.Errorf("the first page has %v", got)
		}
		path := "/v1/directory?" + servertest.Query("workspace_id", n.First.WorkspaceID, "q", "4711", "limit", "1")
		if got := c.Walk(path, func([]string) {}); len(got) != 3 {
			t.Errorf("page by page there are %v", got)
		}
		for _, q := range []string{"711", "04711", "471", "4711 ada", "47ab"} {
			if got := find(c, q); slices.Contains(got, "Bob") {
				t.Errorf("%s finds %v", q, got)
			}
		}
		if got := find(c, "4711", "type", "organization"); len(got) != 0 {
			t.Errorf("with a filter it finds %v", got)
		}
		if got := find(n.Member(t, "viewer@example.com", "viewer"), "4711"); !slices.Equal(got, []string{"House 4711"}) {
			t.Errorf("without the permission it finds %v", got)
		}
		file := string(c.Get("/v1/directory/export?format=ndjson&q=4711&workspace_id=" + n.First.WorkspaceID).Body)
		if strings.Count(file, "\n") != 3 {
			t.Errorf("the export has\n%s", file)
		}
		if got := servertest.Changed(c.Bulk("deactivate", servertest.Body{"filter": servertest.Body{"q": "4711"}}).OK()); got != "completed 3 0 0" {
			t.Errorf("a bulk of what is found: %s", got)
		}
		c.Patch("/v1/directory/"+ada+"/receiving-methods/"+c.AddMethod(ada, servertest.Account("00001111")), servertest.Body{"account_id": "00002222"}).OK()
		if found, before := find(c, "2222"), find(c, "1111"); !slices.Equal(found, []string{"Ada"}) || len(before) != 0 {
			t.Errorf("a number that was changed: %v, %v", found, before)
		}

		other := n.Tenant(t)
		if got := other.Owner.Get("/v1/directory?" + servertest.Query("workspace_id", other.WorkspaceID, "q", "4711")).OK().Column("id"); len(got) != 0 {
			t.Errorf("another tenant finds %v", got)
		}
	})
}

// importAccounts imports persons with so many accounts each, whose numbers end with the given digits.
func importAccounts(t *testing.T, c *servertest.Client, persons, accounts int, digits string) {
	t.Helper()
	var file bytes.Buffer
	lines := json.NewEncoder(&file)
	for i := range persons {
		var methods []servertest.Body
		for j := range accounts {
			methods = append(methods, servertest.Account(fmt.Sprintf("%03d%03d%s", i, j, digits)))
		}
		if err := lines.Encode(servertest.Body{"type": "person", "name": fmt.Sprint("Person ", i), "receiving_methods": methods}); err != nil {
			t.Fatal(err)
		}
	}
	if got := servertest.Counts(c.Import(file.String())); got != fmt.Sprintf("completed %d 0 0 0", persons) {
		t.Fatalf("the import is %s", got)
	}
}

// Numbers that many accounts end with are found as fast as others, on every page.
func TestLastDigitsThatManyAccountsHave(t *testing.T) {
	dbtest.TakesSeconds(t)
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		importAccounts(t, c, 210, 10, "7777") // 2,100 accounts: more than are counted
		path := "/v1/directory?" + servertest.Query("workspace_id", n.First.WorkspaceID, "q", "7777", "limit", "100")
		if got := c.Walk(path, func([]string) {}); len(got) != 210 {
			t.Errorf("%d are found", len(got))
		}
	})
}

func TestNumbersAreFoundByTheirLastDigitsAfterAReseal(t *testing.T) {
	dbtest.TakesSeconds(t)
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		c := n.Admin(t)
		importAccounts(t, c, 230, 1, "4711") // more than a reseal seals at once
		found := func() int {
			path := "/v1/directory?" + servertest.Query("workspace_id", n.First.WorkspaceID, "q", "4711", "limit", "100")
			return len(c.Walk(path, func([]string) {}))
		}
		_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			return struct{}{}, audit.None("a test"), tx.Exec(`UPDATE receiving_method SET account_sealed = $1 WHERE id = (SELECT min(id) FROM receiving_method)`, []byte("damaged"))
		})
		if err != nil {
			t.Fatal(err)
		}
		operator := store.Vault(store.Open(t))
		if _, err := operator.Reseal(t.Context(), db.Caller{}, func(done, total int64) {}); err != nil {
			t.Fatal(err)
		}
		if got := found(); got != 230 {
			t.Errorf("%d are found after a reseal", got)
		}
	})
}

func TestAnExportOfSomeEntries(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		ada, bob := c.Entry(servertest.Body{"name": "Ada"}), c.Entry(servertest.Body{"name": "Bob"})
		c.Entry(servertest.Body{"name": "Eve"})
		path := "/v1/directory/export?format=ndjson&workspace_id=" + n.First.WorkspaceID + "&ids="
		file := string(c.Get(path + ada + "," + bob + ",nobody").Body)
		if strings.Count(file, "\n") != 2 || !strings.Contains(file, "Ada") || !strings.Contains(file, "Bob") {
			t.Errorf("the export has\n%s", file)
		}
		c.Get(path + ada + "&type=person").Invalid("ids")
		c.Get(path + strings.Repeat("x,", 100)).Invalid("ids")
		other := n.Tenant(t)
		theirs := string(other.Owner.Get("/v1/directory/export?format=ndjson&workspace_id=" + other.WorkspaceID + "&ids=" + ada).Body)
		if theirs != "" {
			t.Errorf("another tenant exports %s", theirs)
		}
	})
}

package auditlog_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/internal/server/servertest"
)

func TestAnEntrysHistoryHasItsMethodsWithThoseThatWereRemoved(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, y := n.Tenant(t), n.Tenant(t)
		entry, other := x.Entry("Ada"), x.Entry("Grace")
		x.Owner.AddMethod(other, servertest.Account("00000001"))
		path := "/v1/directory/" + entry
		removed := x.Owner.AddMethod(entry, servertest.Account("12345678"))
		x.Owner.Patch(path+"/receiving-methods/"+removed, body{"account_name": "Ada King"}).OK()
		x.Owner.Delete(path + "/receiving-methods/" + removed).OK()
		x.Owner.AddMethod(entry, servertest.Account("87654321"))
		x.Owner.Patch(path, body{"status": "inactive"}).OK()
		n.SequenceAudit(t)
		history := x.AuditPath() + "&entry_id=" + entry

		want := []string{"directory.entry.updated", "directory.receiving_method.added", "directory.receiving_method.removed",
			"directory.receiving_method.updated", "directory.receiving_method.added", "directory.entry.created"}
		whole := x.Owner.Get(history).OK()
		if got := whole.Column("action"); !slices.Equal(got, want) {
			t.Fatalf("the history is %v, want %v", got, want)
		}
		if got := x.Owner.Walk(history+"&limit=2", nil); !slices.Equal(got, whole.Column("id")) {
			t.Errorf("page by page the history is %v, want %v", got, whole.Column("id"))
		}
		x.Owner.Get(history + "&limit=2&cursor=" + cursorOf(x.Owner.Get(x.AuditPath()+"&limit=2"))).Invalid("cursor")
		if got := x.Owner.Get(history + "&action=directory.receiving_method.added").OK().Column("id"); len(got) != 2 {
			t.Errorf("the methods that were added are %v", got)
		}
		rows, _ := feed(x, 0, "&entry_id="+entry)
		if got := ids(rows); len(got) != len(want) || got[0] != whole.Column("id")[len(want)-1] {
			t.Errorf("the feed of the history is %v, the history %v", got, whole.Column("id"))
		}
		file := string(x.Owner.Get(strings.Replace(history, "/audit?", "/audit/export?format=ndjson&", 1)).OK().Body)
		if got := strings.Count(file, "\n"); got != len(want) {
			t.Errorf("the export has %d rows:\n%s", got, file)
		}
		if row := x.Audit("&action=audit.exported")[0]; !strings.HasSuffix(row["description"].(string), "(history of "+entry+")") {
			t.Errorf("the export is recorded as %v", row["description"])
		}

		x.Owner.Get(x.OrganizationAuditPath() + "&entry_id=" + entry).Invalid("entry_id")
		for _, of := range []string{entry, "entry_00000000000000000000000000", "nothing", ""} {
			if got := y.Owner.Get(y.AuditPath() + "&entry_id=" + of).OK().List(); len(got) != 0 {
				t.Errorf("in another workspace the history of %q is %v", of, got)
			}
		}

		key := x.Owner.Post("/v1/api-keys", body{"name": "Later"}).OK().Text("api_key")
		x.Owner.Delete(path).OK()
		n.Clock.Advance(31 * 24 * time.Hour)
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		owner := n.Login(t, key)
		want = append([]string{"directory.entry.purged", "directory.entry.deleted"}, want...)
		if got := owner.Get(history).OK().Column("action"); !slices.Equal(got, want) {
			t.Errorf("after the entry is gone its history is %v, want %v", got, want)
		}
	})
}

func cursorOf(a *servertest.Answer) string {
	cursor, _ := a.OK().Page()
	return cursor
}

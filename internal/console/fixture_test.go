package console_test

import (
	"fmt"
	"strings"
	"testing"

	"bursar/internal/server/servertest"
)

// bpi is an institution that both rails reach.
const bpi = "BOPIPHMMXXX"

// some adds a few entries. One of them is inactive.
func some(t testing.TB, n *servertest.Node) {
	t.Helper()
	admin := n.Admin(t)
	for _, e := range []struct {
		kind   string
		fields servertest.Body
		tags   []string
	}{
		{"organization", servertest.Body{"name": "Manila Freight", "industry": "Logistics", "email": "billing@manilafreight.example"},
			[]string{"vendor", "logistics"}},
		{"person", servertest.Body{"first-name": "Jose", "last-name": "Reyes", "email": "jose@example.com", "phone": "+63 917 555 0199"},
			[]string{"payroll"}},
		{"person", servertest.Body{"first-name": "Maria", "last-name": "Santos", "email": "maria@example.com"}, []string{"payroll", "remote"}},
		{"organization", servertest.Body{"name": "Santos Catering", "industry": "Food", "phone": "+63 2 8555 0100"}, []string{"vendor"}},
	} {
		admin.Entry(servertest.Body{"type": e.kind, "fields": e.fields, "tags": e.tags})
	}
	admin.Patch("/v1/directory/"+admin.Entries("q", "jose").OK().Column("id")[0], servertest.Body{"status": "inactive"}).OK()
}

// somePeople adds Person 00, Person 01 and so on.
func somePeople(t testing.TB, n *servertest.Node, count int) {
	t.Helper()
	var file strings.Builder
	file.WriteString("type,name\n")
	for i := range count {
		fmt.Fprintf(&file, "person,Person %02d\n", i)
	}
	n.Admin(t).Import(file.String())
}

// pending is a payee whose new account waits for a second person, and whose phone number
// changed as well.
func pending(t testing.TB, n *servertest.Node) (entry, approval string) {
	t.Helper()
	admin := n.Admin(t)
	entry = admin.Entry(servertest.Body{"name": "Ada Lovelace", "fields": servertest.Body{"phone": "+44 20 7946 0123"}})
	old := admin.AddMethod(entry, servertest.Account("111122223333"))
	n.Member(t, "second@example.com", "admin") // from now on it takes two
	admin.Patch("/v1/directory/"+entry, servertest.Body{"fields": servertest.Body{"phone": "+44 20 7946 0999"}}).OK()
	path := "/v1/directory/" + entry + "/receiving-methods/" + old
	return entry, admin.Patch(path, servertest.Body{"account_id": "444455556666"}).OK().Text("approval_id")
}

// payee is an entry of the directory that can be paid.
func payee(t testing.TB, n *servertest.Node, name, number string) (entry, method string) {
	t.Helper()
	admin := n.Admin(t)
	entry = admin.Entry(servertest.Body{"name": name, "tags": []string{"Staff"}})
	return entry, admin.AddMethod(entry, servertest.Account(number, servertest.Body{"account_name": name, "institution_code": bpi}))
}

// source is the account that the setup has made.
func source(t testing.TB, n *servertest.Node) string {
	t.Helper()
	return n.Admin(t).Get("/v2/accounts?workspace_id=" + n.First.WorkspaceID).OK().Column("id")[0]
}

// paid makes a payout to a receiving method.
func paid(t testing.TB, n *servertest.Node, method string, cents int64) string {
	t.Helper()
	return n.Admin(t).Post("/v2/payout-requests", servertest.Body{"source_account_id": source(t, n), "currency": "PHP", "amount_cents": cents,
		"receiving_method_id": method, "description": "Invoice 42"}).Created().Text("id")
}

package console_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/server/servertest"
)

// paidUnder lists the accounts that are paid for each label and id of an active entry.
func paidUnder(t *testing.T, n *servertest.Node, ids ...string) map[string][]string {
	t.Helper()
	paid := map[string][]string{}
	for _, id := range ids {
		answer := n.Admin(t).Get("/v1/directory/" + id)
		if answer.Status != http.StatusOK {
			continue // it is deleted
		}
		e := servertest.Decoded[api.Entry](answer)
		for _, m := range *e.ReceivingMethods {
			if e.Status == api.StatusActive && e.MergedInto == "" {
				paid[e.Label], paid[id] = append(paid[e.Label], m.AccountID), append(paid[id], m.AccountID)
			}
		}
	}
	return paid
}

// No form lets one person change who is paid for a name or an entry, nor activate a payee that was stopped.
func TestNoFormChangesWhoIsPaidByOnePerson(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	power, tiny, stopped := admin.Entry(servertest.Body{"name": "Acme Power"}), admin.Entry(servertest.Body{"name": "Tiny"}), admin.Entry(servertest.Body{"name": "Stopped"})
	for i, id := range []string{power, tiny, stopped} {
		admin.AddMethod(id, servertest.Account("100"+string(rune('1'+i))))
	}
	part := admin.Entry(servertest.Body{"name": "Part"})
	merge := admin.Post("/v1/directory/"+tiny+"/merge", servertest.Body{"sources": []string{part}, "fields": servertest.Body{"name": part}}).OK().Text("id")
	admin.Patch("/v1/directory/"+stopped, servertest.Body{"status": "inactive"}).OK()
	n.Member(t, "second@example.com", "admin")
	n.Member(t, "one@example.com", "directory_manager")
	visitor := browse(t, n, "one@example.com")
	before := paidUnder(t, n, power, tiny, stopped)
	if len(before) != 4 {
		t.Fatalf("before, these are paid: %v", before)
	}
	take := []string{"source", power}
	for _, field := range []string{"name", "label", "status", "external_id"} {
		take = append(take, "take:"+field, power)
	}
	for _, form := range []struct {
		path  string
		pairs []string
	}{
		{"/directory/" + tiny, []string{"was", "{}", "label", "Acme Power"}},
		{"/directory/" + power, []string{"was", "{}", "name", "Other", "was-name", "Acme Power"}},
		{"/directory/" + tiny, []string{"was", "{}", "name", "Acme Power", "was-name", "Part"}},
		{"/directory/" + stopped + "/status", []string{"status", "active"}},
		{"/directory/bulk", []string{"action", "activate", "id", stopped}},
		{"/directory/" + tiny + "/merge", take},
		{"/directory/merges/" + merge + "/undo", nil},
		{"/directory/" + stopped + "/delete", nil},
		{"/directory/" + stopped + "/restore", nil},
		{"/directory/" + stopped + "/status", []string{"status", "active"}},
	} {
		if got := visitor.post(room(n, form.path), form.pairs...); got.status != 200 {
			t.Errorf("%s answers %d: %s", form.path, got.status, got.body)
		}
		for key, accounts := range paidUnder(t, n, power, tiny, stopped) {
			if !slices.Equal(accounts, before[key]) {
				t.Errorf("after %s %v, for %s %v is paid, before it was %v", form.path, form.pairs, key, accounts, before[key])
			}
		}
	}
	if page := visitor.get(room(n, "/directory/"+tiny)); !strings.Contains(page.body, "is waiting for approval") || !strings.Contains(page.body, "/approvals/apr_") {
		t.Errorf("the page of the entry does not say what waits: %s", page.body)
	}
}

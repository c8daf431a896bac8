package console_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/console"
	"bursar/internal/server/servertest"
	"bursar/internal/web"
)

// No form lets one person make a method payable, or the default.
func TestNoFormMakesAMethodPayableByOnePerson(t *testing.T) {
	t.Parallel()
	n := start(t)
	pages, err := console.New(console.Services{}, console.Config{PublicURL: n.PublicURL, Endpoints: &web.Endpoints{}})
	if err != nil {
		t.Fatal(err)
	}
	forms := refusedForms(t, n)
	first := func() (entry string, methods []string, approval string) {
		t.Helper()
		admin := n.Admin(t)
		entry = admin.Entry(servertest.Body{"name": "Payee"})
		made := admin.Post("/v1/directory/"+entry+"/receiving-methods", servertest.Account("1")).OK()
		return entry, []string{made.Text("id")}, made.Text("approval_id")
	}
	n.Member(t, "second@example.com", "admin")
	visitor, admin := browse(t, n, adminEmail), n.Admin(t)
	for _, route := range pages.Routes() {
		form, known := forms[route.Path]
		if route.Method != http.MethodPost || !known || strings.Contains(route.Path, "/members/{userId}") || strings.HasPrefix(route.Path, "/w/{ws}/organization") && !strings.HasSuffix(route.Path, "/receiving") {
			continue
		}
		t.Run(route.Path, func(t *testing.T) {
			entry, methods, approval := first()
			id := form.id
			switch {
			case strings.Contains(route.Path, "/directory/{id}"):
				id = entry
			case strings.Contains(route.Path, "/approvals/{id}"):
				id = approval
			}
			pairs := slices.Clone(form.pairs)
			if i := slices.Index(pairs, "digest"); i >= 0 {
				pairs[i+1] = admin.Get("/v1/approvals/" + approval).OK().Text("digest")
			}
			path := strings.NewReplacer("{ws}", n.First.WorkspaceID, "{id}", id, "{role}", "clerk", "{method_id}", methods[0]).Replace(route.Path)
			visitor.post(path, append(pairs, "is_default", "yes")...)
			answer := admin.Get("/v1/directory/" + entry)
			if answer.Status != http.StatusOK {
				return // the form deletes the entry
			}
			var payee api.Entry
			answer.Data(&payee)
			if got := *payee.ReceivingMethods; len(got) > 0 {
				t.Errorf("one person made %v payable", got)
			}
		})
	}
}

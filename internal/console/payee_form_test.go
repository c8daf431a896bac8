package console_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bursar/internal/console"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/web"
)

// sentForm is a form with what is typed into it.
type sentForm struct {
	route string // below the workspace
	id    string
	pairs []string
}

// harmlessForms are those of the directory that change no payee. The others are in formsOn.
var harmlessForms = []string{"/directory/tags", "/directory/tags/{id}", "/directory/tags/{id}/delete", "/directory/imports", "/directory/imports/{id}/cancel",
	"/directory/bulk/{id}/cancel", "/directory/{id}/pay"}

// formsOn are the forms by which one person tries to redirect money, for each entry, those last that take a payee away.
func formsOn(x *servertest.Tenant, one *servertest.Client, p servertest.Payees) (all []sentForm) {
	add := func(route, id string, pairs ...string) { all = append(all, sentForm{route, id, pairs}) }
	names := slices.Sorted(maps.Keys(p.Entries))
	for _, name := range names {
		id := p.Entries[name]
		add("/directory", "", "type", "person", "name", name, "external_id", strings.ToUpper(name[:3]))
		add("/directory", "", "type", "person", "field-first-name", "New "+name, "provider", "bank", "account_name", "Ada", "account_id", "2001")
		add("/directory/{id}/status", id, "status", "active")
		add("/directory/{id}", id, "was", "{}", "external_id", "", "was-external_id", strings.ToUpper(name[:3]))
		for _, other := range names {
			external := strings.ToUpper(other[:3])
			add("/directory/{id}", id, "was", "{}", "label", other)
			add("/directory/{id}", id, "was", "{}", "field-first-name", other)
			add("/directory/{id}", id, "was", "{}", "name", other, "was-name", name)
			add("/directory/{id}", id, "was", "{}", "external_id", external, "was-external_id", "")
		}
		add("/directory/{id}/tags", id, "add", "vip")
		add("/directory/{id}/receiving", id, "provider", "bank", "account_name", "Ada", "account_id", "2001", "is_default", "yes")
	}
	for name, method := range p.Methods {
		add("/directory/{id}/receiving/"+method, p.Entries[name], "provider", "bank", "account_name", "Ada", "account_id", "2002", "is_default", "yes")
		add("/directory/{id}/receiving/"+method+"/default", p.Entries[name])
	}
	text := "id,type,name,external_id,status\n"
	for _, name := range names {
		text += p.Entries[name] + ",person,Acme Power,ACM,active\n"
	}
	held := one.Post("/v1/directory/imports?hold=true&format=csv&match=id&workspace_id="+x.WorkspaceID, text).OK().Text("id")
	add("/directory/imports/{id}", held, "do", "import", "match", "id", "on_match", "update")
	add("/directory/merges/{id}/undo", p.Merge)
	for _, name := range names {
		for _, source := range []string{"Tiny", "Several", "Bare"} {
			from := p.Entries[source]
			add("/directory/{id}/merge", p.Entries[name], "source", from, "take:name", from, "take:label", from, "take:external_id", from, "take:status", from)
		}
	}
	for _, action := range []string{"activate", "deactivate", "activate", "delete"} {
		pairs := []string{"action", action, "confirmed", "yes"}
		for _, name := range names {
			pairs = append(pairs, "id", p.Entries[name])
		}
		add("/directory/bulk", "", pairs...)
		add("/directory/bulk/{id}/undo", "")
	}
	for _, name := range names {
		id := p.Entries[name]
		add("/directory/{id}/restore", id)
		add("/directory/{id}/delete", id)
		add("/directory/{id}/restore", id)
		add("/directory/{id}/status", id, "status", "active")
	}
	for name, method := range p.Methods {
		add("/directory/{id}/receiving/"+method+"/remove", p.Entries[name])
	}
	return all
}

// No form lets one person change who is paid for a name, an external id or an entry, whatever kind of entry there is.
func TestNoFormChangesWhoIsPaidByOnePerson(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := startOn(t, store)
		x := n.FirstTenant(t)
		p := x.Payees(t)
		one := x.Member("directory_manager")
		watch, forms, changed := x.WatchPayees(t), formsOn(x, one, p), map[string]bool{}
		visitor := browse(t, n, one.Email())
		checkForms(t, forms, p)
		bulk := "" // the last one
		for _, form := range forms {
			if form.route == "/directory/bulk/{id}/undo" {
				if form.id = bulk; bulk == "" {
					continue // nothing was changed
				}
			}
			got := visitor.post(room(n, strings.ReplaceAll(form.route, "{id}", form.id)), form.pairs...)
			if _, id, ok := strings.Cut(got.body, "/directory/bulk/"); ok {
				bulk, _, _ = strings.Cut(id, "/undo")
			}
			if got.status == http.StatusTooManyRequests || got.status >= 500 || got.status == http.StatusForbidden {
				t.Fatalf("%s %v answers %d: %s", form.route, form.pairs, got.status, got.body)
			}
			changed[form.route] = changed[form.route] || got.status == http.StatusOK
			n.RunImports(t)
			watch.Check(t, form)
		}
		for _, route := range []string{"/directory", "/directory/{id}", "/directory/{id}/merge", "/directory/{id}/status", "/directory/{id}/restore", "/directory/bulk", "/directory/bulk/{id}/undo", "/directory/imports/{id}"} {
			if !changed[route] {
				t.Errorf("%s never succeeds, so it shows nothing", route)
			}
		}
	})
}

// checkForms fails the test if a form of the directory is in no table.
func checkForms(t *testing.T, forms []sentForm, p servertest.Payees) {
	t.Helper()
	pages, err := console.New(console.Services{}, console.Config{PublicURL: "http://localhost", Endpoints: &web.Endpoints{}})
	if err != nil {
		t.Fatal(err)
	}
	known := slices.Clone(harmlessForms)
	for _, form := range forms {
		route := form.route
		for _, method := range p.Methods {
			route = strings.ReplaceAll(route, method, "{method_id}")
		}
		known = append(known, route)
	}
	for _, route := range pages.Routes() {
		path, ok := strings.CutPrefix(route.Path, "/w/{ws}/directory")
		if ok && route.Method == http.MethodPost && !slices.Contains(known, "/directory"+path) {
			t.Errorf("%s is in no table of forms", route.Path)
		}
	}
}

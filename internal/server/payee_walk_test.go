package server_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// payees are entries of every kind in a workspace where two could decide.
type payees struct{ servertest.Payees }

func (p payees) ids() []string { return slices.Sorted(maps.Values(p.Entries)) }

// takeovers are the values by which an entry would take the place of others: their names and external ids.
func (p payees) takeovers() []body {
	all := []body{{"external_id": ""}}
	for _, name := range slices.Sorted(maps.Keys(p.Entries)) {
		external := strings.ToUpper(name[:3])
		all = append(all, body{"external_id": external}, body{"label": name}, body{"name": name}, body{"fields": body{"name": name}},
			body{"fields": body{"first-name": name, "last-name": ""}})
	}
	return append(all, body{"external_id": ""}, body{"status": "inactive"}, body{"status": "active"})
}

// attempts are the requests by which one person tries to redirect money, by the route.
func (p payees) attempts(t *testing.T, x *servertest.Tenant, o operation) (all []request) {
	t.Helper()
	lines := func(key func(name string) body) (text string) {
		for _, name := range slices.Sorted(maps.Keys(p.Entries)) {
			for _, change := range p.takeovers() {
				line := key(name)
				maps.Copy(line, change)
				line["type"] = "person"
				encoded, err := api.EncodeJSON(line)
				if err != nil {
					t.Fatal(err)
				}
				text += string(encoded) + "\n"
			}
		}
		return text
	}
	switch o.Operation {
	case api.UpdateEntry:
		for _, id := range p.ids() {
			for _, change := range p.takeovers() {
				all = append(all, request{args: []string{id}, body: change})
			}
		}
	case api.BatchEntries:
		for _, change := range p.takeovers() {
			var items []body
			for _, id := range p.ids() {
				item := body{"id": id}
				maps.Copy(item, change)
				items = append(items, item)
			}
			all = append(all, request{body: body{"workspace_id": x.WorkspaceID, "items": items}})
		}
	case api.BulkEntries:
		for _, action := range []string{"deactivate", "activate", "delete", "restore", "activate"} {
			all = append(all, request{body: body{"workspace_id": x.WorkspaceID, "action": action, "ids": p.ids()}})
		}
	case api.StartImport:
		for match, key := range map[string]func(name string) body{
			"id": func(name string) body { return body{"id": p.Entries[name]} },
			"external_id": func(name string) body {
				return body{"external_id": strings.ToUpper(name[:3]), "status": "active", "label": "Acme Power"}
			},
			"email": func(name string) body { return body{"fields": body{"email": name[:3] + "@example.com"}} },
		} {
			all = append(all, request{query: "?format=ndjson&workspace_id=" + x.WorkspaceID + "&match=" + match, body: lines(key)})
		}
	case api.MergeEntries:
		for _, target := range p.ids() {
			for _, source := range p.ids() {
				take := body{"name": source, "label": source, "external_id": source, "status": source, "fields.email": source}
				all = append(all, request{args: []string{target}, body: body{"sources": []string{source}, "fields": take}},
					request{args: []string{target}, body: body{"sources": []string{source}}})
			}
		}
	case api.UndoMerge:
		all = append(all, request{args: []string{p.Merge}})
	case api.DeleteEntry, api.RestoreEntry:
		for _, id := range p.ids() {
			all = append(all, request{args: []string{id}})
		}
	case api.CreateEntry:
		for _, change := range p.takeovers() {
			one := body{"workspace_id": x.WorkspaceID, "type": "person", "fields": body{}}
			maps.Copy(one, change)
			delete(one, "status")
			all = append(all, request{body: one})
		}
	case api.AddReceivingMethod:
		for _, id := range p.ids() {
			all = append(all, request{args: []string{id}, body: servertest.Account("2001")}, request{args: []string{id}, body: servertest.Account("2002", body{"is_default": true})})
		}
	case api.UpdateReceivingMethod, api.RemoveReceivingMethod:
		for name, method := range p.Methods {
			var content any
			if o.Method() == "PATCH" {
				content = body{"account_id": "2003", "is_default": true}
			}
			all = append(all, request{args: []string{p.Entries[name], method}, body: content})
		}
	}
	return all
}

// No route of the directory lets one person change who is paid for a name, an external id or an entry, whatever kind of entry there is and
// whoever they are. A route that stops paying someone is no such route. What is paid is compared after each request.
func TestNoRouteChangesWhoIsPaidByOnePerson(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n, roles := servertest.Start(t, store), []string{"member", "directory_manager", "writer"}
		if store.Engine == "postgres" { // the engines differ in their SQL, which does not depend on the role
			roles = roles[1:2]
		}
		for _, role := range roles {
			for _, o := range operations() {
				if !strings.Contains(o.Path(), "/v1/directory") || o.Method() == "GET" {
					continue
				}
				t.Run(role+" "+o.String(), func(t *testing.T) {
					x := n.Tenant(t)
					x.Define("writer", "ws.read", "ws.directory.read", "ws.directory.write", "ws.directory.delete", "ws.receiving.write")
					p := payees{x.Payees(t)}
					one := x.Member(role)
					watch := x.WatchPayees(t)
					attempts := p.attempts(t, x, o)
					if len(attempts) == 0 {
						own := o.ask(x, x.Owner)
						own.headers = nil
						attempts = []request{own}
					}
					var bulks []string
					send := func(r request) {
						answer := o.do(one.On(t), r)
						if answer.Status == 429 {
							t.Fatal("the attempts are too many for the rate limit")
						}
						if strings.HasSuffix(o.Path(), "/bulk") && answer.Status == 200 {
							bulks = append(bulks, answer.Text("id"))
						}
					}
					for _, r := range slices.Concat(attempts, attempts) { // of which the second time may find what the first has freed
						send(r)
						if strings.HasSuffix(o.Path(), "/imports") || strings.HasSuffix(o.Path(), "/bulk") {
							n.RunImports(t)
						}
						watch.Check(t, r)
					}
					for _, id := range bulks {
						one.Post("/v1/directory/bulk/"+id+"/undo", nil)
						n.RunImports(t)
						watch.Check(t, "the undo of "+id)
					}
				})
			}
		}
	})
}

// Who may write accounts and not read them gets no number by any answer.
func TestNoWriteAnswersAnAccountNumberToWhoMayNotReadThem(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		x.Define("writer", "ws.read", "ws.directory.read", "ws.directory.write", "ws.directory.delete", "ws.receiving.write", "ws.tags.write")
		writer := x.Member("writer")
		entry, other := x.Entry("Ada"), x.Entry("Bob")
		for i, id := range []string{entry, other} {
			x.Owner.AddMethod(id, servertest.Account(fmt.Sprintf("55667788%d", i)))
		}
		method := servertest.Decoded[[]api.ReceivingMethod](x.Owner.Get("/v1/directory/" + entry + "/receiving-methods"))[0].ID
		path := "/v1/directory/" + entry
		for what, answer := range map[string]*servertest.Answer{
			"a change that changes nothing": writer.Patch(path+"/receiving-methods/"+method, body{"is_default": true}).OK(),
			"a successor":                   writer.Patch(path+"/receiving-methods/"+method, body{"provider": "wallet"}).OK(),
			"a new one":                     writer.Post(path+"/receiving-methods", servertest.Account("556677889")).OK(),
			"a rehearsal of a merge":        writer.Post(path+"/merge", body{"sources": []string{other}, "dry_run": true}).OK(),
			"a merge":                       writer.Post(path+"/merge", body{"sources": []string{other}}).OK(),
			"an entry":                      writer.Patch(path, body{"fields": body{"note": "x"}}).OK(),
			"a batch":                       writer.Post("/v1/directory/batch", body{"workspace_id": x.WorkspaceID, "items": []body{{"id": entry, "fields": body{"note": "y"}}}}).OK(),
			"an import": writer.Post("/v1/directory/imports?format=ndjson&workspace_id="+x.WorkspaceID,
				`{"type":"person","name":"Mallory","receiving_methods":[{"provider":"bank","account_name":"Mallory","account_id":"5566778892"}]}`).OK(),
			"a deletion": writer.Delete(path).OK(),
			"a recovery": writer.Post(path+"/restore", nil).OK(),
		} {
			if text := string(answer.Body); strings.Contains(text, "5566") || strings.Contains(what, "merge") && strings.Contains(text, "rm_") {
				t.Errorf("%s answers %s", what, text)
			}
		}
		merge := x.Owner.Get("/v1/directory/merges?workspace_id=" + x.WorkspaceID).OK().Column("id")[0]
		x.Member("admin") // from this point on, changes need a second person
		asked := writer.Post(path+"/receiving-methods", servertest.Account("5566778893")).OK()
		for what, answer := range map[string]*servertest.Answer{
			"one that waits":         asked,
			"the undo of a merge":    writer.Post("/v1/directory/merges/"+merge+"/undo", nil),
			"one that is withdrawn":  writer.Post("/v1/approvals/"+asked.Text("approval_id")+"/withdraw", nil).OK(),
			"a name that waits":      writer.Patch(path, body{"name": "Eve"}).OK(),
			"a method that is ended": writer.Delete(path + "/receiving-methods/" + asked.Text("id")),
		} {
			if strings.Contains(string(answer.Body), "5566") {
				t.Errorf("%s answers %s", what, answer.Body)
			}
		}
		if rows := x.Audit("&action=directory.receiving_method.revealed"); len(rows) > 0 && rows[0]["actor_id"] == writer.UserID {
			t.Errorf("the log says that a number was shown: %v", rows[0])
		}
	})
}

// A caller who has lost the permission to read accounts gets no number by sending an earlier request again, even one that is refused now.
// With the permission the answer is the same as before.
func TestAStoredAnswerShowsAnAccountNumberOnlyToCallersWhoCanReadItNow(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		x.Define("writer", "ws.read", "ws.directory.read", "ws.receiving.write")
		x.Define("reader", "ws.receiving.read")
		one := x.Member("writer")
		grant := func() { x.Owner.Post(x.Path("/roles"), body{"user_id": one.UserID, "role": "reader"}).OK() }
		grant()
		path := "/v1/directory/" + x.Entry("Ada") + "/receiving-methods"
		method := one.Post(path, servertest.Account("0917556677")).OK().Text("id")
		requests := map[string]func() *servertest.Answer{
			"an added method": func() *servertest.Answer { return one.Once("add", "POST", path, servertest.Account("5566778899")) },
			"a method": func() *servertest.Answer {
				return one.Once("read", "PATCH", path+"/"+method, body{"is_default": true})
			},
			"a changed account": func() *servertest.Answer {
				return one.Once("change", "PATCH", path+"/"+method, body{"provider": "wallet"})
			},
		}
		first := map[string]*servertest.Answer{}
		for what, send := range requests {
			if first[what] = send().OK(); !strings.Contains(string(first[what].Body), "5566") {
				t.Errorf("%s answers %s", what, first[what].Body)
			}
			replayed(t, first[what], send())
		}
		masked := func(when string) {
			t.Helper()
			for what, send := range requests {
				again := send()
				if again.Header.Get("Idempotent-Replayed") != "true" || again.Text("id") != first[what].Text("id") || strings.Contains(string(again.Body), "5566") {
					t.Errorf("%s, %s answers %d %s", when, what, again.Status, again.Body)
				}
			}
		}
		x.Owner.Delete(x.Path("/roles/" + one.UserID + "/reader")).OK()
		masked("without the permission to read")
		grant()
		for what, send := range requests {
			replayed(t, first[what], send())
		}
		x.Owner.Delete(x.Path("/members/" + one.UserID)).OK()
		masked("outside of the workspace")
	})
}

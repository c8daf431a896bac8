package server_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/server/servertest"
)

// payable lists what a client of the specification would pay in a workspace: the ids of all
// methods that can be paid, and which are the defaults.
func payable(t *testing.T, x *servertest.Tenant) (methods, defaults []string) {
	t.Helper()
	for _, id := range x.Owner.Walk("/v1/directory?limit=100&workspace_id="+x.WorkspaceID, nil) {
		var entry api.Entry
		x.Owner.On(t).Get("/v1/directory/" + id).OK().Data(&entry)
		for _, m := range *entry.ReceivingMethods {
			methods = append(methods, m.ID)
			if m.IsDefault {
				defaults = append(defaults, m.ID)
			}
		}
	}
	return methods, defaults
}

// payee is an entry with a receiving method in every state.
type payee struct {
	entry     string
	methods   []string
	approvals []string // that wait
}

func newPayee(t *testing.T, n *servertest.Node, x *servertest.Tenant, second *servertest.Client) payee {
	t.Helper()
	entry := x.Entry("Payee")
	p := payee{entry: entry}
	path := "/v1/directory/" + entry + "/receiving-methods"
	add := func(approve bool) string {
		made := x.Owner.Post(path, bankAccount()).OK()
		if approve {
			second.Approve(made.Text("approval_id")).OK()
		} else {
			p.approvals = append(p.approvals, made.Text("approval_id"))
		}
		p.methods = append(p.methods, made.Text("id"))
		return made.Text("id")
	}
	add(true)
	replaced := add(true)
	n.Clock.Advance(61 * time.Minute) // two can be paid
	x.Owner.Token = x.Owner.Again(t).Token
	*second = *n.Person(t, second.Again(t))
	next := x.Owner.Patch(path+"/"+replaced, body{"account_id": "0002"}).OK()
	second.Approve(next.Text("approval_id")).OK()
	n.Clock.Advance(61 * time.Minute) // and one is retired
	x.Owner.Token = x.Owner.Again(t).Token
	*second = *n.Person(t, second.Again(t))
	add(true) // which cools
	add(false)
	rejected := add(false)
	x.Owner.Delete(path + "/" + rejected).OK()
	waits := x.Owner.Patch(path+"/"+p.methods[0], body{"account_id": "0003"}).OK()
	p.approvals = append(p.approvals, waits.Text("approval_id"))
	return p
}

// sharing lists the operations that change something, by those that can have a payee in common: all of one resource, but each one
// of the directory, of approvals and of the policy has a payee of its own, which the one before may have changed.
func sharing() (all [][]operation) {
	places := map[string]int{}
	for _, o := range operations() {
		if o.Method() == "GET" {
			continue
		}
		key := o.String()
		if !strings.Contains(key, "/directory") && !strings.Contains(key, "/approvals/") && !strings.Contains(key, "/receiving-policy") {
			key = strings.Join(strings.Split(key, "/")[1:3], "/")
		}
		place, ok := places[key]
		if !ok {
			place = len(all)
			places[key], all = place, append(all, nil)
		}
		all[place] = append(all[place], o)
	}
	return all
}

// No route lets one person make a method payable, or the default, whatever state the methods of
// a payee are in. A new route is part of this by being in the table.
func TestNoRouteMakesAMethodPayableByOnePerson(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for _, routes := range sharing() {
			x := n.Tenant(t)
			second := n.Person(t, x.Member("admin"))
			x.Owner.Patch(x.Path("/receiving-policy"), body{"receiving_approval": "two_persons"}).OK()
			second.Approve(x.Owner.Patch(x.Path("/receiving-policy"), body{"receiving_cooling_hours": 1}).OK().Text("approval_id")).OK()
			p := newPayee(t, n, x, second)
			methods, defaults := payable(t, x)
			if len(methods) != 2 || len(defaults) != 1 {
				t.Fatalf("before, %v can be paid, of which %v are defaults", methods, defaults)
			}
			check := func(t *testing.T, when string) {
				t.Helper()
				now, nowDefault := payable(t, x)
				for _, id := range now {
					if !slices.Contains(methods, id) {
						t.Errorf("%s, one person made %s payable", when, id)
					}
				}
				for _, id := range nowDefault {
					if !slices.Contains(defaults, id) {
						t.Errorf("%s, one person made %s the default", when, id)
					}
				}
			}
			var walked []string
			for _, o := range routes {
				walked = append(walked, o.String())
				t.Run(o.String(), func(t *testing.T) {
					for _, r := range aimedAt(o, x, p) {
						o.do(x.Owner.On(t), r)
						n.RunImports(t)
					}
					if strings.HasSuffix(o.Path(), "/directory/imports") {
						if waits := x.Owner.Get("/v1/approvals?state=pending&limit=100&workspace_id=" + x.WorkspaceID).OK().List(); len(waits) <= len(p.approvals) {
							t.Error("the files asked for nothing")
						}
					}
					x.Owner.Token = x.Owner.Again(t).Token // one of the routes ends the session
					check(t, "at once")
				})
			}
			cooled := slices.Clone(p.methods[2:3]) // what the second person has approved
			n.Clock.Advance(59 * time.Minute)
			check(t, "an hour after "+strings.Join(walked, ", "))
			methods = append(methods, cooled...)
			n.Clock.Advance(2 * time.Minute)
			x.Owner.Token = x.Owner.Again(t).Token
			check(t, "when all has cooled after "+strings.Join(walked, ", "))
		}
	})
}

// aimedAt are requests to a route that aim at a payee in every way: its own, and with each
// method, approval and body that could matter.
func aimedAt(o operation, x *servertest.Tenant, p payee) []request {
	own := o.ask(x, x.Owner)
	own.headers = nil // no one else's session
	all := []request{own}
	bodies := []any{own.body}
	if strings.Contains(o.Path(), "receiving-methods") && o.Method() != "DELETE" {
		bodies = append(bodies, body{"is_default": true}, body{"account_id": "0009"}, body{"account_id": "0009", "is_default": true},
			body{"institution_code": "GXCHPHM2XXX"}, body{"provider": "bank", "account_name": "Ada Lovelace", "account_id": "0008", "is_default": true})
	}
	aim := func(args ...string) {
		for _, content := range bodies {
			all = append(all, request{args: args, query: own.query, body: content})
		}
	}
	switch {
	case strings.Contains(o.Path(), "{method_id}"):
		for _, id := range p.methods {
			aim(p.entry, id)
		}
	case strings.HasSuffix(o.Path(), "/merge"):
		bodies = []any{body{"sources": []string{p.entry}}}
		aim(x.Entry("Another"))
	case strings.Contains(o.Path(), "/merges/{id}"):
		for _, into := range []string{x.Entry("Another"), x.Entry("A third")} { // which gets what the first one gave back
			merged := x.Owner.Post("/v1/directory/"+into+"/merge", body{"sources": []string{p.entry}}).OK().Text("id")
			x.Owner.Post("/v1/directory/merges/"+merged+"/undo", nil).OK()
			aim(merged)
		}
	case strings.Contains(o.Path(), "/directory/{id}"):
		if strings.HasSuffix(o.Path(), "/restore") {
			x.Owner.Delete("/v1/directory/" + p.entry).OK()
		}
		aim(p.entry)
	case strings.Contains(o.Path(), "/approvals/{id}"):
		for _, id := range p.approvals {
			if content, ok := own.body.(body); ok && content["digest"] != nil {
				content["digest"] = x.Owner.Get("/v1/approvals/" + id).OK().Text("digest")
			}
			aim(id)
		}
	case strings.HasSuffix(o.Path(), "/approvals/decide"):
		var list []body
		for _, id := range p.approvals {
			list = append(list, body{"id": id, "digest": x.Owner.Get("/v1/approvals/" + id).OK().Text("digest")})
		}
		all = append(all, request{body: body{"workspace_id": x.WorkspaceID, "decision": "approve", "verification": "called", "approvals": list}})
	case strings.HasSuffix(o.Path(), "/directory/imports"):
		for _, match := range []string{"id", "account"} {
			for _, number := range []string{"0001", "0002", "0003", "0009"} { // that it has, had, waits for and never had
				method := `{"provider":"bank","account_name":"Ada Lovelace","account_id":"` + number + `","is_default":true}`
				line := `{"id":"` + p.entry + `","type":"person","name":"Payee","receiving_methods":[` + method + `]}` + "\n"
				line += `{"type":"person","name":"Newcomer","receiving_methods":[` + method + `]}` + "\n"
				all = append(all, request{query: "?format=ndjson&workspace_id=" + x.WorkspaceID + "&match=" + match, body: line})
			}
		}
	case strings.HasSuffix(o.Path(), "/directory/batch"):
		for _, item := range []body{{"id": p.entry}, {"type": "person", "name": "Newcomer"}} {
			item["receiving_methods"] = []body{bankAccount()}
			all = append(all, request{body: body{"workspace_id": x.WorkspaceID, "items": []body{item}}})
		}
	case strings.Contains(o.Path(), "receiving-policy"):
		bodies = append(bodies, body{"receiving_approval": "one_person"}, body{"receiving_approval": "automatic"}, body{"receiving_cooling_hours": 0})
		aim(x.WorkspaceID)
	}
	return all
}

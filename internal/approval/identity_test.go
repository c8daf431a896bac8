package approval_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/server/servertest"
)

// payee is an entry with an account that can be paid, in a workspace where two could decide.
func payee(t *testing.T, n *servertest.Node, fields body) (x *servertest.Tenant, second *servertest.Client, entry string) {
	t.Helper()
	x = n.Tenant(t)
	entry = newEntry(x, fields)
	x.Owner.AddMethod(entry, servertest.Account("111122223333"))
	return x, n.Person(t, x.Member("admin")), entry
}

func newEntry(x *servertest.Tenant, fields body) string {
	all := body{"workspace_id": x.WorkspaceID}
	maps.Copy(all, fields)
	return x.Owner.Entry(all)
}

func change(c *servertest.Client, entry string, fields body) *servertest.Answer {
	c.T().Helper()
	return c.Patch("/v1/directory/"+entry, fields)
}

func shown(c *servertest.Client, entry string) api.Entry {
	c.T().Helper()
	return servertest.Decoded[api.Entry](c.Get("/v1/directory/" + entry))
}

// The identity of a payee waits for a second person, and the rest of the same request does not.
func TestAnotherIdentityOfAPayeeWaitsForTheSecondPerson(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for name, c := range map[string]struct {
			fields, change body
			what           func(e api.Entry) string
			before, after  string
		}{
			"a label":               {body{"name": "Ada"}, body{"label": "Acme Power"}, func(e api.Entry) string { return e.Label }, "Ada", "Acme Power"},
			"a name":                {body{"name": "Ada"}, body{"name": "Acme Power"}, func(e api.Entry) string { return e.Label + "/" + e.Name }, "Ada/Ada", "Acme Power/Acme Power"},
			"a name beside a label": {body{"name": "Ada", "label": "Payee"}, body{"name": "Bob"}, func(e api.Entry) string { return e.Name }, "Ada", "Bob"},
			"fields of a label": {body{"fields": body{"first-name": "Ada", "last-name": "Byron"}}, body{"fields": body{"first-name": nil, "last-name": "Power"}},
				func(e api.Entry) string { return e.Label }, "Ada Byron", "Power"},
			"a field that is the label": {body{"fields": body{"name": "Ada"}}, body{"fields": body{"name": "Bob"}},
				func(e api.Entry) string { return e.Label + "/" + e.Fields.Text("name") }, "Ada/Ada", "Bob/Bob"},
			"an external id":        {body{"name": "Ada", "external_id": "ADA"}, body{"external_id": "PWR"}, func(e api.Entry) string { return e.ExternalID }, "ADA", "PWR"},
			"its first external id": {body{"name": "Ada"}, body{"external_id": "PWR"}, func(e api.Entry) string { return e.ExternalID }, "", "PWR"},
			"no external id":        {body{"name": "Ada", "external_id": "ADA"}, body{"external_id": ""}, func(e api.Entry) string { return e.ExternalID }, "ADA", ""},
			"an email as the label": {body{"fields": body{"email": "ada@example.com"}}, body{"fields": body{"email": "eve@example.com"}}, func(e api.Entry) string { return e.Label }, "ada@example.com", "eve@example.com"},
		} {
			t.Run(name, func(t *testing.T) {
				x, second, entry := payee(t, n, c.fields)
				member := x.Member("member")
				wanted := body{"tags": []string{}}
				for key, value := range c.change {
					wanted[key] = value
				}
				if _, ok := wanted["fields"]; !ok {
					wanted["fields"] = body{}
				}
				wanted["fields"].(body)["note"] = "applies at once"
				answer := change(member, entry, wanted).OK()
				id := answer.Text("approval_id")
				if now := shown(member, entry); c.what(now) != c.before || now.Fields.Text("note") != "applies at once" || now.PendingChange == nil || now.PendingChange.ApprovalID != id {
					t.Errorf("before the approval the entry is %+v", now)
				}
				var pending struct {
					PendingChange api.PendingChange `json:"pending_change"`
				}
				if answer.Data(&pending); pending.PendingChange.ApprovalID != id {
					t.Errorf("the answer is %s", answer.Body)
				}
				second.Approve(id).OK()
				if now := shown(member, entry); c.what(now) != c.after || now.Fields.Text("note") != "applies at once" || now.PendingChange != nil {
					t.Errorf("after the approval the entry is %+v", now)
				}
			})
		}
	})
}

// What does not change who is paid under a name applies at once.
func TestWhatLeavesAPayeeWhoTheyAreAppliesAtOnce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, _, entry := payee(t, n, body{"name": "José Ñandú-Cruz", "external_id": "JNC"})
		for _, fields := range []body{
			{"name": "JOSE  NANDU CRUZ"}, {"label": "Jose Nandu, Cruz."}, {"fields": body{"phone": "+63 917 123 4567"}}, {"fields": body{"first-name": "Pepe"}},
			{"status": "inactive"}, {"tags": []string{"vip"}},
		} {
			if got := change(x.Owner, entry, fields).OK(); got.Text("approval_id") != "" {
				t.Errorf("%v waits: %s", fields, got.Body)
			}
		}
		without := x.Entry("Bob")
		if got := change(x.Owner, without, body{"name": "Eve", "external_id": "EVE"}).OK(); got.Text("approval_id") != "" {
			t.Errorf("an entry without a method waits: %s", got.Body)
		}
		alone := n.Tenant(t)
		only := alone.Entry("Ada")
		alone.Owner.AddMethod(only, servertest.Account("1"))
		if got := change(alone.Owner, only, body{"name": "Eve"}).OK(); got.Text("approval_id") != "" || shown(alone.Owner, only).Label != "Eve" {
			t.Errorf("one person alone waits: %s", got.Body)
		}
		if row := alone.Audit("&action=directory.entry.updated&resource_id=" + only)[0]; !strings.Contains(fmt.Sprint(row["changes"]), "one_person") {
			t.Errorf("the log does not say that one person sufficed: %v", row)
		}
	})
}

// Names without any letter or digit have nothing in common.
func TestANameOfPunctuationIsNotTheSameAsAnother(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for _, c := range [][2]string{{"Ana", "..."}, {"!!!", "???"}, {"...", "\u2026"}, {"- -", "Ana"}} {
			x, _, entry := payee(t, n, body{"name": c[0]})
			for _, fields := range []body{{"name": c[1]}, {"label": c[1]}} {
				if got := change(x.Owner, entry, fields).OK(); got.Text("approval_id") == "" {
					t.Errorf("%s is renamed at once: %s", c[0], got.Body)
				}
			}
		}
	})
}

func TestAStoppedPayeeIsActivatedByTwo(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, second, entry := payee(t, n, body{"name": "Ada"})
		member := x.Member("member")
		second.Patch("/v1/directory/"+entry, body{"status": "inactive"}).OK()
		for name, act := range map[string]func() *servertest.Answer{
			"patch": func() *servertest.Answer { return change(member, entry, body{"status": "active"}) },
			"batch": func() *servertest.Answer {
				return member.Post("/v1/directory/batch", body{"workspace_id": x.WorkspaceID, "items": []body{{"id": entry, "status": "active"}}})
			},
			"bulk": func() *servertest.Answer {
				return member.Post("/v1/directory/bulk", body{"workspace_id": x.WorkspaceID, "action": "activate", "ids": []string{entry}})
			},
		} {
			act().OK()
			if now := shown(member, entry); now.Status != "inactive" || now.PendingChange == nil || *now.PendingChange.Status != "active" {
				t.Errorf("after %s the entry is %+v", name, now)
			}
		}
		second.Approve(shown(member, entry).PendingChange.ApprovalID).OK()
		if now := shown(member, entry); now.Status != "active" {
			t.Errorf("after the approval the entry is %+v", now)
		}
	})
}

// A change that needs no approval ends a pending change of the same values. Otherwise, approving the pending one would later overwrite it.
func TestAChangeThatAppliesAtOnceEndsTheOneThatWaits(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		item := func(x *servertest.Tenant, fields body) func() {
			return func() {
				x.Owner.Post("/v1/directory/batch", body{"workspace_id": x.WorkspaceID, "items": []body{fields}}).OK()
			}
		}
		for name, c := range map[string]struct {
			waits body
			act   func(x *servertest.Tenant, second *servertest.Client, entry string) []func()
			ends  bool
		}{
			"another spelling and back": {body{"name": "Eve", "external_id": "EVE"}, func(x *servertest.Tenant, _ *servertest.Client, entry string) []func() {
				return []func(){func() { change(x.Owner, entry, body{"name": "ADA"}).OK() }, func() { change(x.Owner, entry, body{"name": "Ada"}).OK() }}
			}, true},
			"another spelling in a batch": {body{"name": "Eve", "external_id": "EVE"}, func(x *servertest.Tenant, _ *servertest.Client, entry string) []func() {
				return []func(){item(x, body{"id": entry, "name": "A-d-a"}), item(x, body{"id": entry, "name": "Ada"})}
			}, true},
			"without an account": {body{"external_id": "EVE"}, func(x *servertest.Tenant, _ *servertest.Client, entry string) []func() {
				return []func(){
					func() {
						for _, m := range x.Owner.Get(methods(entry)).OK().Column("id") {
							x.Owner.Delete(methods(entry) + "/" + m).OK()
						}
					},
					func() { change(x.Owner, entry, body{"external_id": "NEW"}).OK() }, func() { change(x.Owner, entry, body{"external_id": ""}).OK() },
				}
			}, true},
			"one person alone": {body{"name": "Eve", "external_id": "EVE"}, func(x *servertest.Tenant, second *servertest.Client, entry string) []func() {
				return []func(){
					func() { x.Owner.Delete(x.Path("/members/" + second.UserID)).OK() },
					func() { n.Clock.Advance(73 * time.Hour); again(t, x.Owner) },
					func() { change(x.Owner, entry, body{"name": "Bob"}).OK() }, func() { change(x.Owner, entry, body{"name": "Ada"}).OK() },
				}
			}, true},
			"other values": {body{"name": "Eve", "external_id": "EVE"}, func(x *servertest.Tenant, _ *servertest.Client, entry string) []func() {
				return []func(){func() {
					change(x.Owner, entry, body{"fields": body{"note": "x", "phone": "+63 917 123 4567"}, "status": "inactive"}).OK()
				}}
			}, false},
			"deactivated again": {body{"status": "active"}, func(x *servertest.Tenant, _ *servertest.Client, entry string) []func() {
				return []func(){func() { change(x.Owner, entry, body{"status": "inactive"}).OK() }}
			}, true},
			"deactivated again in a batch": {body{"status": "active"}, func(x *servertest.Tenant, _ *servertest.Client, entry string) []func() {
				return []func(){item(x, body{"id": entry, "status": "inactive"})}
			}, true},
			"deactivated again in bulk": {body{"status": "active"}, func(x *servertest.Tenant, _ *servertest.Client, entry string) []func() {
				return []func(){func() {
					x.Owner.Post("/v1/directory/bulk", body{"workspace_id": x.WorkspaceID, "action": "deactivate", "ids": []string{entry}}).OK()
				}}
			}, true},
		} {
			t.Run(name, func(t *testing.T) {
				x, second, entry := payee(t, n, body{"name": "Ada"})
				if c.waits["status"] != nil {
					change(x.Owner, entry, body{"status": "inactive"}).OK()
				}
				id := change(x.Owner, entry, c.waits).OK().Text("approval_id")
				for _, act := range c.act(x, second, entry) {
					act()
				}
				if state := x.Owner.Get("/v1/approvals/" + id).OK().Text("state"); state == "void" != c.ends {
					t.Errorf("the approval is %s", state)
				}
				if now := shown(x.Owner, entry); (now.PendingChange == nil) != c.ends || now.Label != "Ada" {
					t.Errorf("the entry is %+v", now)
				}
				if !c.ends {
					return
				}
				newEntry(x, body{"name": "New", "external_id": "EVE"}) // which nothing waits for any more
				rows := fmt.Sprint(x.Audit("&action=directory.entry.updated&resource_id=" + entry))
				if !strings.Contains(rows, "before:pending field:approval") && !strings.Contains(rows, "after:void") {
					t.Errorf("the log does not say what ended: %s", rows)
				}
			})
		}
	})
}

// An external id that waits is taken, for every way to get it.
func TestAnExternalIDThatWaitsIsTaken(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, second, entry := payee(t, n, body{"name": "Ada", "external_id": "ADA"})
		x.Owner.Post("/v1/directory", body{"workspace_id": x.WorkspaceID, "type": "person", "fields": body{}, "name": "Gone", "external_id": "PWR"}).OK()
		gone := x.Owner.Get("/v1/directory?external_id=PWR&workspace_id=" + x.WorkspaceID).OK().Column("id")[0]
		x.Owner.Delete("/v1/directory/" + gone).OK()
		id := change(x.Owner, entry, body{"external_id": "PWR"}).OK().Text("approval_id")
		other := x.Entry("Bob")
		change(x.Owner, other, body{"external_id": "PWR"}).Fails(422, "EXTERNAL_ID_TAKEN")
		x.Owner.Post("/v1/directory", body{"workspace_id": x.WorkspaceID, "type": "person", "fields": body{}, "name": "Eve", "external_id": "PWR"}).Fails(422, "EXTERNAL_ID_TAKEN")
		x.Owner.Post("/v1/directory/"+gone+"/restore", nil).Fails(422, "EXTERNAL_ID_TAKEN")
		batch := x.Owner.Post("/v1/directory/batch", body{"workspace_id": x.WorkspaceID, "items": []body{{"type": "person", "name": "Eve", "external_id": "PWR"}, {"id": other, "external_id": "PWR"}}}).OK()
		if strings.Count(string(batch.Body), "EXTERNAL_ID_TAKEN") != 2 {
			t.Errorf("the batch answers %s", batch.Body)
		}
		for _, line := range []string{`{"type":"person","name":"Eve","external_id":"PWR"}`, `{"id":"` + other + `","type":"person","external_id":"PWR"}`} {
			match := "external_id"
			if strings.Contains(line, other) {
				match = "id"
			}
			imported := x.Owner.Post("/v1/directory/imports?format=ndjson&match="+match+"&workspace_id="+x.WorkspaceID, line).OK().Text("id")
			n.RunImports(t)
			refused := string(x.Owner.Get("/v1/directory/imports/" + imported + "/refused").Body)
			if done := x.Owner.Get("/v1/directory/imports/" + imported); counts(done) != "completed 0 0 0 1" || !strings.Contains(refused, "this external_id waits for approval as that of another entry") {
				t.Errorf("an import by %s is %s: %s", match, counts(done), refused)
			}
		}
		// The same again is the same approval, and the one before is free only when it is approved.
		if again := change(x.Owner, entry, body{"external_id": "PWR"}).OK().Text("approval_id"); again != id {
			t.Errorf("the same change waits again, as %s", again)
		}
		change(x.Owner, other, body{"external_id": "ADA"}).Fails(422, "EXTERNAL_ID_TAKEN")
		x.Owner.Post("/v1/approvals/"+id+"/withdraw", nil).OK()
		change(x.Owner, other, body{"external_id": "PWR"}).OK()
		change(x.Owner, other, body{"external_id": ""}).OK()
		id = change(x.Owner, entry, body{"external_id": "PWR"}).OK().Text("approval_id")
		second.Approve(id).OK()
		change(x.Owner, other, body{"external_id": "ADA"}).OK()
	})
}

// A change replaces the one that waits, and anyone who asked for that is no second person for this.
func TestAnotherChangeReplacesTheOneThatWaits(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, second, entry := payee(t, n, body{"name": "Ada"})
		third := n.Person(t, x.Member("admin"))
		x.EverybodyCounts()
		first := change(x.Owner, entry, body{"name": "Eve", "external_id": "EVE"}).OK().Text("approval_id")
		next := change(second, entry, body{"name": "Mallory"}).OK().Text("approval_id")
		if state := third.Get("/v1/approvals/" + first).OK().Text("state"); state != "void" {
			t.Errorf("the first is %s", state)
		}
		n.Person(t, x.Owner).Approve(next).Fails(403, "FORBIDDEN")
		third.Approve(next).OK()
		if now := shown(third, entry); now.Label != "Mallory" || now.ExternalID != "" {
			t.Errorf("the entry is %+v", now)
		}
	})
}

// What the second person allows is what was shown: a payee that has changed since is another.
func TestAnIdentityIsApprovedForThePayeeThatWasShown(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, second, entry := payee(t, n, body{"name": "Ada"})
		id := change(x.Owner, entry, body{"name": "Acme Power"}).OK().Text("approval_id")
		a := servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + id))
		if a.Kind != "payee_identity" || a.EntryID != entry || !slices.Contains(a.Fields, api.ApprovalField{Field: "label", Before: "Ada", After: "Acme Power"}) {
			t.Errorf("the approval is %+v", a)
		}
		if i := slices.IndexFunc(a.Fields, func(f api.ApprovalField) bool {
			return f.Field == "receiving_method" && strings.Contains(f.After, "3333")
		}); i < 0 {
			t.Errorf("the approval does not show which account is paid: %+v", a.Fields)
		}
		_, method := add(x.Owner, entry, "999988887777")
		second.Approve(method).OK() // after which another account is paid
		second.Approve(id).Fails(422, "APPROVAL_CHANGED")
		for _, end := range []func(){
			func() { x.Owner.Delete("/v1/directory/" + entry).OK() },
			func() {
				x.Owner.Post("/v1/directory/"+x.Entry("Other")+"/merge", body{"sources": []string{entry}}).OK()
			},
		} {
			x, _, entry = payee(t, n, body{"name": "Ada"})
			id = change(x.Owner, entry, body{"name": "Eve", "external_id": "EVE"}).OK().Text("approval_id")
			end()
			if state := x.Owner.Get("/v1/approvals/" + id).OK().Text("state"); state != "void" {
				t.Errorf("the approval is %s", state)
			}
			x.Owner.Post("/v1/directory", body{"workspace_id": x.WorkspaceID, "type": "person", "fields": body{}, "name": "New", "external_id": "EVE"}).OK()
		}
	})
}

// A method that waits is not approved under another external id than the one that was shown.
func TestAMethodIsApprovedForThePayeeThatWasShown(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, second, paid := payee(t, n, body{"name": "Power Co", "external_id": "PWR"})
		entry := x.Entry("Cleaner")
		_, id := add(x.Owner, entry, "1")
		x.Owner.Delete("/v1/directory/" + paid).OK()
		change(x.Owner, entry, body{"external_id": "PWR"}).OK() // which nothing guards: it cannot be paid
		second.Approve(id).Fails(422, "APPROVAL_CHANGED")
	})
}

// No one lets one payee take over the identity of another by a merge, or by undoing one.
func TestAMergeThatChangesAPayeeWaitsForTheSecondPerson(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		power := newEntry(x, body{"name": "Acme Power", "external_id": "PWR", "fields": body{"email": "ap@acme.example"}})
		x.Owner.AddMethod(power, servertest.Account("3333"))
		tiny := newEntry(x, body{"name": "Tiny", "external_id": "TNY"})
		x.Owner.AddMethod(tiny, servertest.Account("4444"))
		second := n.Person(t, x.Member("admin"))
		take := body{"sources": []string{power}, "fields": body{"name": power, "label": power, "external_id": power, "fields.email": power}}
		merge := x.Owner.Post("/v1/directory/"+tiny+"/merge", take).OK()
		if merge.Text("id") != "" || merge.Text("approval_id") == "" {
			t.Fatalf("the merge answers %s", merge.Body)
		}
		if now := shown(x.Owner, tiny); now.Label != "Tiny" || now.PendingChange == nil || now.PendingChange.Operation != "merge" || shown(x.Owner, power).MergedInto != "" {
			t.Errorf("before the approval the entry is %+v", now)
		}
		a := servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + merge.Text("approval_id")))
		if !slices.Contains(a.Fields, api.ApprovalField{Field: "external_id", Before: "TNY", After: "PWR"}) || a.Summary != "A merge into Tiny" {
			t.Errorf("the approval shows %+v", a)
		}
		change(x.Owner, power, body{"fields": body{"note": "other"}}).OK()
		second.Approve(a.ID).Fails(422, "APPROVAL_CHANGED")
		x.Owner.Post("/v1/approvals/"+a.ID+"/withdraw", nil).OK()
		second.Approve(x.Owner.Post("/v1/directory/"+tiny+"/merge", take).OK().Text("approval_id")).OK()
		if now := shown(x.Owner, tiny); now.Label != "Acme Power" || now.ExternalID != "PWR" || now.PendingChange != nil || shown(x.Owner, power).MergedInto != tiny {
			t.Errorf("after the approval the entry is %+v", now)
		}
		expect(t, "paid", paid(x.Owner, tiny), "4444*")
		merged := x.Owner.Get("/v1/directory/merges?workspace_id=" + x.WorkspaceID).OK().Column("id")[0]
		undone := x.Owner.Post("/v1/directory/merges/"+merged+"/undo", nil).OK()
		if now := shown(x.Owner, tiny); now.Label != "Acme Power" || now.PendingChange == nil || now.PendingChange.Operation != "undo_merge" || shown(x.Owner, power).MergedInto != tiny {
			t.Errorf("before the undo is approved, the entry is %+v", now)
		}
		second.Approve(undone.Text("approval_id")).OK()
		if now := shown(x.Owner, tiny); now.Label != "Tiny" || now.ExternalID != "TNY" || shown(x.Owner, power).ExternalID != "PWR" {
			t.Errorf("after the undo the entry is %+v", now)
		}
		expect(t, "paid", paid(x.Owner, tiny)+" "+paid(x.Owner, power), "4444* ")
		for _, id := range []string{tiny, power} {
			if seen := n.Audited(t, id); !slices.Contains(seen, "directory.entry.unmerged") && !slices.Contains(seen, "directory.entry.identity_approved") {
				t.Errorf("the log of %s has %v", id, seen)
			}
		}
	})
}

// A merge that waits ends with its target. Without one of its sources it cannot be approved.
func TestAMergeIsNotApprovedWithoutItsEntries(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, second, tiny := payee(t, n, body{"name": "Tiny"})
		power := newEntry(x, body{"name": "Acme Power", "external_id": "PWR"})
		merge := func() string {
			return x.Owner.Post("/v1/directory/"+tiny+"/merge", body{"sources": []string{power}, "fields": body{"name": power}}).OK().Text("approval_id")
		}
		id := merge()
		x.Owner.Delete("/v1/directory/" + power).OK()
		second.Approve(id).Fails(422, "APPROVAL_CHANGED")
		if now := shown(x.Owner, tiny); now.Label != "Tiny" || now.PendingChange == nil {
			t.Errorf("the entry is %+v", now)
		}
		x.Owner.Post("/v1/directory/"+power+"/restore", nil).Fails(422, "EXTERNAL_ID_TAKEN") // which the merge holds for its target
		x.Owner.Post("/v1/approvals/"+id+"/withdraw", nil).OK()
		x.Owner.Post("/v1/directory/"+power+"/restore", nil).OK()
		id = merge()
		x.Owner.Delete("/v1/directory/" + tiny).OK()
		if state := x.Owner.Get("/v1/approvals/" + id).OK().Text("state"); state != "void" {
			t.Errorf("the approval is %s", state)
		}
	})
}

// An external id that a source would get back belongs to another entry by the time of the approval.
func TestTheUndoOfAMergeIsNotApprovedOnceAnotherEntryHasTheExternalID(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		power := newEntry(x, body{"name": "Acme Power", "external_id": "PWR"})
		tiny := newEntry(x, body{"name": "Tiny", "external_id": "TNY"})
		x.Owner.AddMethod(tiny, servertest.Account("4444"))
		merge := x.Owner.Post("/v1/directory/"+tiny+"/merge", body{"sources": []string{power}, "fields": body{"name": power, "label": power}}).OK()
		second := n.Person(t, x.Member("admin"))
		undone := x.Owner.Post("/v1/directory/merges/"+merge.Text("id")+"/undo", nil).OK().Text("approval_id")
		other := newEntry(x, body{"name": "Other", "external_id": "PWR"})
		second.Approve(undone).Fails(422, "APPROVAL_CHANGED")
		change(x.Owner, other, body{"external_id": ""}).OK()
		second.Approve(undone).OK()
	})
}

// What was decided is told, and what was rejected or has expired leaves the entry as it is.
func TestAnIdentityThatIsNotApprovedIsForgotten(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, second, entry := payee(t, n, body{"name": "Ada"})
		for state, end := range map[string]func(id string){
			"rejected":  func(id string) { second.Post("/v1/approvals/"+id+"/reject", body{"reason": "no"}).OK() },
			"withdrawn": func(id string) { x.Owner.Post("/v1/approvals/"+id+"/withdraw", nil).OK() },
			"expired": func(string) {
				n.Clock.Advance(31 * 24 * time.Hour)
				again(t, x.Owner)
				*second = *n.Person(t, second.Again(t))
				if err := n.Server.Tidy(t.Context()); err != nil {
					t.Fatal(err)
				}
			},
		} {
			id := change(x.Owner, entry, body{"name": "Eve", "external_id": "EVE"}).OK().Text("approval_id")
			end(id)
			if now := shown(x.Owner, entry); now.Label != "Ada" || now.PendingChange != nil || x.Owner.Get("/v1/approvals/"+id).OK().Text("state") != state {
				t.Errorf("after it was %s the entry is %+v", state, now)
			}
			change(x.Owner, x.Entry("Other"), body{"external_id": "EVE" + state}).OK()
			if seen := n.Audited(t, entry); seen[len(seen)-1] != "directory.entry.identity_"+state && !slices.Contains(seen, "directory.entry.identity_"+state) {
				t.Errorf("the log has %v", seen)
			}
		}
	})
}

// What one field was 30 days ago is not hidden by many later changes, whatever it is called.
func TestTheApproverSeesEachFieldThatChanged(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		entry := newEntry(x, body{"name": "Ada", "external_id": "ADA", "fields": body{"tel": "0917 123 4567", "reach": "ada@example.com", "note": "1"}})
		maker := x.Member("directory_manager")
		maker.Patch("/v1/directory/"+entry, body{"fields": body{"tel": "0917 765 4321", "reach": "eve@example.com"}, "label": "Ada L", "external_id": "EVE"}).OK()
		for i := range 60 {
			maker.Patch("/v1/directory/"+entry, body{"fields": body{"note": fmt.Sprint(i)}}).OK()
		}
		second := n.Person(t, x.Member("admin"))
		x.Owner.Post(x.Path("/roles"), body{"user_id": maker.UserID, "role": "auditor"}).OK()
		_, id := add(maker, entry, "1")
		a := servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + id))
		got := map[string]string{}
		for _, f := range a.ChangedFields {
			got[f.Field] = f.Before + " > " + f.After
		}
		for field, want := range map[string]string{"label": "Ada > Ada L", "external_id": "ADA > EVE", "fields.tel": "0917 123 4567 > 0917 765 4321",
			"fields.reach": "ada@example.com > eve@example.com", "fields.note": "1 > 59"} {
			if got[field] != want {
				t.Errorf("%s changed by %q, want %q", field, got[field], want)
			}
		}
		if first := a.ChangedFields[0].Field; first != "external_id" {
			t.Errorf("the first field is %s", first)
		}
		earlier := map[string]string{}
		for _, c := range a.Contacts {
			earlier[c.Field] = c.Earlier
		}
		if want := map[string]string{"tel": "0917 123 4567", "reach": "ada@example.com"}; !maps.Equal(earlier, want) {
			t.Errorf("the contacts were %v", earlier)
		}
		if !slices.ContainsFunc(a.RoleChanges, func(c api.ApprovalChange) bool {
			return c.Action == "iam.member.role_assigned" && strings.Contains(c.Description, "auditor")
		}) {
			t.Errorf("the role changes are %+v", a.RoleChanges)
		}
		if proved := a.RequestedBy.EmailProved; proved == nil {
			t.Error("the approval does not say whether the requester's address is verified")
		}
		for proof, want := range map[string]bool{"": false, "*": true} {
			maker.SetEmailProof(t, proof)
			if got := servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + id)).RequestedBy.EmailProved; *got != want {
				t.Errorf("with the proof %q the requester's address is shown as verified: %v", proof, *got)
			}
		}
	})
}

// The approver sees which permissions the requester and the approvers gained and lost, through a role or a change of one, and which of their
// addresses are not verified.
func TestTheApproverSeesWhichPermissionsChanged(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		entry := x.Entry("Ada")
		second := n.Person(t, x.Member("admin"))
		x.Define("clerk", "ws.read", "ws.directory.read", "ws.receiving.read", "ws.tags.write")
		x.Define("payer", "ws.read", "ws.receiving.write")
		maker := x.Member("clerk")
		x.Owner.Post(x.Path("/roles"), body{"user_id": maker.UserID, "role": "payer"}).OK()
		x.Owner.Put(x.Path("/roles/clerk"), body{"name": "Clerk", "permissions": []string{"ws.read", "ws.directory.read", "ws.receiving.read", "ws.directory.write"}}).OK()
		_, method := add(maker, entry, "1")
		text := `{"type":"person","name":"Bob","receiving_methods":[{"provider":"bank","account_name":"Bob","account_id":"22223333"}]}`
		imported := x.Owner.Post("/v1/directory/imports?format=ndjson&workspace_id="+x.WorkspaceID, text).OK().Text("id")
		n.RunImports(t)
		job := second.Get("/v1/directory/imports/" + imported).OK().Text("approval_id")
		for what, id := range map[string]string{"a method": method, "an import": job} {
			var got []string
			for _, row := range servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + id)).RoleChanges {
				for _, c := range row.Changes {
					if c.Field == "permissions" {
						got = append(got, row.Action+" "+string(c.Before)+" "+string(c.After))
					}
				}
			}
			want := []string{"iam.member.role_assigned null \"ws.receiving.write\"", "iam.role.updated \"ws.tags.write\" null", "iam.role.updated null \"ws.directory.write\""}
			if what == "an import" { // where the approver is the new one
				want = []string{"iam.member.added null \"ws.receiving.approve\""}
			}
			for _, one := range want {
				if !slices.Contains(got, one) {
					t.Errorf("%s: the role changes %q do not have %s", what, got, one)
				}
			}
		}
		email := servertest.NewEmail()
		grant := x.Owner.Post(x.Path("/members"), body{"email": email, "role": "admin"}).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")
		fields := servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + grant)).Fields
		if !slices.Contains(fields, api.ApprovalField{Field: "address", Before: "not verified", After: "not verified"}) {
			t.Errorf("the grant shows %+v", fields)
		}
	})
}

// Whatever they approve, such as a payout or a grant, approvers see each role and permission that the requester gained, however many changes
// followed, and whether the requester's address is verified. A person who only reads approvals does not.
func TestEveryApproverSeesEachRoleThatTheRequesterGot(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		second := n.Person(t, x.Member("admin"))
		x.Define("clerk", "ws.read", "ws.payouts.read", "ws.accounts.read")
		maker := x.Member("clerk")
		define := func(color string) {
			x.Owner.Put(x.Path("/roles/clerk"), body{"name": "Clerk", "color": color,
				"permissions": []string{"ws.read", "ws.payouts.read", "ws.accounts.read", "ws.members.read", "ws.members.write"}}).OK()
		}
		define("#000000")
		x.Owner.Post(x.Path("/roles"), body{"user_id": maker.UserID, "role": "disbursement_manager"}).OK()
		for i := range 30 {
			define(fmt.Sprintf("#0000%02d", i+1))
			define(fmt.Sprintf("#00%02d00", i+1))
			x.Owner.Post(x.Path("/roles"), body{"user_id": maker.UserID, "role": "viewer"}).OK()
			x.Owner.Delete(x.Path("/roles/" + maker.UserID + "/viewer")).OK()
		}
		maker.SetEmailProof(t, "")
		payout := maker.Post("/v2/payout-requests", body{"source_account_id": x.Account(100_000), "amount_cents": 1_000, "currency": "PHP",
			"settlement_account": body{"bank_account_name": "Ada", "bank_account_number": "1234567890", "bank_code": "BOPIPHMMXXX"}}).Created().Text("approval_id")
		x.Define("granter", "ws.payouts.approve", "ws.receiving.approve", "ws.receiving.read")
		x.Give(maker, "granter")
		grant := maker.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "disbursement_authorizer"}).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")
		x.Owner.Delete(x.Path("/roles/" + maker.UserID + "/granter")).OK()
		for what, id := range map[string]string{"a payout": payout, "a grant": grant} {
			a := servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + id))
			var got []string
			for _, row := range a.RoleChanges {
				for _, c := range row.Changes {
					if c.Field == "permissions" {
						got = append(got, row.Action+" "+string(c.After))
					}
				}
			}
			for _, want := range []string{`iam.member.role_assigned "ws.payouts.create"`, `iam.role.updated "ws.members.write"`} {
				if !slices.Contains(got, want) {
					t.Errorf("%s: the role changes %q do not have %s", what, got, want)
				}
			}
			if a.RequestedBy.EmailProved == nil || *a.RequestedBy.EmailProved {
				t.Errorf("%s does not show that the requester's address is not verified", what)
			}
			if seen := servertest.Decoded[api.Approval](maker.Get("/v1/approvals/" + id)).RoleChanges; seen != nil {
				t.Errorf("%s shows its requester %+v", what, seen)
			}
		}
	})
}

// A person whose address is not verified approves like any other. The others see it, beside the vote and among the approvers.
func TestAnApproverWithAnUnverifiedAddressIsShownAndNotRefused(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		_, id := x.Unverified()
		second := n.Person(t, x.Owner)
		a := servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + id))
		if len(a.Approvals) != 1 || a.Approvals[0].EmailProved {
			t.Fatalf("the votes are %+v", a.Approvals)
		}
		verified := map[string]bool{}
		for _, one := range servertest.Decoded[api.ReceivingPolicy](second.Get(x.Path("/receiving-policy"))).Approvers {
			verified[one.ID] = one.EmailProved
		}
		if want := map[string]bool{x.Owner.UserID: true, a.Approvals[0].ID: false}; !maps.Equal(verified, want) {
			t.Errorf("the approvers' addresses are verified: %v, want %v", verified, want)
		}
		second.Approve(id).OK()
		if a = servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + id)); a.State != api.ApprovalApproved || len(a.Approvals) != 2 {
			t.Errorf("the approval is %s by %+v", a.State, a.Approvals)
		}
	})
}

// The approver of a role sees that an address is verified only of people whom the organization knows. Otherwise whoever may ask for a grant
// could find out who is a user.
func TestAGrantDoesNotRevealWhetherAnAddressHasAUser(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		second := n.Person(t, x.Member("admin"))
		invited := n.User(t, servertest.NewEmail()).Email()
		x.Add(invited, "viewer")
		for email, want := range map[string]string{
			servertest.NewEmail():      "not verified",
			n.Tenant(t).Owner.Email():  "not verified",
			invited:                    "not verified",
			x.Member("viewer").Email(): "verified",
		} {
			grant := x.Owner.Post(x.Path("/members"), body{"email": email, "role": "admin"}).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")
			fields := servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + grant)).Fields
			if !slices.Contains(fields, api.ApprovalField{Field: "address", Before: want, After: want}) {
				t.Errorf("the grant to an address that is %s shows %+v", want, fields)
			}
		}
	})
}

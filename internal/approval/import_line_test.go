package approval_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

// fileOf is a file with a new payee on each line, whose account is the prefix and the number of the line.
func fileOf(prefix string, lines int) string {
	var file strings.Builder
	file.WriteString(accountHeader)
	for i := range lines {
		fmt.Fprintf(&file, "person,Payee %d,%s%d,bank,Payee %d,%s%05d,\n", i, prefix, i, i, prefix, i)
	}
	return file.String()
}

// entryOf finds an entry by its external id.
func entryOf(c *servertest.Client, external string) string {
	c.T().Helper()
	return c.Get("/v1/directory?external_id=" + external + "&workspace_id=" + c.Node.First.WorkspaceID).OK().Column("id")[0]
}

// imported imports a file and returns the approval that it waits for.
func imported(c *servertest.Client, file string) string {
	c.T().Helper()
	done := c.Import(file, "match", "external_id").OK()
	if done.Text("status") != "completed" {
		c.T().Fatalf("the import is %s", done.Body)
	}
	return done.Text("approval_id")
}

// lines lists the lines of an approval as "line label state flags".
func lines(c *servertest.Client, id, query string) (list []string) {
	c.T().Helper()
	for _, l := range servertest.Decoded[[]api.ApprovalLine](c.Get("/v1/approvals/" + id + "/lines?limit=100" + query)) {
		list = append(list, strings.TrimSpace(fmt.Sprint(l.Line, " ", l.EntryLabel, " ", l.State, " ", strings.Join(l.Flags, "+"))))
	}
	return list
}

func methodCount(t testing.TB, n *servertest.Node, status string) int {
	t.Helper()
	return n.Count(t, `SELECT count(*) FROM receiving_method WHERE status = $1`, status)
}

// tamper changes the store behind the program's back.
func tamper(t testing.TB, n *servertest.Node, sql string, args ...any) {
	t.Helper()
	_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), tx.Exec(sql, args...)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnImportIsOneApproval(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		maker, second := x.Owner, n.Person(t, x.Member("admin"))
		id := imported(maker, fileOf("A", 250))
		expect(t, "what waits", fmt.Sprint(waiting(maker)), fmt.Sprint([]string{id}))
		shown := servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + id))
		if shown.Kind != "import" || !shown.CanApprove || shown.Lines == nil || shown.Lines.Total != 250 || shown.Lines.Pending != 250 || shown.Lines.Flags[api.FlagNewPayee] != 250 {
			t.Errorf("the approval is %+v", shown)
		}
		entry := entryOf(maker, "A7")
		if m := maker.Get(methods(entry)).OK().List()[0]; m["approval_id"] != id || m["status"] != "pending" {
			t.Errorf("a method is %v", m)
		}
		// The lines come in the order of the file, page by page, with numbers in full, and the log has a row of that.
		all := second.Walk("/v1/approvals/"+id+"/lines?limit=100", nil)
		if len(all) != 250 || len(slices.Compact(all)) != 250 {
			t.Errorf("%d lines", len(all))
		}
		first := servertest.Decoded[[]api.ApprovalLine](second.Get("/v1/approvals/" + id + "/lines?limit=1"))[0]
		if first.Line != 2 || first.EntryLabel != "Payee 0" || !slices.Contains(first.Fields, api.ApprovalField{Field: "account_id", After: "A00000"}) {
			t.Errorf("the first line is %+v", first)
		}
		if got := n.Audited(t, shown.SubjectID); !slices.Contains(got, "directory.import.revealed") {
			t.Errorf("the log has %v", got)
		}
		if payable := methodCount(t, n, "active"); payable != 0 {
			t.Errorf("%d are payable before the approval", payable)
		}
		second.Approve(id).OK()
		n.RunDecisions(t)
		if pending, active := methodCount(t, n, "pending"), methodCount(t, n, "active"); pending != 0 || active != 250 {
			t.Errorf("%d are pending and %d approved", pending, active)
		}
		expect(t, "paid while it cools", paid(maker, entry), "")
		n.Clock.Advance(day + time.Second)
		again(t, maker)
		expect(t, "paid", paid(maker, entry), "A00007*")
		if got := n.Audited(t, maker.Get(methods(entry)).OK().Column("id")[0]); !slices.Contains(got, "directory.receiving_method.approved") {
			t.Errorf("the log has %v about a method", got)
		}
		if got := n.Audited(t, shown.SubjectID); !slices.Contains(got, "directory.import.approved") {
			t.Errorf("the log has %v about the import", got)
		}
		// What was approved is not asked for again.
		expect(t, "the same file again", imported(maker, fileOf("A", 250)), "")
	})
}

func TestAnApproverLeavesOutLinesOfAnImport(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		maker, second := x.Owner, n.Person(t, x.Member("admin"))
		id := imported(maker, fileOf("A", 4))
		digest := second.Get("/v1/approvals/" + id).OK().Text("digest")
		approve := func(leaveOut ...int) *servertest.Answer {
			return second.Post("/v1/approvals/"+id+"/approve", body{"digest": digest, "verification": "compared with the contracts", "leave_out": leaveOut})
		}
		approve(99).Invalid("leave_out")
		approve(2, 3, 4, 5).Invalid("leave_out")
		approve(make([]int, api.MaxLeaveOut+1)...).Invalid("leave_out")
		approve(3, 5).OK()
		expect(t, "the lines", fmt.Sprint(lines(second, id, "")),
			"[2 Payee 0 approved new_payee 3 Payee 1 left_out new_payee 4 Payee 2 approved new_payee 5 Payee 3 left_out new_payee]")
		expect(t, "approved", all(maker, entryOf(maker, "A2")), "A00002 active")
		expect(t, "left out", all(maker, entryOf(maker, "A1")), "A00001 rejected")
		if counts := servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + id)).Lines; counts.Approved != 2 || counts.LeftOut != 2 {
			t.Errorf("the counts are %+v", counts)
		}
		// A line that was left out can be asked for again.
		if next := imported(maker, fileOf("A", 4)); next == "" || next == id {
			t.Errorf("the file asks again with %q", next)
		}
		_, single := add(maker, x.Entry("Ada"), "1")
		second.Post("/v1/approvals/"+single+"/approve", body{"digest": "d", "verification": "v", "leave_out": []int{1}}).Invalid("leave_out")
		second.Get("/v1/approvals/"+single+"/lines").Fails(404, "RESOURCE_NOT_FOUND")
	})
}

// A payee that is changed while a file waits falls out of its approval, which the approver has to look at again.
func TestALineFallsOutWhenItsPayeeChanges(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		maker, second := x.Owner, n.Person(t, x.Member("admin"))
		for name, change := range map[string]func(entry, method string){
			"renamed":                        func(entry, _ string) { maker.Patch("/v1/directory/"+entry, body{"label": "Mallory"}).OK() },
			"deleted":                        func(entry, _ string) { maker.Delete("/v1/directory/" + entry).OK() },
			"with its method removed":        func(entry, method string) { maker.Delete(methods(entry) + "/" + method).OK() },
			"with its method changed":        func(entry, method string) { maker.Patch(methods(entry)+"/"+method, body{"account_id": "MALLORY"}).OK() },
			"with its method asked for anew": func(entry, method string) { maker.Patch(methods(entry)+"/"+method, body{"is_default": true}).OK() },
			"merged into another": func(entry, _ string) {
				maker.Post("/v1/directory/"+x.Entry("Target")+"/merge", body{"sources": []string{entry}}).OK()
			},
		} {
			t.Run(name, func(t *testing.T) {
				prefix := strings.ToUpper(strings.ReplaceAll(name, " ", ""))
				id := imported(maker, fileOf(prefix, 3))
				digest := second.Get("/v1/approvals/" + id).OK().Text("digest")
				entry := entryOf(maker, prefix+"1")
				method := maker.Get(methods(entry)).OK().Column("id")[0]
				change(entry, method)
				second.Post("/v1/approvals/"+id+"/approve", body{"digest": digest, "verification": "called"}).Fails(422, "APPROVAL_CHANGED")
				if counts := servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + id)).Lines; counts.Pending != 2 || counts.Void != 1 || counts.Flags[api.FlagNewPayee] != 2 {
					t.Errorf("the counts are %+v", counts)
				}
				second.Approve(id).OK()
				expect(t, "the others", all(maker, entryOf(maker, prefix+"0")), prefix+"00000 active")
				if active := n.Count(t, `SELECT count(*) FROM receiving_method WHERE id = $1 AND status = 'active'`, method); active != 0 {
					t.Error("what has fallen out was approved")
				}
			})
		}
		t.Run("all of them", func(t *testing.T) {
			id := imported(maker, fileOf("ALL", 1))
			maker.Delete("/v1/directory/" + entryOf(maker, "ALL0")).OK()
			expect(t, "the approval", second.Get("/v1/approvals/"+id).OK().Text("state"), "void")
		})
	})
}

func TestLinesAreFlagged(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		maker := x.Owner
		known := maker.Entry(body{"name": "Known", "external_id": "K"})
		maker.AddMethod(known, servertest.Account("KNOWN-1", body{"account_name": "Known"}))
		second := n.Person(t, x.Member("admin")) // from now on it takes two
		id := imported(maker, accountHeader+
			"person,Ada Lovelace,E-1,bank,\"LOVELACE, Áda\",NEW-1,\n"+ // a name that differs in order, case and accents alone
			"person,Bob,E-2,bank,Mallory,NEW-2,\n"+
			"person,Carol,E-3,bank,Carol,known 1,\n"+ // the account of another payee
			"person,Dan,E-4,bank,Dan,NEW-1,\n"+ // of another line, written otherwise or not
			"person,Known,K,bank,Known,NEW-5,\n")
		expect(t, "the lines", strings.Join(lines(second, id, ""), "; "), strings.Join([]string{
			"2 Ada Lovelace pending shared_account+new_payee",
			"3 Bob pending name_differs+new_payee",
			"4 Carol pending shared_account+new_payee",
			"5 Dan pending shared_account+new_payee",
			"6 Known pending changed",
		}, "; "))
		flags := servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + id)).Lines.Flags
		expect(t, "the counts", fmt.Sprint(flags), "map[changed:1 name_differs:1 new_payee:4 shared_account:3]")
		expect(t, "one flag", strings.Join(lines(second, id, "&flag=changed"), "; "), "6 Known pending changed")
		if got := lines(second, id, "&flag=shared_account"); len(got) != 3 {
			t.Errorf("shared: %v", got)
		}
		second.Get("/v1/approvals/" + id + "/lines?flag=odd").Invalid("flag")
	})
}

// What is left to do after a decision is done by any node, also if the one that began has died.
func TestADecisionAboutAnImportIsCarriedOutByAnotherNode(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		maker, second := x.Owner, n.Person(t, x.Member("admin"))
		id := imported(maker, fileOf("A", 230))
		shown := second.Get("/v1/approvals/" + id).OK()
		second.Post("/v1/approvals/"+id+"/approve", body{"digest": shown.Text("digest"), "verification": "called", "leave_out": []int{2, 231}}).OK()
		tamper(t, n, `UPDATE directory_import_decision SET claim = 'dead', lease_until = $1`, n.DB.Now()+5000)
		done := methodCount(t, n, "active")
		if worked, err := n.Worker().DecisionTurn(t.Context()); worked || err != nil || done == 0 || done == 228 {
			t.Fatalf("a node takes the lease of another: %v, %v, with %d done", worked, err, done)
		}
		// What is changed meanwhile falls out.
		maker.Patch("/v1/directory/"+entryOf(maker, "A220"), body{"label": "Mallory"}).OK()
		n.Clock.Advance(6 * time.Second)
		n.RunDecisions(t)
		if active, rejected := methodCount(t, n, "active"), methodCount(t, n, "rejected"); active != 227 || rejected != 3 {
			t.Errorf("%d are approved and %d rejected", active, rejected)
		}
		counts := servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + id)).Lines
		if counts.Approved != 227 || counts.LeftOut != 2 || counts.Void != 1 || counts.Pending != 0 {
			t.Errorf("the counts are %+v", counts)
		}
		if left := n.Count(t, `SELECT count(*) FROM directory_import_decision`); left != 0 {
			t.Errorf("%d decisions are left", left)
		}
	})
}

func TestAnImportThatIsNotApprovedEndsAllOfItsMethods(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		maker, second := x.Owner, n.Person(t, x.Member("admin"))
		for want, decide := range map[string]func(id string){
			"rejected":  func(id string) { second.Post("/v1/approvals/"+id+"/reject", body{"reason": "unknown"}).OK() },
			"withdrawn": func(id string) { maker.Post("/v1/approvals/"+id+"/withdraw", nil).OK() },
			"expired": func(string) {
				n.Clock.Advance(30*day + time.Second)
				if err := n.Server.Tidy(t.Context()); err != nil {
					t.Fatal(err)
				}
				again(t, maker)
				second.Token = n.Person(t, second.Again(t)).Token
			},
		} {
			id := imported(maker, fileOf(want, 130))
			decide(id)
			n.RunDecisions(t)
			expect(t, "the approval", second.Get("/v1/approvals/"+id).OK().Text("state"), want)
			expect(t, "a line", lines(second, id, "")[99], "101 Payee 99 "+want+" new_payee")
			expect(t, "a method", all(maker, entryOf(maker, want+"129")), want+"00129 rejected")
		}
		if active := methodCount(t, n, "active"); active != 0 {
			t.Errorf("%d are approved", active)
		}
	})
}

// Anyone who had a part in a file approves none of it, and of those who approve at the same moment one does.
func TestWhoApprovesAnImport(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		maker, other := x.Owner, x.Member("admin")
		second, third := n.Person(t, other), n.Person(t, x.Member("admin"))
		x.EverybodyCounts()
		id := imported(maker, fileOf("A", 120))
		n.Person(t, maker).Approve(id).Fails(403, "FORBIDDEN")
		digest := second.Get("/v1/approvals/" + id).OK().Text("digest")
		voters := []*servertest.Client{second, third, second}
		statuses := servertest.SideBySide(len(voters), func(i int) error {
			answer := voters[i].Do(http.MethodPost, "/v1/approvals/"+id+"/approve", body{"digest": digest, "verification": "called"})
			if answer.Status != 200 {
				return fmt.Errorf("%d", answer.Status)
			}
			return nil
		})
		approved := 0
		for _, err := range statuses {
			if err == nil {
				approved++
			}
		}
		n.RunDecisions(t)
		if active := methodCount(t, n, "active"); approved != 1 || active != 120 {
			t.Errorf("%d approve at once, and %d methods are approved: %v", approved, active, statuses)
		}
		// Who asked for a number in a file does not approve it because a colleague has changed the rest.
		next := imported(other, fileOf("B", 1))
		entry := entryOf(maker, "B0")
		changed := maker.Patch(methods(entry)+"/"+maker.Get(methods(entry)).OK().Column("id")[0], body{"account_name": "Other"}).OK()
		second.Approve(changed.Text("approval_id")).Fails(403, "FORBIDDEN")
		third.Approve(changed.Text("approval_id")).OK()
		expect(t, "the file", third.Get("/v1/approvals/"+next).OK().Text("state"), "void")
	})
}

// The methods of one payee in one file become what the file said, also where nothing cools.
func TestSeveralAccountsOfAPayeeAreApprovedTogether(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		maker := x.Owner
		second := n.Person(t, x.Member("admin"))
		x.EverybodyCounts()
		second.Approve(maker.Patch(x.Path("/receiving-policy"), body{"receiving_cooling_hours": 0}).OK().Text("approval_id")).OK()
		id := imported(maker, `{"type":"person","name":"Ada","external_id":"E","receiving_methods":[`+
			`{"provider":"bank","account_name":"Ada","account_id":"1"},{"provider":"bank","account_name":"Ada","account_id":"2","is_default":true}]}`)
		expect(t, "the lines", strings.Join(lines(second, id, ""), "; "), "1 Ada pending new_payee; 1 Ada pending new_payee")
		second.Approve(id).OK()
		expect(t, "paid", paid(maker, entryOf(maker, "E")), "1 2*")
	})
}

// Lines that someone has changed or added in the store are not approved.
func TestLinesThatWereChangedInTheStoreAreNotApproved(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		maker, second := x.Owner, n.Person(t, x.Member("admin"))
		id := imported(maker, fileOf("A", 3))
		tamper(t, n, `UPDATE directory_import_line SET subject_id = $1 WHERE line = 3`, "rm_other")
		second.Approve(id).Fails(422, "APPROVAL_CHANGED")
		if active := methodCount(t, n, "active"); active != 0 {
			t.Errorf("%d are approved", active)
		}
	})
}

func TestNumbersOfLinesAreSealed(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		x.Member("admin")
		imported(x.Owner, fileOf("PLANTED", 2))
		if dump := n.Dump(t, "directory_import_line", "approval", "directory_import_decision"); strings.Contains(dump, "PLANTED00001") {
			t.Error("an account number is in the store in the clear")
		}
	})
}

// Bringing back what a bulk has deleted asks for one approval, of all methods of all entries.
func TestABulkIsOneApproval(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		maker := x.Owner
		var ids []string
		for i := range 3 {
			id := x.Entry(fmt.Sprint("Payee ", i))
			maker.AddMethod(id, servertest.Account(fmt.Sprint("BULK-", i)))
			ids = append(ids, id)
		}
		second := n.Person(t, x.Member("admin"))
		gone := maker.Post("/v1/directory/bulk", body{"workspace_id": x.WorkspaceID, "action": "delete", "ids": ids}).OK()
		back := maker.Post("/v1/directory/bulk/"+gone.Text("id")+"/undo", nil).OK()
		id := back.Text("approval_id")
		expect(t, "what waits", fmt.Sprint(waiting(maker)), fmt.Sprint([]string{id}))
		expect(t, "the bulk", maker.Get("/v1/directory/bulk/"+back.Text("id")).OK().Text("approval_id"), id)
		expect(t, "paid before", paid(maker, ids[0]), "")
		shown := servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + id))
		if shown.Kind != "bulk" || shown.Lines.Pending != 3 {
			t.Errorf("the approval is %+v", shown)
		}
		second.Approve(id).OK()
		n.Clock.Advance(day + time.Second)
		again(t, maker)
		for i, entry := range ids {
			expect(t, "paid", paid(maker, entry), fmt.Sprint("BULK-", i, "*"))
		}
	})
}

// What payees are known by changes with the accounts of the same file, in one approval.
func TestAFileThatRenamesPayeesIsOneApproval(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		maker := x.Owner
		var ids []string
		for i := range 3 {
			id := maker.Entry(body{"name": fmt.Sprint("Payee ", i), "external_id": fmt.Sprint("E-", i)})
			maker.AddMethod(id, servertest.Account(fmt.Sprint("OLD-", i), body{"account_name": fmt.Sprint("Payee ", i)}))
			ids = append(ids, id)
		}
		second := n.Person(t, x.Member("admin")) // from now on it takes two
		id := imported(maker, accountHeader+"person,Mallory,E-0,bank,Mallory,NEW-0,\nperson,Trent,E-1,,,,\nperson,Payee 2,E-2,bank,Payee 2,NEW-2,\n")
		expect(t, "what waits", fmt.Sprint(waiting(maker)), fmt.Sprint([]string{id}))
		expect(t, "the lines", strings.Join(lines(second, id, ""), "; "), strings.Join([]string{
			"2 Payee 0 pending changed+name_differs", "2 Payee 0 pending changed+name_differs", "3 Payee 1 pending changed+name_differs", "4 Payee 2 pending changed",
		}, "; "))
		label := func(id string) string { return maker.Get("/v1/directory/" + id).OK().Text("label") }
		expect(t, "the label before", label(ids[0]), "Payee 0")
		if held := maker.Get("/v1/directory/" + ids[0]).OK().Object()["pending_change"].(map[string]any); held["approval_id"] != id || held["name"] != "Mallory" {
			t.Errorf("what waits is %v", held)
		}
		digest := second.Get("/v1/approvals/" + id).OK().Text("digest")
		maker.Patch("/v1/directory/"+ids[1], body{"name": "Trudy"}).OK() // takes the place of the line
		second.Post("/v1/approvals/"+id+"/approve", body{"digest": digest, "verification": "called"}).Fails(422, "APPROVAL_CHANGED")
		second.Approve(id).OK()
		expect(t, "the label", label(ids[0]), "Mallory")
		expect(t, "what was changed again", label(ids[1]), "Payee 1")
		expect(t, "the accounts", all(maker, ids[0]), "OLD-0 active, NEW-0 active")
		expect(t, "the lines after", strings.Join(lines(second, id, ""), "; "), strings.Join([]string{
			"2 Payee 0 approved changed+name_differs", "2 Payee 0 approved changed+name_differs", "3 Payee 1 void changed+name_differs", "4 Payee 2 approved changed",
		}, "; "))
		if got := n.Audited(t, ids[0]); !slices.Contains(got, "directory.entry.identity_approved") {
			t.Errorf("the log has %v", got)
		}
	})
}

func TestABulkThatActivatesPayeesIsOneApproval(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		maker := x.Owner
		var ids []string
		for i := range 3 {
			id := x.Entry(fmt.Sprint("Payee ", i))
			maker.AddMethod(id, servertest.Account(fmt.Sprint("BULK-", i)))
			maker.Patch("/v1/directory/"+id, body{"status": "inactive"}).OK()
			ids = append(ids, id)
		}
		second := n.Person(t, x.Member("admin"))
		activate := func() *servertest.Answer {
			return maker.Post("/v1/directory/bulk", body{"workspace_id": x.WorkspaceID, "action": "activate", "ids": ids}).OK()
		}
		id := activate().Text("approval_id")
		expect(t, "what waits", fmt.Sprint(waiting(maker)), fmt.Sprint([]string{id}))
		expect(t, "asked again", activate().Text("approval_id"), "") // the same waits already
		status := func(id string) string { return maker.Get("/v1/directory/" + id).OK().Text("status") }
		expect(t, "before", status(ids[0]), "inactive")
		second.Approve(id).OK()
		for _, id := range ids {
			expect(t, "after", status(id), "active")
		}
	})
}

// The file that brings a new account may bring a new phone number with it: the earlier one is to be called.
func TestTheApproverOfAFileSeesHowToReachEachPayee(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		maker, second := x.Owner, n.Person(t, x.Member("admin"))
		maker.Entry(body{"name": "Ada", "external_id": "E-1", "fields": body{"phone": "+44 1", "note": "known"}})
		n.Clock.Advance(31 * day)
		again(t, maker)
		second = n.Person(t, second.Again(t))
		id := imported(maker, "type,name,external_id,fields.phone,method.provider,method.account_name,method.account_id\n"+
			"person,Ada,E-1,+44 2,bank,Ada,10001\nperson,Bob,E-2,+44 3,bank,Bob,10002\nperson,Eve,E-3,,bank,Eve,10003\n")
		var got []string
		for _, l := range servertest.Decoded[[]api.ApprovalLine](second.Get("/v1/approvals/" + id + "/lines")) {
			got = append(got, fmt.Sprint(l.EntryLabel, l.Contacts))
		}
		expect(t, "contacts", strings.Join(got, " "), "Ada[{phone +44 2 +44 1}] Bob[{phone +44 3 }] Eve[]")
	})
}

// A payee without an account can be renamed at once, and then get one by a file. What it was called before is not hidden by later changes.
func TestTheApproverOfAFileSeesWhatChangedAboutEachPayee(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		maker, second := x.Owner, n.Person(t, x.Member("admin"))
		entry := maker.Entry(body{"name": "Cleaner", "external_id": "CLN", "fields": body{"note": "1"}})
		change(maker, entry, body{"name": "Power Co", "external_id": "PWR"}).OK()
		for i := range 60 {
			change(maker, entry, body{"fields": body{"note": fmt.Sprint(i)}}).OK()
		}
		id := imported(maker, accountHeader+"person,Power Co,PWR,bank,Power Co,10001,\nperson,Bob,BOB,bank,Bob,10002,\n")
		var got []string
		for _, l := range servertest.Decoded[[]api.ApprovalLine](second.Get("/v1/approvals/" + id + "/lines")) {
			for _, f := range l.ChangedFields {
				got = append(got, fmt.Sprint(l.EntryLabel, " ", f.Field, ": ", f.Before, " > ", f.After))
			}
		}
		expect(t, "changes", strings.Join(got, "; "), "Power Co external_id: CLN > PWR; Power Co label: Cleaner > Power Co; "+
			"Power Co name: Cleaner > Power Co; Power Co fields.note: 1 > 59")
	})
}

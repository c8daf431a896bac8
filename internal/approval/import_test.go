package approval_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/server/servertest"
)

const accountHeader = "type,name,external_id,method.provider,method.account_name,method.account_id,method.institution_code\n"

// counts tells how an import has ended, as "created updated unchanged refused".
func counts(done *servertest.Answer) string {
	var i api.Import
	done.OK().Data(&i)
	return fmt.Sprint(i.Status, " ", i.Created, " ", i.Updated, " ", i.Unchanged, " ", i.Refused)
}

func waiting(c *servertest.Client) []string {
	return c.Get("/v1/approvals?state=pending&limit=100&workspace_id=" + c.Node.First.WorkspaceID).OK().Column("id")
}

func export(c *servertest.Client) string {
	c.T().Helper()
	return string(c.Get("/v1/directory/export?format=ndjson&workspace_id=" + c.Node.First.WorkspaceID).Body)
}

func TestImportedAccountsWaitForTheSecondPerson(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		maker, second := x.Owner, n.Person(t, x.Member("admin"))
		old := maker.Entry(body{"name": "Bob", "external_id": "E-2"})
		file := accountHeader + "person,Ada,E-1,bank,Ada,ACCOUNT-A,GXCHPHM2XXX\nperson,Bob,E-2,bank,Bob,ACCOUNT-B,\n"
		for _, dry := range []string{"true", "false"} { // a rehearsal tells what happens then, and does nothing
			if n := len(waiting(maker)); n != 0 {
				t.Fatalf("%d approvals wait before the import", n)
			}
			expect(t, "import with dry_run="+dry, counts(maker.Import(file, "match", "external_id", "dry_run", dry)), "completed 1 1 0 0")
		}
		added := maker.Get("/v1/directory?external_id=E-1&workspace_id=" + x.WorkspaceID).OK().Column("id")[0]
		for entry, number := range map[string]string{added: "ACCOUNT-A", old: "ACCOUNT-B"} {
			expect(t, "paid", paid(maker, entry), "")
			expect(t, "all", all(maker, entry), number+" pending")
		}
		asked := waiting(maker)
		if len(asked) != 1 || strings.Contains(export(maker), "ACCOUNT") {
			t.Fatalf("%v wait, and the export is %s", asked, export(maker))
		}
		// What waits is not asked for a second time, whatever a line is matched by.
		for _, match := range []string{"external_id", "account"} {
			for _, dry := range []string{"true", "false"} {
				expect(t, "again by "+match, counts(maker.Import(file, "match", match, "dry_run", dry)), "completed 0 0 2 0")
			}
		}
		expect(t, "what waits", fmt.Sprint(waiting(maker)), fmt.Sprint(asked))
		// A line changes no account that waits either.
		other := strings.Replace(file, "GXCHPHM2XXX", "PAPHPHM1XXX", 1)
		for _, dry := range []string{"true", "false"} {
			expect(t, "another institution", counts(maker.Import(other, "match", "account", "dry_run", dry)), "completed 0 0 1 1")
		}
		// Anyone who owns the key that imported is no second person.
		n.Person(t, maker).Approve(asked[0]).Fails(403, "FORBIDDEN")
		for _, id := range asked {
			second.Approve(id).OK()
		}
		expect(t, "paid while it cools", paid(maker, added), "")
		if strings.Contains(export(maker), "ACCOUNT") {
			t.Error("what cools is exported")
		}
		n.Clock.Advance(day + time.Second)
		again(t, maker)
		expect(t, "paid", paid(maker, added), "ACCOUNT-A*")
		text := export(maker)
		if !strings.Contains(text, "ACCOUNT-B") || !strings.Contains(text, `"institution_code":"GXCHPHM2XXX"`) {
			t.Errorf("the export lacks what can be paid: %s", text)
		}
		expect(t, "what was exported", counts(maker.Import(text, "match", "id")), "completed 0 0 2 0")
	})
}

// An account that an entry is no longer paid by makes no line an update of it.
func TestALineIsMatchedByLiveAccountsOnly(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		maker := x.Owner
		line := func(name, number string) string {
			return accountHeader + "person," + name + ",,bank,Ada," + number + ",\n"
		}
		// Alone, what is changed is paid at once, and the old number is retired at once.
		entry := x.Entry("Ada")
		method := maker.AddMethod(entry, servertest.Account("RETIRED-1"))
		maker.Patch(methods(entry)+"/"+method, body{"account_id": "NOW-1"}).OK()
		expect(t, "the new number", counts(maker.Import(line("Ada", "NOW-1"), "match", "account")), "completed 0 0 1 0")
		expect(t, "the retired number", counts(maker.Import(line("Somebody", "RETIRED-1"), "match", "account")), "completed 1 0 0 0")
		// With two, it is retired when the successor has cooled.
		second := n.Person(t, x.Member("admin"))
		next := maker.Patch(methods(entry)+"/"+method, body{"account_id": "NOW-2"}).OK()
		expect(t, "the old number", counts(maker.Import(line("Ada", "NOW-1"), "match", "account")), "completed 0 0 1 0")
		expect(t, "the pending number", counts(maker.Import(line("Ada", "NOW-2"), "match", "account")), "completed 0 0 1 0")
		second.Approve(next.Text("approval_id")).OK()
		n.Clock.Advance(day + time.Second)
		again(t, maker)
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(t, "the number that has cooled", counts(maker.Import(line("Ada", "NOW-2"), "match", "account")), "completed 0 0 1 0")
		expect(t, "the number before", counts(maker.Import(line("Somebody else", "NOW-1"), "match", "account")), "completed 1 0 0 0")
		_, rejected := add(maker, entry, "REJECTED")
		n.Person(t, second.Again(t)).Post("/v1/approvals/"+rejected+"/reject", body{"reason": "unknown"}).OK()
		expect(t, "a rejected number", counts(maker.Import(line("A third", "REJECTED"), "match", "account")), "completed 1 0 0 0")
	})
}

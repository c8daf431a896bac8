package transfer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bursar/internal/server/servertest"
)

func importPath(a *servertest.Answer, more string) string {
	return "/v1/directory/imports/" + a.Text("id") + more
}

func TestAFileIsImported(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		done := c.Import("type,name,email,tags,status,external_id,method.provider,method.account_name,method.account_id\n"+
			"person,Ada,ada@example.com,vip|math,inactive,E-1,bank,Ada,DE00 1234\n"+
			"person,Bob,nobody,,,,,,\n"+
			"organization,Engines,,math,,E-2,,,\n"+
			"organization,Twice,,,,E-2,,,\n", "format", "csv")
		if got := servertest.Counts(done); got != "completed 2 0 0 2" {
			t.Fatalf("the import is %s", done.Body)
		}
		ada := c.Get("/v1/directory/" + c.Entries("external_id", "E-1").OK().Column("id")[0]).OK().Object()
		if got := fmt.Sprint(ada["name"], ada["status"], ada["tags"], ada["external_id"], len(ada["receiving_methods"].([]any))); got != "Adainactive[math vip]E-11" {
			t.Errorf("the entry is %v", ada)
		}
		refused := string(c.Get(importPath(done, "/refused")).Body)
		for _, part := range []string{"refused.line,refused.reason\n", ",3,fields.email must be an email address\n", ",5,another entry of the workspace has this external_id\n"} {
			if !strings.Contains(refused, part) {
				t.Errorf("%q is not in the refused lines:\n%s", part, refused)
			}
		}
		if got := n.Audited(t, ada["id"].(string)); !slices.Equal(got, []string{"directory.entry.created", "directory.receiving_method.revealed"}) {
			t.Errorf("the log tells %v of the entry", got)
		}
		if got := n.Audited(t, done.Text("id")); !slices.Equal(got, []string{"directory.import.started", "directory.import.completed", "directory.import.downloaded"}) {
			t.Errorf("the log tells %v of the import", got)
		}
	})
}

func TestWhatIsExportedIsUnchangedWhenImported(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		var lines strings.Builder
		for i := range 230 {
			fmt.Fprintf(&lines, `{"type":"person","name":"Person %d","external_id":"E-%d","fields":{"email":"p%d@example.com","n":%d,"note":"=1"},"tags":["all","t|%d"],`+
				`"receiving_methods":[{"provider":"bank","account_name":"P","account_id":"%08d"}]}`+"\n", i, i, i, i, i%3, i)
		}
		if got := servertest.Counts(c.Import(lines.String())); got != "completed 230 0 0 0" {
			t.Fatalf("the import is %s", got)
		}
		path := "/v1/directory/export?workspace_id=" + n.First.WorkspaceID
		for _, format := range []string{"csv", "ndjson"} {
			file := string(c.Get(path + "&format=" + format).Body)
			if !strings.Contains(file, "00000229") || strings.Count(file, "\n") < 230 {
				t.Errorf("the export as %s is\n%.500s", format, file)
			}
			for _, match := range []string{"id", "external_id", "email", "account"} {
				if got := servertest.Counts(c.Import(file, "match", match)); got != "completed 0 0 230 0" {
					t.Errorf("the %s matched by %s is %s", format, match, got)
				}
			}
			if got := servertest.Counts(c.Import(file, "match", "email", "on_match", "refuse")); got != "completed 0 0 0 230" {
				t.Errorf("with on_match=refuse: %s", got)
			}
			if got := servertest.Counts(c.Import(strings.ReplaceAll(file, "Person", "Somebody"), "match", "email", "on_match", "skip")); got != "completed 0 0 230 0" {
				t.Errorf("with on_match=skip: %s", got)
			}
			if got := servertest.Counts(c.Import(strings.ReplaceAll(file, "Person", "Human "+format), "match", "external_id", "dry_run", "true")); got != "completed 0 230 0 0" {
				t.Errorf("a rehearsal: %s", got)
			}
		}
		viewer := n.Member(t, "viewer@example.com", "viewer")
		if file := string(viewer.Get(path + "&format=ndjson&q=person").Body); strings.Contains(file, "receiving_methods") || !strings.Contains(file, "Person 17") {
			t.Errorf("a viewer exports %.300s", file)
		}
	})
}

func TestAnImportGoesOnWhereItWasAndEndsWithItsAccess(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		member := n.Member(t, "member@example.com", "member")
		query := "/v1/directory/imports?default_type=person&workspace_id=" + n.First.WorkspaceID
		id := member.Do("POST", query, "name\n"+strings.Repeat("Ada\n", 10), "Content-Type", "text/csv", "Idempotency-Key", "once").OK().Text("id")
		if again := member.Do("POST", query, "name\n"+strings.Repeat("Ada\n", 10), "Content-Type", "text/csv", "Idempotency-Key", "once").OK().Text("id"); again != id {
			t.Errorf("the same file made another import, %s", again)
		}
		member.Do("POST", query, "name\nBob\n", "Content-Type", "text/csv", "Idempotency-Key", "once").Fails(409, "IDEMPOTENCY_CONFLICT")
		n.Admin(t).Delete("/v1/workspaces/" + n.First.WorkspaceID + "/members/" + member.UserID).OK()
		n.RunImports(t)
		done := n.Admin(t).Get("/v1/directory/imports/" + id).OK()
		if got := servertest.Counts(done); got != "failed 0 0 0 0" || done.Text("reason") == "" {
			t.Errorf("the import is %s", done.Body)
		}
	})
}

func TestAnImportIsCancelled(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		id := c.Do("POST", "/v1/directory/imports?default_type=person&workspace_id="+n.First.WorkspaceID, "name\nAda\n", "Content-Type", "text/csv").OK().Text("id")
		for range 2 {
			if got := c.Post("/v1/directory/imports/"+id+"/cancel", nil).OK().Text("status"); got != "cancelled" {
				t.Errorf("it is %s", got)
			}
		}
		n.RunImports(t)
		if got := c.Entries().OK().Column("id"); len(got) != 0 {
			t.Errorf("there are %v", got)
		}
		if got := c.Get("/v1/directory/imports?workspace_id=" + n.First.WorkspaceID).OK().Column("status"); !slices.Equal(got, []string{"cancelled"}) {
			t.Errorf("the list has %v", got)
		}
	})
}

func TestFilesThatAreNoTablesAreRefused(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		for says, file := range map[string]string{
			"ZIP":                 "PK\x03\x04" + strings.Repeat("x", 1000),
			"UTF-16":              "\xff\xfet\x00",
			"gzip":                "\x1f\x8b\x08",
			"not a text file":     "type,name\n\x00\x01",
			"header is not UTF-8": "type,n\xe4me\nperson,x\n",
			"2000 is the most":    strings.Repeat("a,", 100_000) + "\n",
			"larger than 1 MiB":   "type,name\nperson," + strings.Repeat("x", 3<<20),
			"is empty":            "",
			"jq -c":               `[{"type":"person"}]`,
			"both mean":           "type,email,E-Mail\n",
		} {
			format := "csv"
			if says == "jq -c" {
				format = "ndjson"
			}
			path := "/v1/directory/imports?workspace_id=" + n.First.WorkspaceID + "&format=" + format
			answer := c.Do("POST", path, file, "Content-Type", "text/csv")
			if says == "jq -c" {
				n.RunImports(t)
				answer = c.Get("/v1/directory/imports/" + answer.OK().Text("id"))
			} else {
				answer.Fails(400, "VALIDATION_ERROR")
			}
			if !strings.Contains(string(answer.Body), says) {
				t.Errorf("%q is not said: %s", says, answer.Body)
			}
		}
		done := c.Import("type,name\nperson,\"Ada\n"+strings.Repeat("person,Bob\n", 200_000), "format", "csv")
		if done.Text("status") != "failed" || !strings.Contains(done.Text("reason"), "quote") {
			t.Errorf("a quote that is not closed: %s", done.Body)
		}
		done = c.Import("type,name,email\nperson,Ada,\nperson,B\xf6b,\nperson,Ro", "format", "csv") // Latin-1, and cut off
		if got := servertest.Counts(done); got != "completed 1 0 0 2" {
			t.Errorf("a damaged file: %s", done.Body)
		}
	})
}

func TestABatchReportsTheResultOfEachItem(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		id := c.Entry(servertest.Body{"name": "Ada"})
		items := []servertest.Body{
			{"type": "person", "name": "Bob", "fields": servertest.Body{"email": "bob@example.com"}},
			{"id": id, "status": "inactive"}, {"id": id, "status": "inactive"}, {"id": "entry_nobody", "name": "X"}, {"name": "untyped"},
		}
		ask := servertest.Body{"workspace_id": n.First.WorkspaceID, "items": items, "atomic": true}
		before := n.Contents(t)
		c.Post("/v1/directory/batch", ask).Fails(400, "VALIDATION_ERROR")
		if after := n.Contents(t); len(after["directory_entry"]) != len(before["directory_entry"]) || len(after["audit_entry"]) != len(before["audit_entry"]) {
			t.Error("an atomic batch that was refused has changed something")
		}
		ask["atomic"] = false
		var got struct {
			Data struct {
				Results []struct{ Status string }
			}
		}
		c.Post("/v1/directory/batch", ask).OK().Envelope(&got)
		if text := fmt.Sprint(got.Data.Results); text != "[{created} {updated} {unchanged} {refused} {refused}]" {
			t.Errorf("the results are %s", text)
		}
		if rows := n.Audited(t, id); !slices.Equal(rows, []string{"directory.entry.created", "directory.entry.updated"}) {
			t.Errorf("the log tells %v", rows)
		}
	})
}

package transfer_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

type object = map[string]any

const staff = "Payee,Kind of staff,IBAN,Bank,Account holder\n" +
	"Ada,staff,DE00123456781234,bank,Ada\nBob,staff,,,\n\"Cy\nd\",guest,DE00123456785678,bank,\n"

func staffMapping() object {
	return object{"Payee": "name", "Kind of staff": "tags", "IBAN": "method.account_id", "Bank": "method.provider", "Account holder": "method.account_name"}
}

// hold uploads a file that waits to be started, and returns its path.
func hold(c *servertest.Client, file string, query ...string) (held *servertest.Answer, path string) {
	query = append(query, "workspace_id", c.Node.First.WorkspaceID, "hold", "true")
	held = c.Do(http.MethodPost, "/v1/directory/imports?"+servertest.Query(query...), file, "Content-Type", "application/octet-stream").OK()
	return held, importPath(held, "")
}

// A held file tells how it begins, with the columns guessed and no number of an account.
func TestAHeldFileIsShown(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		held, path := hold(c, staff, "name", "staff.csv")
		want := `map[columns:[Payee Kind of staff IBAN Bank Account holder] ` +
			`mapping:map[Account holder:method.account_name Bank:method.provider IBAN:method.account_id Kind of staff:fields.Kind of staff Payee:name] match:id on_match:update ` +
			"rows:[[Ada staff •••• 1234 bank Ada] [Bob staff   ] [Cy\nd guest •••• 5678 bank ]]]"
		for _, a := range []*servertest.Answer{held, c.Get(path).OK()} {
			o := a.Object()
			if got := fmt.Sprint(o["preview"]); got != want {
				t.Errorf("the preview is\n%s, want\n%s", got, want)
			}
			if o["status"] != "held" || o["name"] != "staff.csv" || a.Number("held_until") < a.Number("created_at")+24*time.Hour.Milliseconds() {
				t.Errorf("the import is %s", a.Body)
			}
		}
		_, path = hold(c, `{"name":"Ada","receiving_methods":[{"provider":"bank","account_id":"DE00123456781234"}]}`+"\n"+`{"name":"Bob","n":1}`+"\n")
		if got := fmt.Sprint(c.Get(path).OK().Object()["preview"]); got != "map[columns:[name receiving_methods n] mapping:map[] match:id on_match:update rows:[[Ada bank •••• 1234] [Bob  1]]]" {
			t.Errorf("the preview of NDJSON is %s", got)
		}
		n.RunImports(t)
		if n.Count(t, `SELECT count(*) FROM directory_entry`) != 0 {
			t.Error("a held file was imported")
		}
	})
}

// What a rehearsal tells is what the import of the same file does, also by another server that
// was started meanwhile.
func TestARehearsedFileIsImportedAsItWasRehearsed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		c := n.Admin(t)
		c.Import("type,name,external_id\nperson,Old,E-3\nperson,Same,E-4\n")
		var file strings.Builder
		file.WriteString("Payee,No,Mail\n")
		for i := range 1200 {
			mail := fmt.Sprintf("p%d@example.com", i)
			if i == 3 {
				mail = "nobody"
			}
			fmt.Fprintf(&file, "Person %d,E-%d,%s\n", i, i, mail)
		}
		file.WriteString("Same,E-4x,\nNew,E-3,\n")
		_, path := hold(c, strings.Replace(file.String(), "Person 4,E-4,p4@example.com", "Same,E-4,", 1))
		options := object{"mapping": object{"Payee": "name", "No": "external_id", "Mail": "fields.email"}, "default_type": "person", "match": "external_id", "dry_run": true}
		for round, want := range []string{"held 1199 1 1 1", "held 1199 1 1 1", "completed 1199 1 1 1"} {
			if round == 2 {
				elsewhere := *c
				elsewhere.Node = servertest.Start(t, store)
				c = &elsewhere
				options = object{} // the rest is as it was rehearsed
			}
			if started := c.Post(path+"/start", options).OK(); started.Text("status") != "queued" || started.Number("lines") != 0 {
				t.Errorf("started, the import is %s", started.Body)
			}
			c.Node.RunImports(t)
			done := c.Get(path).OK()
			if got := servertest.Counts(done); got != want {
				t.Errorf("in round %d the import is %s, want %s", round, got, want)
			}
			if round < 2 {
				if plan := string(c.Get(path + "/plan").Body); strings.Count(plan, "\n") != 1202 {
					t.Errorf("the plan has %d lines", strings.Count(plan, "\n"))
				}
				if n.Count(t, `SELECT count(*) FROM directory_entry`) != 2 {
					t.Error("a rehearsal has changed the directory")
				}
			}
			if refused := string(c.Get(path + "/refused").Body); strings.Count(refused, "nobody") != 1 {
				t.Errorf("refused: %s", refused)
			}
		}
		if left := n.Count(t, `SELECT count(*) FROM directory_import_chunk WHERE part <> 'refused'`); left != 0 {
			t.Errorf("%d chunks are left of the file and the plan", left)
		}
		c.Post(path+"/start", object{}).Fails(http.StatusUnprocessableEntity, "IMPORT_NOT_HELD")
		want := []string{"directory.import.held"}
		for range 2 {
			want = append(want, "directory.import.started", "directory.import.completed", "directory.import.downloaded", "directory.import.downloaded")
		}
		want = append(want, "directory.import.started", "directory.import.completed", "directory.import.downloaded")
		if got := n.Audited(t, done(path)); !slices.Equal(got, want) {
			t.Errorf("the log tells %v", got)
		}
	})
}

func done(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// A file is started once, however many ask at once, and its mapping is looked at before.
func TestAHeldFileIsStartedOnce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		_, path := hold(c, staff)
		c.Post(path+"/start", object{"mapping": staffMapping()}).Fails(http.StatusBadRequest, "VALIDATION_ERROR") // no type
		c.Post(path+"/start", object{"mapping": object{"Nobody": "name"}, "default_type": "person"}).Fails(http.StatusBadRequest, "VALIDATION_ERROR")
		sent := servertest.SideBySide(8, func(int) *servertest.Answer {
			return c.Post(path+"/start", object{"mapping": staffMapping(), "default_type": "person"})
		})
		if got := servertest.Statuses(sent); got["200"] != 1 || got["422 IMPORT_NOT_HELD"] != 7 {
			t.Errorf("started eight times at once: %v", got)
		}
		n.RunImports(t)
		if got := servertest.Counts(c.Get(path).OK()); got != "completed 2 0 0 1" {
			t.Errorf("the import is %s", got)
		}
	})
}

// A held file can be cancelled, is given up after a day, and counts among those that wait.
func TestAHeldFileExpires(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		_, cancelled := hold(c, staff)
		c.Post(cancelled+"/cancel", nil).OK()
		c.Post(cancelled+"/start", object{}).Fails(http.StatusUnprocessableEntity, "IMPORT_NOT_HELD")
		var paths []string
		for range 10 {
			_, path := hold(c, staff)
			paths = append(paths, path)
		}
		c.Do(http.MethodPost, "/v1/directory/imports?hold=true&workspace_id="+n.First.WorkspaceID, staff).Fails(http.StatusUnprocessableEntity, "TOO_MANY")
		n.Clock.Advance(24*time.Hour - time.Minute)
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		c = n.Admin(t)
		c.Post(paths[0]+"/start", object{"mapping": staffMapping(), "default_type": "person", "dry_run": true}).OK()
		n.RunImports(t)
		n.Clock.Advance(time.Minute)
		c.Post(paths[1]+"/start", object{"mapping": staffMapping(), "default_type": "person"}).Fails(http.StatusUnprocessableEntity, "IMPORT_NOT_HELD")
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := c.Get(paths[1]).OK(); got.Text("status") != "cancelled" || got.Text("reason") != "nobody started it within 24 hours" {
			t.Errorf("after a day the import is %s", got.Body)
		}
		if got := c.Get(paths[0]).OK().Text("status"); got != "held" {
			t.Errorf("a file that was rehearsed a minute ago is %s", got)
		}
		if left := n.Count(t, `SELECT count(DISTINCT import_id) FROM directory_import_chunk`); left != 1 {
			t.Errorf("%d files are left", left)
		}
		hold(c, staff)
	})
}

// No one else's file is shown or started without the right to read account numbers.
func TestAHeldFileIsItsSendersAlone(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		_, path := hold(c, staff)
		start := object{"mapping": staffMapping(), "default_type": "person"}
		stranger := n.Tenant(t).Owner
		stranger.Get(path).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
		stranger.Post(path+"/start", start).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
		n.FirstTenant(t).Define("clerk", "ws.read", "ws.directory.read", "ws.directory.write")
		editor := n.Member(t, "editor@example.com", "clerk")
		if _, shown := editor.Get(path).OK().Object()["preview"]; shown {
			t.Error("a file was shown to a person who may not read account numbers")
		}
		editor.Post(path+"/start", start).Fails(http.StatusForbidden, "FORBIDDEN")
		_, own := hold(editor, staff)
		if _, shown := editor.Get(own).OK().Object()["preview"]; !shown {
			t.Error("a file was not shown to who sent it")
		}
	})
}

// A header of a million columns is refused before anything of it is stored.
func TestAHeaderOfAMillionColumnsIsRefused(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		for _, header := range []string{strings.Repeat("c,", 500_000) + "c\n", strings.Repeat("c,", 1_000_000) + "c\n"} {
			for _, query := range []string{"", "&hold=true"} {
				answer := c.Stream(http.MethodPost, "/v1/directory/imports?default_type=person&workspace_id="+n.First.WorkspaceID+query, strings.NewReader(header+"x\n"))
				answer.Fails(http.StatusBadRequest, "VALIDATION_ERROR")
				if text := string(answer.Body); !strings.Contains(text, "columns, and 2000 is the most") && !strings.Contains(text, "a line is larger than 1 MiB") {
					t.Errorf("%.300s", text)
				}
			}
		}
		if left := n.Count(t, `SELECT count(*) FROM directory_import`); left != 0 {
			t.Errorf("%d imports are left", left)
		}
	})
}

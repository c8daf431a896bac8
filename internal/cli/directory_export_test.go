package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"bursar/api"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// texts that are hard on CSV.
func hardText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringMatching(`[a,;"\n\r\t |\\{\[0é ='+\-@]{0,6}`),
		rapid.SampledFrom([]string{"", "null", "true", "12", `{"a":1}`, "\ufeff", "\\.", "<&>", "\u2028"}))
}

func anyJSON() *rapid.Generator[json.RawMessage] {
	return rapid.OneOf(
		rapid.Map(hardText(), func(s string) json.RawMessage { return encoded(s) }),
		rapid.Map(hardText(), func(s string) json.RawMessage { return encoded(map[string]any{"k": []string{s}}) }),
		rapid.Map(rapid.SampledFrom([]string{"null", "true", "1.50", "1e400", "[]", "{}", "12345678901234567890"}),
			func(s string) json.RawMessage { return json.RawMessage(s) }),
	)
}

func TestWhatIsExportedIsImported(t *testing.T) {
	folder := t.TempDir()
	keys := []string{"email-2", "name", "Notes", "fields.x", "json.x", " padded ", "", "a,b", "two\nlines", "id", "=1"}
	rapid.Check(t, func(t *rapid.T) {
		var want []*api.Entry
		for i := range rapid.IntRange(1, 5).Draw(t, "entries") {
			e := &api.Entry{ID: fmt.Sprint("entry_", i), Type: "person", Label: "Ada, \"the\" first", Status: "active", Fields: api.Fields{}}
			e.Name = rapid.SampledFrom([]string{"", "Ada", " Ada;", "=1+1", "'Neill", "'@Ada"}).Draw(t, "name")
			e.Tags = rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b|c", `d\`, "e f", "-g", "'+h"}), 0, 3).Draw(t, "tags")
			for _, key := range keys {
				if rapid.Bool().Draw(t, "has") {
					e.Fields.Set(api.Field{Key: key, Value: anyJSON().Draw(t, "value")})
				}
			}
			want = append(want, e)
		}
		raw := rapid.Bool().Draw(t, "raw")
		for _, format := range fileFormats() {
			var file bytes.Buffer
			exportTo(t, folder, &file, format, raw, want)
			in := &importFile{name: "-", stdin: bytes.NewReader(file.Bytes()), format: format, raw: raw}
			reader, _, err := in.open(t.Context(), "")
			if err != nil {
				t.Fatalf("%v\n%s", err, file.String())
			}
			i := 0
			for row, err := range rowsOf(reader, "export") {
				if err != nil || row.problem != "" {
					t.Fatalf("%v %+v\n%s", err, row, file.String())
				}
				compare(t, want[i], row)
				i++
			}
			if i != len(want) {
				t.Fatalf("%d of %d entries came back", i, len(want))
			}
		}
	})
}

func exportTo(t *rapid.T, folder string, file *bytes.Buffer, format string, raw bool, entries []*api.Entry) {
	var to entryWriter = newNDJSONEntries(file)
	if format == formatCSV {
		spool, err := newSpool(folder)
		if err != nil {
			t.Fatal(err)
		}
		defer spool.close()
		to = &csvEntries{to: file, comma: ',', raw: raw, whole: true, spool: spool}
	}
	for _, e := range entries {
		if err := to.write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.finish(); err != nil {
		t.Fatal(err)
	}
}

func compare(t *rapid.T, e *api.Entry, row *importRow) {
	sorted := func(list api.Fields) (out []string) {
		for _, one := range list {
			out = append(out, one.Key+"="+one.Display())
		}
		slices.Sort(out)
		return out
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	want := []any{e.ID, e.Type, e.Label, e.Name, e.Status, strings.Join(e.Tags, "\n"), sorted(e.Fields)}
	got := []any{row.id, row.kind, text(row.Label), text(row.Name), text(row.Status), strings.Join(row.Tags, "\n"), sorted(row.Fields)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

// entriesOf are the entries of a workspace without what every entry has of its own.
func entriesOf(t *testing.T, n *servertest.Node, workspaceID string) (out []string) {
	t.Helper()
	admin := n.Admin(t)
	for _, id := range admin.Walk("/v1/directory?workspace_id="+workspaceID+"&limit=100", nil) {
		e := admin.Get("/v1/directory/" + id).OK().Object()
		delete(e, "id")
		delete(e, "workspace_id")
		delete(e, "created_at")
		delete(e, "updated_at")
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	slices.Sort(out)
	return out
}

func TestADirectoryMovesToAnotherWorkspace(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		for i := range 120 {
			id := admin.Entry(servertest.Body{
				"type": []string{"person", "organization"}[i%2], "name": fmt.Sprint("Name ", i), "tags": []string{"all", fmt.Sprint("t|", i%3)},
				"fields": servertest.Body{"email": fmt.Sprintf("p%d@example.com", i), "n": i, "note": "=1+1\r\nline", "phone": "+63 2 555", "quoted": "'=1", "balance": -1.5, "address": servertest.Body{"city": "Rome"}, "none": nil},
			})
			if i%5 == 0 {
				admin.Patch("/v1/directory/"+id, servertest.Body{"status": "inactive", "label": fmt.Sprint("Label ", i)}).OK()
			}
		}
		want := entriesOf(t, n, n.First.WorkspaceID)
		for _, format := range fileFormats() {
			file := filepath.Join(t.TempDir(), "all."+format)
			wants(t, n, exitOK, "Exported 120 entries", "directory", "export", file, "-w", n.First.WorkspaceID)
			other := admin.Post("/v1/workspaces", servertest.Body{"name": "To " + format, "organization_id": n.First.OrganizationID}).OK().Text("id")
			wants(t, n, exitOK, "120 created", "directory", "import", file, "-w", other, "--map", "id=")
			if diff := cmp.Diff(want, entriesOf(t, n, other)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", format, diff)
			}
			// With its ids, the file says what the directory says.
			wants(t, n, exitOK, "0 created, 0 updated, 120 unchanged, 0 refused", "directory", "import", file, "-w", n.First.WorkspaceID, "--journal", file+".again")
		}
	})
}

func TestAnExportAppearsWhenItIsComplete(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	n.Admin(t).Entry(servertest.Body{"name": "Ada"})
	folder := t.TempDir()
	file := filepath.Join(folder, "people.csv")
	wants(t, n, exitOK, "Exported 1 entry", "directory", "export", file)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	terminal, _, stderr := pipes("BURSAR_URL", n.URL, "BURSAR_API_KEY", n.First.APIKey, "BURSAR_CONFIG_DIR", t.TempDir(), "BURSAR_KEYRING", "off")
	ctx, cancel := contextOf(t)
	cancel()
	if code := Run(ctx, []string{"directory", "export", file}, terminal); code != exitFailed {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	after, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed: %v\n%s", err, after)
	}
	list, err := os.ReadDir(folder)
	if err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// Whoever may write to the directory must not run anything on the machine of whoever opens
// an export, and the phone number comes back.
func TestAnExportRunsNothingInASpreadsheet(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	id := n.Admin(t).Entry(servertest.Body{"name": "=1+cmd|calc", "tags": []string{"@tag"}, "fields": servertest.Body{"phone": "+63 2 555", "note": "'=1", "n": -1}})
	folder := t.TempDir()
	for flag, want := range map[string]string{
		"--raw=false": id + ",person,'=1+cmd|calc,'=1+cmd|calc,active,'@tag,'+63 2 555,'-1,''=1\n",
		"--raw":       id + ",person,=1+cmd|calc,=1+cmd|calc,active,@tag,+63 2 555,-1,'=1\n",
	} {
		file := filepath.Join(folder, flag+".csv")
		wants(t, n, exitOK, "Exported 1 entry", "directory", "export", file, flag)
		text, err := os.ReadFile(file)
		if head, row, _ := strings.Cut(string(text), "\n"); err != nil || head != "id,type,label,name,status,tags,fields.phone,json.n,fields.note" || row != want {
			t.Errorf("%s writes %q, want %q: %v", flag, text, want, err)
		}
		wants(t, n, exitOK, "0 created, 0 updated, 1 unchanged", "directory", "import", file, flag)
	}
}

func TestAListAsCSVRunsNothingInASpreadsheet(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	id := n.Admin(t).Entry(servertest.Body{"name": "=1+cmd|calc", "fields": servertest.Body{"phone": "+63 2 555"}})
	for flag, want := range map[string]string{"--raw=false": "'=1+cmd|calc,person,active,'+63 2 555," + id, "--raw": "=1+cmd|calc,person,active,+63 2 555," + id} {
		if out, errs, code := at(t, n, "directory", "list", "--csv", flag); code != exitOK || out != "label,type,status,contact,id\n"+want+"\n" {
			t.Errorf("%s writes %q, %s", flag, out, errs)
		}
	}
}

// Refused lines can be opened, mended and imported, however the file was made.
func TestRefusedLinesRunNothingInASpreadsheet(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	file := filepath.Join(t.TempDir(), "people.csv")
	if err := os.WriteFile(file, []byte("type,name,=key\nship,=1+1,'+2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{"--raw=false": "type,name,'=key,refused.line,refused.reason\nship,'=1+1,'+2,2,", "--raw": "type,name,=key,refused.line,refused.reason\nship,=1+1,'+2,2,"} {
		wants(t, n, exitFailed, "1 refused", "directory", "import", file, flag)
		if text, err := os.ReadFile(file + ".refused.csv"); err != nil || !strings.HasPrefix(string(text), want) {
			t.Errorf("%s: %q, want %q: %v", flag, text, want, err)
		}
	}
}

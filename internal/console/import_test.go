package console_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bursar/internal/browsertest"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// staffFile has four new people, one line that is refused, and one that changes Old.
const staffFile = "Payee,Staff no,Mail,Bank,IBAN,Account holder,Team\n" +
	"Ada Lovelace,E-1,ada@example.com,bank,DE00123456781234,Ada Lovelace,payroll\n" +
	"Bob,E-2,nobody,,,,\n" +
	"Cyd Charisse,E-3,cyd@example.com,,,,payroll|remote\n" +
	"Dora,E-4,,,,,\n" +
	"Eve,E-5,,,,,\n" +
	"New name,E-9,,,,,\n"

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAFileIsMappedRehearsedAndImported(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.Admin(t).Entry(servertest.Body{"type": "person", "name": "Old", "external_id": "E-9"})
	page := open(t, n, adminEmail, "/directory")
	page.ClickText("Import")
	page.WaitText("No imports yet")
	page.Accessible("the form of an import")
	page.Shoot("import-empty")
	page.Attach("#file", writeFile(t, "staff.csv", staffFile))
	page.ClickText("Upload")
	page.WaitText("What the columns mean")
	page.Accessible("a held file")
	page.Shoot("import-held")
	for label, want := range map[string]string{"Payee means": "name", "Mail means": "fields.email", "IBAN means": "method.account_id", "Account holder means": "method.account_name", "Team means": "fields.Team"} {
		if got := page.Value(label); got != want {
			t.Errorf("%s %q, want %q", label, got, want)
		}
	}
	if text := page.Text("main"); !strings.Contains(text, "•••• 1234") || strings.Contains(text, "DE00123456781234") {
		t.Errorf("the account number is not masked: %s", text)
	}
	page.Select("Staff no means", "ID in another system")
	page.Select("Team means", "ID in another system")
	page.Select("A line is about an entry that exists if it has the same", "ID in another system")
	page.ExpectStatus(http.StatusBadRequest)
	page.ClickText("Rehearse")
	page.WaitText(`both mean external_id`)
	page.Accessible("a mapping that is wrong")
	page.Shoot("import-wrong-mapping")
	page.Select("Team means", "Tags, separated by |")
	page.ClickText("Rehearse")
	page.WaitText("Waiting for its turn")
	page.Accessible("an import that waits")
	page.Shoot("import-waiting")
	page.Reload()
	page.WaitText("Waiting for its turn")
	n.RunImports(t)
	page.WaitText("What the import would do") // without a reload by hand
	if got := page.Texts("#rehearsal ~ dl dd"); !slices.Equal(got, []string{"4", "1", "0", "1"}) {
		t.Errorf("the rehearsal counts %q", got)
	}
	if got := page.Value("Team means"); got != "tags" {
		t.Errorf("after the rehearsal, the team means %q", got)
	}
	page.Accessible("a rehearsed file")
	page.Shoot("import-rehearsed")
	page.ClickText("See every line")
	page.WaitText("Email must be an email address.")
	page.Accessible("a plan")
	page.Shoot("import-plan")
	page.ClickText("Changed (1)")
	if got := page.Texts("tbody tr"); len(got) != 1 || !strings.Contains(got[0], "New name") {
		t.Errorf("the lines that change something are %q", got)
	}
	page.Back()
	page.Back()
	if labels := n.Admin(t).Entries().OK().Column("label"); len(labels) != 1 {
		t.Errorf("after the rehearsal the directory has %q", labels)
	}
	page.ClickText("Import now")
	page.ClickText("Import")
	page.WaitText("Waiting for its turn")
	n.RunImports(t)
	page.WaitText("The import is done")
	if got := page.Texts("#done ~ dl dd"); !slices.Equal(got, []string{"4", "1", "0", "1"}) {
		t.Errorf("the import counts %q", got)
	}
	page.Accessible("an import that has ended")
	page.Shoot("import-done")
	name, lines := page.DownloadBy(func() { page.ClickText("Download refused lines") })
	if name != "refused.csv" || !strings.Contains(string(lines), "Bob,E-2,nobody,,,,,3,") {
		t.Errorf("%s has\n%s", name, lines)
	}
	page.ClickText("Import another file")
	page.WaitText("staff.csv")
	if got := page.Text("tbody tr"); !strings.Contains(got, "Completed") || !strings.Contains(got, adminEmail) {
		t.Errorf("the list says %q", got)
	}
	page.Accessible("the list of imports")
	page.Shoot("imports")
	if labels := n.Admin(t).Entries("sort", "label").OK().Column("label"); !slices.Equal(labels, []string{"Ada Lovelace", "Cyd Charisse", "Dora", "Eve", "New name"}) {
		t.Errorf("the directory has %q", labels)
	}
}

func TestAFileIsImportedWithoutScripts(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := open(t, n, adminEmail, "/directory/imports", browsertest.WithoutScripts())
	page.Attach("#file", writeFile(t, "people.csv", "name\nAda\nBob\n"))
	page.ClickText("Upload")
	page.WaitText("What the columns mean")
	page.ClickText("Rehearse")
	page.WaitText("Waiting for its turn")
	n.RunImports(t)
	page.WaitText("What the import would do") // by itself, too
	page.ClickText("Import now")
	n.RunImports(t)
	page.WaitText("The import is done")
	if labels := n.Admin(t).Entries().OK().Column("label"); len(labels) != 2 {
		t.Errorf("the directory has %q", labels)
	}
	page.ClickText("Import another file")
	page.Attach("#file", writeFile(t, "book.csv", "PK\x03\x04 and so on"))
	page.ExpectStatus(http.StatusBadRequest)
	page.ClickText("Upload")
	page.WaitText("this is a ZIP file, as workbooks of spreadsheets are: save it as CSV")
	n.Admin(t).Patch("/v1/workspaces/"+n.First.WorkspaceID, servertest.Body{"on_duplicate": "warn"}).OK()
	page.Attach("#file", writeFile(t, "people.csv", "name\nAda\n"))
	page.ClickText("Upload")
	page.ClickText("Rehearse")
	n.RunImports(t)
	page.WaitText("What the import would do")
	page.ClickText("See every line")
	page.WaitText("It may be a double of Ada (same name).")
	page.Back()
	page.ClickText("Discard this file")
	page.WaitText("Import cancelled.")
}

// A file can be dropped, and one that is too large is not sent.
func TestAFileIsDropped(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := open(t, n, adminEmail, "/directory/imports")
	large := writeFile(t, "large.csv", "name\n")
	if err := os.Truncate(large, 201<<20); err != nil {
		t.Fatal(err)
	}
	page.Attach("#file", large)
	page.ClickText("Upload")
	page.WaitText("large.csv is too large: 200 MiB is the most.")
	page.Accessible("a file that is too large")
	page.Shoot("import-too-large")
	page.Eval(`(() => {
		const carried = new DataTransfer();
		carried.items.add(new File(["name\nAda\n"], "dropped.csv"));
		document.querySelector("form[data-upload] p").dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: carried }));
	})()`, nil)
	page.WaitText("What the columns mean")
	if got := page.Text("h1"); !strings.HasPrefix(got, "dropped.csv") {
		t.Errorf("the import is called %q", got)
	}
}

// A browser without scripts gets a page about a file that is too large, and nothing of it is kept.
func TestAFileThatIsTooLargeGetsAPage(t *testing.T) {
	dbtest.TakesSeconds(t)
	t.Parallel()
	n := start(t)
	visitor := browse(t, n, adminEmail)
	var head, tail bytes.Buffer
	form := multipart.NewWriter(&head)
	if _, err := form.CreateFormFile("file", "large.csv"); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&tail, "\r\n--%s--\r\n", form.Boundary())
	line := "person," + strings.Repeat("x", 1<<16) + "\n"
	parts := []io.Reader{&head, strings.NewReader("type,name\n")}
	for range 201 << 20 / len(line) {
		parts = append(parts, strings.NewReader(line))
	}
	got := visitor.do(http.MethodPost, room(n, "/directory/imports"), io.MultiReader(append(parts, &tail)...), "Content-Type", form.FormDataContentType())
	if got.status != http.StatusRequestEntityTooLarge || !strings.Contains(got.body, "The file is larger than 200 MiB. Split it into several files.") {
		t.Errorf("%d: %.300s", got.status, got.body)
	}
	if left := n.Count(t, `SELECT count(*) FROM directory_import_chunk`); left != 0 {
		t.Errorf("%d chunks are left", left)
	}
}

// What is exported is what the list shows, all pages of it, in its order.
func TestTheFilteredDirectoryIsExported(t *testing.T) {
	t.Parallel()
	n := start(t)
	some(t, n)
	page := open(t, n, adminEmail, "/directory")
	page.Select("Type", "Organizations")
	page.Select("Order", "Name, Z to A")
	page.WaitURL("sort=-label")
	page.WaitGone("Jose Reyes")
	name, file := page.DownloadBy(func() { page.ClickText("Export all that match as CSV") })
	at := func(text string) int { return bytes.Index(file, []byte(text)) }
	if name != "directory.csv" || at("Santos Catering") < 0 || at("Santos Catering") > at("Manila Freight") || at("Maria") >= 0 {
		t.Errorf("%s has\n%s", name, file)
	}
	name, file = page.DownloadBy(func() { page.ClickText("Export all that match as NDJSON") })
	if name != "directory.ndjson" || bytes.Count(file, []byte("\n")) != 2 {
		t.Errorf("%s has\n%s", name, file)
	}
	if rows := n.Admin(t).Get("/v1/audit?action=directory.exported&workspace_id=" + n.First.WorkspaceID).OK().Column("id"); len(rows) != 2 {
		t.Errorf("the log tells of %d exports", len(rows))
	}
}

package console_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bursar/internal/db/dbtest"
)

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
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

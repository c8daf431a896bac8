package report

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestJSONComesBackAsItWent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	want := sampleReport()
	if err := want.WriteJSON(path); err != nil {
		t.Fatal(err)
	}
	got, err := ReadJSON(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestFailedWriteKeepsTheOldReport(t *testing.T) {
	path := write(t, "old")
	unwritable := Report{Took: 1 / zero()}
	if err := unwritable.WriteJSON(path); err == nil {
		t.Error("infinity was written")
	}
	if got := read(t, path); got != "old" {
		t.Errorf("the file is now %q", got)
	}
}

func zero() float64 { return 0 }

func TestReadJSONNamesTheFile(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "none.json"), write(t, "{")} {
		if _, err := ReadJSON(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v", err)
		}
	}
}

func TestInsertKeepsTheRestOfTheFile(t *testing.T) {
	const before = "# Speed\n\nOf `<!-- bench -->` and <!-- /bench --> later.\n\n<!-- bench -->\n"
	const after = "<!-- /bench -->\n\nThe end, without a newline"
	path := write(t, before+"old\n"+after)
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time changes nothing
		if err := Insert(path, []byte("\nnew\n\ntext\n")); err != nil {
			t.Fatal(err)
		}
		if got, want := read(t, path), before+"\nnew\n\ntext\n\n"+after; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o640 {
		t.Errorf("the permissions are now %v", info.Mode())
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
}

func TestInsertNeedsBothMarkersInOrder(t *testing.T) {
	for _, text := range []string{"", "no markers", "<!-- bench -->\n", "<!-- /bench -->\n", "<!-- /bench -->\n<!-- bench -->\n"} {
		path := write(t, text)
		if err := Insert(path, []byte("new")); err == nil {
			t.Errorf("%q was accepted", text)
		}
		if got := read(t, path); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if err := Insert(filepath.Join(t.TempDir(), "none.md"), nil); err == nil {
		t.Error("a missing file was accepted")
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/db/dbtest"
	"bursar/internal/directory/entryfile"
	"bursar/internal/server/servertest"
)

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}

// importing starts a server that works on imports.
func importing(t *testing.T, store dbtest.Store) *servertest.Node {
	n := servertest.Start(t, store)
	n.RunBackground(t)
	return n
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wants runs a command and holds its exit code and what it says against what is
// wanted.
func wants(t *testing.T, n *servertest.Node, code int, said string, args ...string) {
	t.Helper()
	out, errs, got := at(t, n, args...)
	if got != code || !strings.Contains(errs, said) {
		t.Errorf("bursar %s: exit code %d\n%s%s", strings.Join(args, " "), got, out, errs)
	}
}

// link makes a symbolic link in the place of a file.
func link(t *testing.T, target, name string) {
	t.Helper()
	err := os.Symlink(target, name)
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("this system makes no symbolic links:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Someone who can write to the folder of an input must not choose which file of the user is
// overwritten.
func TestFilesBesideAnInputFollowNoLink(t *testing.T) {
	n := importing(t, dbtest.SQLite(t))
	const content = "of the user\n"
	for _, suffix := range []string{".refused.csv", ".refused.csv~"} {
		for name, exists := range map[string]bool{"a file": true, "nothing": false} {
			t.Run(suffix+" leads to "+name, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "people.csv")
				write(t, file, "type,name\nperson,Ada\nperson,\n") // the second line says too little
				target := filepath.Join(t.TempDir(), "target")
				if exists {
					write(t, target, content)
				}
				if suffix != ".refused.csv" {
					write(t, file+".refused.csv", "older\n")
				}
				link(t, target, file+suffix)
				wants(t, n, exitFailed, "1 line was refused", "directory", "import", file)
				text, err := os.ReadFile(target)
				if exists && (err != nil || string(text) != content) || !exists && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the target of the link has %q: %v", text, err)
				}
			})
		}
	}
}

func TestAnExportFollowsNoLink(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	for _, command := range []string{"directory", "audit"} {
		folder := t.TempDir()
		target, name := filepath.Join(folder, "target"), filepath.Join(folder, "people.csv")
		write(t, target, "of the user\n")
		link(t, target, name)
		wants(t, n, exitOK, "Exported", command, "export", name) // takes the place of the link
		if text, err := os.ReadFile(target); err != nil || string(text) != "of the user\n" {
			t.Errorf("the target of the link has %q: %v", text, err)
		}
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
		n := importing(t, store)
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
		for _, format := range entryfile.Formats() {
			file := filepath.Join(t.TempDir(), "all."+format)
			wants(t, n, exitOK, "Exported 120 entries", "directory", "export", file, "-w", n.First.WorkspaceID)
			other := admin.Post("/v1/workspaces", servertest.Body{"name": "To " + format, "organization_id": n.First.OrganizationID}).OK().Text("id")
			wants(t, n, exitOK, "120 created", "directory", "import", file, "-w", other, "--map", "id=")
			if diff := cmp.Diff(want, entriesOf(t, n, other)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", format, diff)
			}
			// With its ids, the file says what the directory says.
			wants(t, n, exitOK, "0 created, 0 updated, 120 unchanged, 0 refused", "directory", "import", file, "-w", n.First.WorkspaceID)
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
	if list, err := os.ReadDir(folder); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// Anyone who may write to the directory must not run anything on the machine of anyone who opens
// an export, and the phone number comes back.
func TestAnExportRunsNothingInASpreadsheet(t *testing.T) {
	n := importing(t, dbtest.SQLite(t))
	id := n.Admin(t).Entry(servertest.Body{"name": "=1+cmd|calc", "tags": []string{"@tag"}, "fields": servertest.Body{"phone": "+63 2 555", "note": "'=1", "n": -1}})
	folder := t.TempDir()
	for flag, want := range map[string]string{
		"--raw=false": id + ",person,'=1+cmd|calc,'=1+cmd|calc,active,,'@tag,,'+63 2 555,'-1,''=1\n",
		"--raw":       id + ",person,=1+cmd|calc,=1+cmd|calc,active,,@tag,,+63 2 555,-1,'=1\n",
	} {
		file := filepath.Join(folder, flag+".csv")
		wants(t, n, exitOK, "Exported 1 entry", "directory", "export", file, flag)
		text, err := os.ReadFile(file)
		if head, row, _ := strings.Cut(string(text), "\n"); err != nil || head != "id,type,label,name,status,external_id,tags,receiving_methods,fields.phone,json.n,fields.note" || row != want {
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
	n := importing(t, dbtest.SQLite(t))
	file := filepath.Join(t.TempDir(), "people.csv")
	write(t, file, "type,name,=key\nship,=1+1,'+2\n")
	for flag, want := range map[string]string{"--raw=false": "type,name,'=key,refused.line,refused.reason\nship,'=1+1,'+2,2,", "--raw": "type,name,=key,refused.line,refused.reason\nship,=1+1,'+2,2,"} {
		wants(t, n, exitFailed, "1 refused", "directory", "import", file, flag)
		if text, err := os.ReadFile(file + ".refused.csv"); err != nil || !strings.HasPrefix(string(text), want) {
			t.Errorf("%s: %q, want %q: %v", flag, text, want, err)
		}
	}
}

func TestTheSameFileIsTheSameImport(t *testing.T) {
	n := importing(t, dbtest.SQLite(t))
	file := filepath.Join(t.TempDir(), "people.csv")
	write(t, file, "type,name\nperson,Ada\n")
	for range 2 {
		wants(t, n, exitOK, "1 created", "directory", "import", file)
	}
	wants(t, n, exitOK, "1 created", "directory", "import", file, "--again")
	if got := n.Admin(t).Entries().OK().Column("label"); len(got) != 2 {
		t.Errorf("there are %v", got)
	}
}

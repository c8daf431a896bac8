package profile

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"bursar/internal/cli/term/termtest"
)

func TestSettingsAreWhereTheSystemKeepsThem(t *testing.T) {
	if (runtime.GOOS == "windows" || runtime.GOOS == "darwin") && os.Getenv("CI") != "true" {
		t.Skip("other systems have another place")
	}
	for name, c := range map[string]struct {
		env  func(string) (string, bool)
		want string
	}{
		"a variable of our own": {termtest.Env("BURSAR_CONFIG_DIR", "/a", "XDG_CONFIG_HOME", "/b", "HOME", "/c"), "/a"},
		"that of the desktop":   {termtest.Env("BURSAR_CONFIG_DIR", "", "XDG_CONFIG_HOME", "/b", "HOME", "/c"), "/b/bursar"},
		"which must be whole":   {termtest.Env("XDG_CONFIG_HOME", "b", "HOME", "/c"), "/c/.config/bursar"},
		"home":                  {termtest.Env("HOME", "/c"), "/c/.config/bursar"},
		"nowhere":               {termtest.Env("HOME", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Dir(c.env)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestProfileIsReadBackAsItWasSaved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	p, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	p.Current = "pay"
	p.Contexts["pay"] = &Context{URL: "https://pay.example.com", User: "ada@example.com", Workspace: "ws_1"}
	if err := p.Save(); err != nil {
		t.Fatal(err)
	}
	again, err := Load(dir)
	if err != nil || again.Current != "pay" || *again.Contexts["pay"] != *p.Contexts["pay"] {
		t.Errorf("read back: %+v, %v", again, err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

func TestProfileThatCannotBeWrittenKeepsTheOldOne(t *testing.T) {
	dir := t.TempDir()
	p, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	p.Current = "old"
	if err := p.Save(); err != nil {
		t.Fatal(err)
	}
	// A folder in the place of the file cannot be replaced by one.
	p.path = filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(p.path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.Current = "new"
	if err := p.Save(); err == nil || !strings.Contains(err.Error(), "write the settings") {
		t.Errorf("the error is %v", err)
	}
	if again, err := Load(dir); err != nil || again.Current != "old" {
		t.Errorf("read back: %+v, %v", again, err)
	}
	for _, entry := range must(os.ReadDir(dir)) {
		if strings.HasPrefix(entry.Name(), ".bursar-") {
			t.Errorf("%s is left behind", entry.Name())
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func TestContextIsCalledLikeItsHost(t *testing.T) {
	for url, want := range map[string]string{
		"https://pay.example.com":         "pay.example.com",
		"https://pay.example.com/bursar":  "pay.example.com",
		"http://127.0.0.1:8080":           "127.0.0.1:8080",
		"http://[::1]:8080/somewhere/new": "[::1]:8080",
	} {
		if got := ContextName(url); got != want {
			t.Errorf("%s is called %s", url, got)
		}
	}
}

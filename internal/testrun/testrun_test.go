package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// project makes a module with packages of one test file each, and enters its folder.
func project(t *testing.T, packages map[string]string) {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"go.mod": "module example\n\ngo 1.26\n"}
	for name, body := range packages {
		files[name+"/x_test.go"] = "package " + name + "\n\nimport \"testing\"\n\n" + body + "\n"
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-buildvcs=false")
}

func TestARunReportsWhatPassedFailedAndWasSkipped(t *testing.T) {
	project(t, map[string]string{
		"good":    "func TestGood(t *testing.T) { t.Log(\"quiet\") }",
		"bad":     "func TestBad(t *testing.T) { t.Run(\"part\", func(t *testing.T) { t.Error(\"the reason\") }) }",
		"skipped": "func TestSkipped(t *testing.T) { t.Skip(\"no browser here\") }",
		"broken":  "func TestBroken(t *testing.T) { undefined() }",
	})
	var out bytes.Buffer
	code, err := run(t.Context(), []string{"--", "CGO_ENABLED=0", "-vet=off", "./good", "./bad", "--", "CGO_ENABLED=0", "-vet=off", "./skipped", "./broken"}, &out)
	if err != nil || code != 1 {
		t.Errorf("exit code %d, %v", code, err)
	}
	for _, want := range []string{"/4] ok   example/good", "/4] FAIL example/bad", "the reason", "undefined: undefined", "no browser here: example/skipped.TestSkipped", "\n1 passed, 2 failed, 1 skipped\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not print %q", want)
		}
	}
	if strings.Contains(out.String(), "quiet") {
		t.Error("it prints what a test that passed has logged")
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

func TestWhatPassedIsNotRepeated(t *testing.T) {
	project(t, map[string]string{"good": "func TestGood(*testing.T) {}"})
	args := []string{"--", "CGO_ENABLED=0", "-vet=off", "./..."}
	for i, want := range []string{" s\n", "cached\n"} {
		var out bytes.Buffer
		if code, err := run(t.Context(), args, &out); err != nil || code != 0 {
			t.Fatalf("run %d: exit code %d, %v\n%s", i, code, err, out.String())
		}
		line, _, _ := strings.Cut(out.String(), "\n")
		if !strings.HasSuffix(line+"\n", want) {
			t.Errorf("run %d: %s", i, line)
		}
	}
}

func TestGroupsAreWhatStandsAfterTwoDashes(t *testing.T) {
	for args, want := range map[string]string{
		"x":                "must come after --",
		"-- -race":         "has no packages",
		"-- A=b -race ./x": "",
	} {
		_, err := parseGroups(strings.Fields(args))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestTimesOfTheAccountingHaveAnExponent(t *testing.T) {
	for from, want := range map[compressed]string{0: "0s", 1: "10ms", 0x1fff: "1m21.91s", 1<<13 | 0x1fff: "10m55.28s"} {
		if got := from.duration().String(); got != want {
			t.Errorf("%#x: %s, want %s", uint16(from), got, want)
		}
	}
}

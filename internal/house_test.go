package internal_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers are the packages of the product from the ground up. A package imports
// from lower layers alone: never its own, never a higher one.
func layers() [][]string {
	return [][]string{
		{"api"},
		{"api/openapi"},
		{"client"},
		{"internal/cache", "internal/work", "internal/accountnumber", "internal/spreadsheet", "internal/auditlog/tree", "internal/keyfile", "internal/institution", "internal/identity/credential"},
		{"internal/fault", "internal/directory/entryfile", "internal/directory/entryword", "internal/payout/payfile", "internal/audit", "internal/limit", "internal/reference"},
		{"internal/db/engine"},
		{"internal/db/sqlite", "internal/db/postgres"},
		{"internal/db"},
		{"internal/budget"},
		{"internal/web"},
		{"internal/access"},
		{"internal/vault"},
		{"internal/mail"},
		{"internal/config"},
		{"internal/rail"},
		{"internal/rail/simulator", "internal/rail/iso20022"},
		{"internal/token"},
		{"internal/slug", "internal/identity"},
		{"internal/signin"},
		{"internal/approval"},
		{"internal/ledger"},
		{"internal/organization", "internal/workspace", "internal/directory", "internal/auditlog"},
		{"internal/payout/control", "internal/directory/transfer"},
		{"internal/payout"},
		{"internal/payout/dispatch"},
		{"internal/backup", "internal/leaver", "internal/operator"},
		{"internal/backup/continuous"},
		{"internal/console", "internal/setup"},
		{"internal/server"},
		{"internal/cli/term", "internal/cli/profile"},
		{"internal/cli"},
		{"cmd/bursar"},
	}
}

// forTests are the packages that only tests use.
func forTests() []string {
	return []string{"internal/browsertest", "internal/browsertest/oidctest", "internal/cli/term/termtest", "internal/contract", "internal/db/dbtest", "internal/db/dbtest/pgcluster", "internal/mail/smtptest", "internal/rail/railtest", "internal/server/servertest", "internal/testrun", "internal/torture", "internal/wait"}
}

// A stranger finds each package in the tree of CONTRIBUTING.md.
func TestTheTreeOfTheContributingGuideHasEveryPackage(t *testing.T) {
	guide, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	tree := strings.Split(string(guide), "```")[1]
	for _, name := range append(slices.Concat(layers()...), forTests()...) {
		name = strings.TrimPrefix(name, "internal/")
		if !strings.Contains(tree, name) && !strings.Contains(tree, "    "+name[strings.LastIndex(name, "/")+1:]+"/") {
			t.Errorf("the tree lacks %s", name)
		}
	}
}

const module = "bursar/"

// imports finds what each package of the module imports outside of its tests.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && file != ".." {
			if _, missing := os.Stat(filepath.Join(file, "go.mod")); missing == nil {
				return fs.SkipDir // a module of its own
			}
		}
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		name, err := filepath.Rel("..", filepath.Dir(file))
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		found[name] = append(found[name], "")
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			found[name] = append(found[name], imported)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found["internal/server"]) == 0 {
		t.Fatal("the source was not found")
	}
	return found
}

func layerOf(name string) int {
	return slices.IndexFunc(layers(), func(layer []string) bool { return slices.Contains(layer, name) })
}

func TestEveryPackageHasItsPlace(t *testing.T) {
	for name := range imports(t) {
		if layerOf(name) < 0 && !slices.Contains(forTests(), name) {
			t.Errorf("%s is in no layer", name)
		}
	}
}

func TestImportsRunOneWay(t *testing.T) {
	for name, list := range imports(t) {
		layer := layerOf(name)
		if layer < 0 {
			continue
		}
		for _, imported := range list {
			own, ok := strings.CutPrefix(imported, module)
			switch {
			case !ok:
			case slices.Contains(forTests(), own):
				t.Errorf("%s imports %s, which is for tests", name, own)
			case layerOf(own) >= layer:
				t.Errorf("%s imports %s, which is not below it", name, own)
			}
		}
	}
}

func TestOnlyTheStoreKnowsTheEngines(t *testing.T) {
	drivers := []string{"database/sql", "github.com/jackc/pgx", "github.com/ncruces"}
	engines := []string{"internal/db/sqlite", "internal/db/postgres"}
	for name, list := range imports(t) {
		if slices.Contains(engines, name) || slices.Contains(forTests(), name) {
			continue
		}
		for _, imported := range list {
			if slices.ContainsFunc(drivers, func(driver string) bool { return strings.HasPrefix(imported, driver) }) {
				t.Errorf("%s imports %s, which only the packages of the engines may", name, imported)
			}
		}
	}
}

// Every CSV that leaves is written by package spreadsheet, which escapes formulas. Imports and batches read
// CSV, and the command line reads the lines that one refused.
func TestOnlyOnePackageWritesCSV(t *testing.T) {
	reading := []string{"internal/spreadsheet", "internal/directory/entryfile", "internal/payout/payfile", "internal/cli", "internal/console"}
	for name, list := range imports(t) {
		if !slices.Contains(reading, name) && slices.Contains(list, "encoding/csv") {
			t.Errorf("%s imports encoding/csv: write with internal/spreadsheet", name)
		}
	}
}

func TestTheProgramStartsTheCommandLineAlone(t *testing.T) {
	for _, imported := range imports(t)["cmd/bursar"] {
		if own, ok := strings.CutPrefix(imported, module); ok && path.Base(own) != "cli" {
			t.Errorf("cmd/bursar imports %s", own)
		}
	}
}

// Anyone who imports the client would otherwise link a parser that only the server needs.
func TestTheClientNeedsNoYAMLParser(t *testing.T) {
	list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", module+"client").Output()
	if err != nil {
		t.Fatalf("list what the client imports: %v", err)
	}
	packages := strings.Fields(string(list))
	if !slices.Contains(packages, module+"api") {
		t.Fatalf("the client does not import the wire types; go list printed %q", list)
	}
	for _, name := range packages {
		if strings.Contains(name, "yaml") || name == module+"api/openapi" {
			t.Errorf("the client imports %s", name)
		}
	}
}

// A promise that no test holds is only an intention.
func TestEverySecurityPromiseNamesATestThatExists(t *testing.T) {
	text, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z0-9/]+)\\.(Test[A-Za-z0-9 ]+)(?:/(\\w+)/(\\w+))?`").FindAllStringSubmatch(string(text), -1)
	if len(named) == 0 {
		t.Fatal("the document names no test")
	}
	for _, span := range named {
		files, err := filepath.Glob(span[1] + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range strings.Fields(span[2]) {
			exists := slices.ContainsFunc(files, func(file string) bool {
				source, err := os.ReadFile(file)
				return err == nil && strings.Contains(string(source), "func "+name+"(")
			})
			if !exists {
				t.Errorf("there is no test %s in internal/%s", name, span[1])
			}
		}
		if span[4] != "" { // a story
			source, err := os.ReadFile(span[1] + "/testdata/" + span[3] + ".txtar")
			if err != nil || !strings.Contains(string(source), "-- "+strings.ReplaceAll(span[4], "_", " ")+" --\n") {
				t.Errorf("there is no story %s", span[0])
			}
		}
	}
}

// Whatever makes a receiving method payable, or the default, goes through makePayable, or comes from an
// approval: no command, route or page of any package stores that by itself.
func TestOneFunctionMakesMethodsPayable(t *testing.T) {
	stores := regexp.MustCompile(`INSERT INTO receiving_method |UPDATE receiving_method [^` + "`" + `]*('active'|payable_at = |default_since = \$)|setStatus\([^)]*MethodActive|\.activate\(|s\.approve\(tx, e, `)
	found := map[string]int{}
	err := filepath.WalkDir("..", func(name string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		if n := len(stores.FindAll(text, -1)); n > 0 {
			found[filepath.ToSlash(name)] = n
		}
		return err
	})
	// In payable.go these are activate, which makePayable and approve call, and insertMethod, which stores what
	// waits; in method_approval.go it is applyMethod, which carries an approval out, and in line_decide.go
	// decideMethod, which does so for a line of one; in method_move.go it is placeMethods, which stores what waits, and returnMethods, where one person suffices.
	want := map[string]int{"../internal/directory/payable.go": 5, "../internal/directory/method_approval.go": 1, "../internal/directory/line_decide.go": 1, "../internal/directory/method_move.go": 2}
	if err != nil || !maps.Equal(found, want) {
		t.Errorf("methods are made payable in %v, want %v, %v", found, want, err)
	}
}

// Whatever else is read decides something, and that is for the primary: the list of approvals, for
// one, also reads who may decide them.
func TestOnlyTheseListsMayComeFromAReplica(t *testing.T) {
	want := []string{
		"auditlog/service.go", "directory/deleted.go", "directory/merge.go", "directory/service.go", "directory/transfer/import.go",
		"ledger/service.go", "ledger/service.go", "payout/list.go",
	}
	var found []string
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for range strings.Count(string(text), ".ReadList(") {
			found = append(found, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(found, want) {
		t.Errorf("ReadList is called in %v, want %v", found, want)
	}
}

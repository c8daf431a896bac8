package e2e_test

import (
	"go/parser"
	"go/token"
	"os"
	"slices"
	"testing"
)

// The program is built from cmd/bursar, which these tests do not import. go test runs them again when it changes because
// this one reads it, and when anything below internal/cli changes because main_test.go imports that.
func TestTheProgramIsTheCommandLineAlone(t *testing.T) {
	const file = "../../cmd/bursar/main.go"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for _, spec := range parsed.Imports {
		if len(spec.Path.Value) > 8 && spec.Path.Value[:8] == "\"bursar/" {
			own = append(own, spec.Path.Value)
		}
	}
	if !slices.Equal(own, []string{`"bursar/internal/cli"`}) {
		t.Errorf("it imports %v", own)
	}
}

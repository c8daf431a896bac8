package server_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// exemption is a place that may leave no row, and why.
type exemption struct{ File, Why string }

func TestExemptionsFromTheAuditLogArePinned(t *testing.T) {
	want := []exemption{
		{"directory/method.go", "nothing changed"},
		{"directory/service.go", "another node purged the entry"},
		{"directory/service.go", "nothing changed"},
		{"directory/service.go", "the entry is not deleted"},
		{"directory/tag.go", "nothing changed"},
		{"identity/account.go", "nothing changed"},
		{"identity/browser.go", "being seen is not an act"},
		{"identity/device.go", "a device code is not an action until somebody approves or denies it"},
		{"identity/device.go", "another poll has picked up the token"},
		{"identity/service.go", "nobody asked for the secrets of a new store"},
		{"identity/session.go", "the session was ended a moment ago"},
		{"server/housekeeping.go", "what has expired ends by itself"},
		{"setup/address.go", "the public address is part of the server's configuration"},
		{"signin/passkey.go", "the sign-in that follows is recorded"},
		{"signin/profile.go", "nothing changed"},
		{"signin/recover.go", "a link was mailed a moment ago"},
		{"signin/sso.go", "single sign-on found the account as it was"},
		{"signin/totp.go", "the sign-in that follows is recorded"},
		{"signin/totp.go", "a wrong code changes nothing"},
		{"signin/totp.go", "a wrong code changes nothing"},
		{"slug/update.go", "nothing changed"},
		{"web/handle.go", "a refused request changes nothing"},
		{"workspace/member.go", "the role is held already"},
		{"workspace/role.go", "nothing changed"},
		{"workspace/role.go", "the role is held already"},
	}
	if diff := cmp.Diff(want, exemptions(t, "..")); diff != "" {
		t.Errorf("pinned (-), found (+): a new exemption needs a decision\n%s", diff)
	}
}

// exemptions finds the calls of audit.None in product code, by file and reason.
func exemptions(t *testing.T, root string) []exemption {
	t.Helper()
	var found []exemption
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		ast.Inspect(file, func(node ast.Node) bool {
			if why, ok := exempts(node); ok {
				found = append(found, exemption{filepath.ToSlash(name), why})
			}
			return true
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(found, func(a, b exemption) int { return strings.Compare(a.File+"\x00"+a.Why, b.File+"\x00"+b.Why) })
	return found
}

// exempts says whether a node is a call of audit.None, and its reason. A reason
// that is not a plain text is none, and matches no pin.
func exempts(node ast.Node) (why string, ok bool) {
	call, isCall := node.(*ast.CallExpr)
	if !isCall {
		return "", false
	}
	function, isSelector := call.Fun.(*ast.SelectorExpr)
	if !isSelector || function.Sel.Name != "None" {
		return "", false
	}
	if pkg, isName := function.X.(*ast.Ident); !isName || pkg.Name != "audit" {
		return "", false
	}
	if text, isText := call.Args[0].(*ast.BasicLit); isText {
		why, _ = strconv.Unquote(text.Value)
	}
	return why, true
}

package server_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fragment is a piece of SQL in the source. Its parts are constant; what stands
// between them is not.
type fragment struct {
	file  string
	parts []string
}

// in says whether a statement may have been made of it.
func (f fragment) in(sql string) bool {
	for _, part := range f.parts {
		at := strings.Index(sql, part)
		if at < 0 {
			return false
		}
		sql = sql[at+len(part):]
	}
	return true
}

func (f fragment) String() string { return f.file + ": " + strings.Join(f.parts, "…") }

// sqlForm is what a text has that is SQL, or the end of some.
var sqlForm = regexp.MustCompile(`\b(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|WHERE|ORDER BY|RETURNING|EXISTS)\s|^ (AND|OR|FOR|LIMIT) `)

// fragments finds all SQL of the product below a folder.
func fragments(t *testing.T, root string) []fragment {
	t.Helper()
	packages := map[string]map[string]*ast.File{}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		forTests := strings.HasSuffix(path, "_test.go") || strings.Contains(filepath.ToSlash(path), "test/")
		if err != nil || !strings.HasSuffix(path, ".go") || forTests {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		dir, name := filepath.Split(path)
		if packages[dir] == nil {
			packages[dir] = map[string]*ast.File{}
		}
		packages[dir][name] = parsed
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var found []fragment
	for dir, files := range packages {
		named := constants(files)
		for name, file := range files {
			path, err := filepath.Rel(root, filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				expression, ok := n.(ast.Expr)
				if !ok {
					return true
				}
				parts, text := flatten(expression, named)
				if text && slices.ContainsFunc(parts, sqlForm.MatchString) {
					found = append(found, fragment{filepath.ToSlash(path), parts})
				}
				return !text
			})
		}
	}
	return found
}

// constants are the texts of a package that have a name.
func constants(files map[string]*ast.File) map[string]string {
	named := map[string]string{}
	for _, file := range files {
		for _, declaration := range file.Decls {
			group, ok := declaration.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				values := spec.(*ast.ValueSpec)
				for i, value := range values.Values {
					if parts, text := flatten(value, nil); text {
						named[values.Names[i].Name] = strings.Join(parts, "")
					}
				}
			}
		}
	}
	return named
}

// flatten takes an expression apart into the constant parts of its text. text is
// false where it is something else, or a name alone, whose text is found where it
// is declared.
func flatten(expression ast.Expr, named map[string]string) (parts []string, text bool) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		if value, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return []string{value}, true
		}
	case *ast.Ident:
		if value, ok := named[e.Name]; ok {
			return []string{value}, false
		}
	case *ast.BinaryExpr:
		left, one := flatten(e.X, named)
		right, other := flatten(e.Y, named)
		return append(left, right...), e.Op == token.ADD && (one || other)
	}
	return nil, false
}

// Package build makes the programs that are measured, from source.
package build

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program is one to build.
type Program struct {
	Name    string
	Dir     string // of its module
	Package string
	Tags    string
	Cgo     bool
}

// Bursar is the product, built as for a release.
func Bursar(root string) Program {
	return Program{Name: "bursar", Dir: root, Package: "./cmd/bursar"}
}

// PocketBase is a peer, in a module of its own.
func PocketBase(root string) Program {
	return Program{Name: "pocketbase", Dir: filepath.Join(root, "bench", "peer", "pocketbase"), Package: "."}
}

// Kratos is a peer; its SQLite driver is written in C.
func Kratos(root string) Program {
	return Program{Name: "kratos", Dir: filepath.Join(root, "bench", "peer", "kratos"), Package: ".", Tags: "sqlite", Cgo: true}
}

// Into builds the program into a folder and returns where it is. What is there and
// up to date is left as it is.
func (p Program) Into(ctx context.Context, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("build %s: %w", p.Name, err)
	}
	path := filepath.Join(dir, p.Name)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-tags", p.Tags, "-o", path, p.Package)
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if p.Cgo {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	said, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("build %s: %w: %s", p.Name, err, firstLine(said))
	}
	return path, nil
}

// firstLine is what went wrong first; the rest mostly follows from it.
func firstLine(said []byte) string {
	for line := range bytes.Lines(said) {
		if text := string(bytes.TrimSpace(line)); text != "" && !strings.HasPrefix(text, "#") {
			return text
		}
	}
	return "it said nothing"
}

// Version is that of a module in a built program.
func Version(path, module string) (string, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the version of %s: %w", path, err)
	}
	for _, dep := range info.Deps {
		if dep.Path == module {
			return strings.TrimPrefix(dep.Version, "v"), nil
		}
	}
	return "", fmt.Errorf("%s has no module %s", path, module)
}

// Commit is the one that is checked out, with a plus where files differ from it;
// it is empty where git does not tell.
func Commit(ctx context.Context, root string) string {
	commit, err := exec.CommandContext(ctx, "git", "-C", root, "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return ""
	}
	changed, err := exec.CommandContext(ctx, "git", "-C", root, "status", "--porcelain", "--", "*.go", "*.sql", "go.mod").Output()
	text := strings.TrimSpace(string(commit))
	if err != nil || len(changed) > 0 {
		text += "+"
	}
	return text
}

// Root finds the source of the product, from a folder in it.
func Root(from string) (string, error) {
	dir, err := filepath.Abs(from)
	if err != nil {
		return "", fmt.Errorf("find the source of Bursar: %w", err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module bursar\n") {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find the source of Bursar: run this in its folder")
		}
		dir = parent
	}
}

package subject

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

// program is a program to build from source.
type program struct {
	name string
	dir  string // of its module
	pkg  string
	tags string
	cgo  bool
}

// BuildBursar builds the product as for a release.
func BuildBursar(ctx context.Context, root, dir string) (path string, err error) {
	return program{name: "bursar", dir: root, pkg: "./cmd/bursar"}.build(ctx, dir)
}

// BuildPocketBase builds a peer that is a module of its own.
func BuildPocketBase(ctx context.Context, root, dir string) (path, version string, err error) {
	p := program{name: "pocketbase", dir: filepath.Join(root, "bench", "peer", "pocketbase"), pkg: "."}
	return p.versioned(ctx, dir, "github.com/pocketbase/pocketbase")
}

// BuildKratos builds a peer that is a module of its own; its SQLite driver is written in C.
func BuildKratos(ctx context.Context, root, dir string) (path, version string, err error) {
	p := program{name: "kratos", dir: filepath.Join(root, "bench", "peer", "kratos"), pkg: ".", tags: "sqlite", cgo: true}
	return p.versioned(ctx, dir, "github.com/ory/kratos")
}

// versioned also returns the version of a module in the program.
func (p program) versioned(ctx context.Context, dir, module string) (path, version string, err error) {
	if path, err = p.build(ctx, dir); err != nil {
		return "", "", err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", "", fmt.Errorf("read the version of %s: %w", path, err)
	}
	for _, dep := range info.Deps {
		if dep.Path == module {
			return path, strings.TrimPrefix(dep.Version, "v"), nil
		}
	}
	return "", "", fmt.Errorf("%s has no module %s", path, module)
}

// build builds the program into a folder, unless it is there and up to date.
func (p program) build(ctx context.Context, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("build %s: %w", p.name, err)
	}
	path := filepath.Join(dir, p.name)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-tags", p.tags, "-o", path, p.pkg)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if p.cgo {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	said, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("build %s: %w: %s", p.name, err, firstLine(said))
	}
	return path, nil
}

// firstLine returns the first error of the compiler; the others mostly follow from it.
func firstLine(said []byte) string {
	for line := range bytes.Lines(said) {
		if text := string(bytes.TrimSpace(line)); text != "" && !strings.HasPrefix(text, "#") {
			return text
		}
	}
	return "no output"
}

// Commit returns the commit that is checked out, with a plus if files differ from it, or
// nothing if git fails.
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

// Root finds the source of Bursar, starting from a folder in it.
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
			return "", errors.New("find the source of Bursar: run this inside its repository")
		}
		dir = parent
	}
}

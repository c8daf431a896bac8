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

	"bursar/bench/plan"
)

// Setup is what subjects are made of.
type Setup struct {
	Root     string // source of Bursar
	Dir      string // for the stores, and for Bursar's binary
	Cache    string // for the binaries of the peers
	Sizes    plan.Sizes
	Postgres *Postgres // nil if it is not installed

	variant string // of the product; empty for the product itself
	at      string // the commit of the source, if it is not the one that is checked out
}

// build compiles a program into a folder, unless it is there and up to date. Only programs
// with a tag use cgo.
func build(ctx context.Context, source, pkg, tag, path string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-tags", tag, "-o", path, pkg)
	cmd.Dir, cmd.Env = source, append(os.Environ(), "CGO_ENABLED=0")
	if tag != "" {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("build %s: %w: %.400s", path, err, bytes.TrimSpace(out))
	}
	return nil
}

// bursar builds the product. It does not go into the cache, which other copies of the source share.
func (s Setup) bursar(ctx context.Context) (path string, err error) {
	path = filepath.Join(s.Dir, "bursar")
	return path, build(ctx, s.Root, "./cmd/bursar", "", path)
}

// extract copies the source of Bursar at a commit into the cache, unless it is there, so that it is compiled once.
func (s Setup) extract(ctx context.Context, commit string) (root string, err error) {
	hash, err := output(ctx, "git", "-C", s.Root, "rev-parse", "--verify", commit+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("find the commit %s: %w", commit, err)
	}
	root = filepath.Join(s.Cache, "source-"+strings.TrimSpace(string(hash)))
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	archive, part := filepath.Join(s.Dir, "source.tar"), root+".part"
	if err := errors.Join(os.RemoveAll(part), os.MkdirAll(part, 0o700)); err != nil {
		return "", fmt.Errorf("make a folder for the source of %s: %w", commit, err)
	}
	if _, err := output(ctx, "git", "-C", s.Root, "archive", "--output", archive, commit); err != nil {
		return "", fmt.Errorf("read the source of %s: %w", commit, err)
	}
	if _, err := output(ctx, "tar", "-xf", archive, "-C", part); err != nil {
		return "", fmt.Errorf("extract the source of %s: %w", commit, err)
	}
	return root, os.Rename(part, root)
}

// peer builds a peer, which is a separate module, and returns the version of a module in it.
func (s Setup) peer(ctx context.Context, name, tag, module string) (path, version string, err error) {
	path = filepath.Join(s.Cache, name)
	if err := build(ctx, filepath.Join(s.Root, "bench", "peer", name), ".", tag, path); err != nil {
		return "", "", err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", "", fmt.Errorf("read the version of %s: %w", path, err)
	}
	for _, dep := range info.Deps {
		if dep.Path == module {
			version = strings.TrimPrefix(dep.Version, "v")
		}
	}
	return path, version, nil
}

// commit returns the commit that is checked out, with a plus if files differ from it, or
// nothing if git fails.
func (s Setup) commit(ctx context.Context) string {
	if s.at != "" {
		return s.at
	}
	out, err := exec.CommandContext(ctx, "git", "-C", s.Root, "describe", "--always", "--dirty=+", "--exclude=*").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
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

// Package profile stores the settings of the command line between calls: the servers that a person uses, and a credential for each.
package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Profile lists the servers that a person uses, and their choices on each. It holds no secrets.
type Profile struct {
	Current  string              `json:"current"`
	Contexts map[string]*Context `json:"contexts"`

	path string
}

// Context is a server that a person has signed in to.
type Context struct {
	URL       string `json:"url"`
	User      string `json:"user,omitempty"`      // email address of the person who is signed in
	Workspace string `json:"workspace,omitempty"` // id of the default workspace
}

// Dir returns the folder that holds the files of the command line.
func Dir(env func(string) (string, bool)) (string, error) {
	if dir, ok := env("BURSAR_CONFIG_DIR"); ok && dir != "" {
		return dir, nil
	}
	if dir, ok := env("XDG_CONFIG_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "bursar"), nil
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return "", fmt.Errorf("find the settings folder: %w", err)
		}
		return filepath.Join(dir, "bursar"), nil
	}
	if home, ok := env("HOME"); ok && home != "" {
		return filepath.Join(home, ".config", "bursar"), nil
	}
	return "", errors.New("cannot find a settings folder because HOME is not set: set BURSAR_CONFIG_DIR")
}

// Load reads the profile from the settings folder. Without a file it is empty.
func Load(dir string) (*Profile, error) {
	p := &Profile{Contexts: map[string]*Context{}, path: filepath.Join(dir, "config.json")}
	text, err := os.ReadFile(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("read the settings in %s: %w", p.path, err)
	}
	if p.Contexts == nil {
		p.Contexts = map[string]*Context{}
	}
	for name, at := range p.Contexts {
		if at == nil || at.URL == "" {
			return nil, fmt.Errorf("read the settings in %s: context %q has no url; fix or delete the file", p.path, name)
		}
	}
	return p, nil
}

// Find returns the name of the context for a server. If several match, the current one wins.
func (p *Profile) Find(url string) (name string, found bool) {
	if at := p.Contexts[p.Current]; at != nil && at.URL == url {
		return p.Current, true
	}
	for _, name := range slices.Sorted(maps.Keys(p.Contexts)) {
		if p.Contexts[name].URL == url {
			return name, true
		}
	}
	return "", false
}

// ServerURL normalizes the address of a server, so that addresses can be compared. It adds https, removes /v1 and puts the host in lower
// case.
func ServerURL(text string) string {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	text = strings.TrimSuffix(strings.TrimRight(text, "/"), "/v1")
	scheme, rest, _ := strings.Cut(text, "://")
	host, path, _ := strings.Cut(rest, "/")
	if path != "" {
		path = "/" + path
	}
	return strings.ToLower(scheme) + "://" + strings.ToLower(host) + path
}

// Save writes the profile.
func (p *Profile) Save() error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the settings: %w", err)
	}
	return writePrivate(p.path, append(text, '\n'))
}

// writePrivate replaces a file atomically, so that a crash leaves either the old or
// the new content. Only the owner can read the file.
func writePrivate(path string, data []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the settings folder: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".bursar-*") // with mode 0600
	if err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	return nil
}

// ContextName returns the name of a new context: the host of its server.
func ContextName(url string) string {
	_, host, _ := strings.Cut(url, "://")
	host, _, _ = strings.Cut(host, "/")
	return host
}

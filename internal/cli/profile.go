package cli

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

// profile is what the command line remembers between calls: the servers that
// somebody works with, and what is chosen on each. It holds no secrets.
type profile struct {
	Current  string             `json:"current"`
	Contexts map[string]*target `json:"contexts"`

	path string
}

// target is a server that somebody works with.
type target struct {
	URL       string `json:"url"`
	User      string `json:"user,omitempty"`      // email address of who is signed in
	Workspace string `json:"workspace,omitempty"` // id of the default workspace
}

// settingsFolder is where the command line keeps its files.
func settingsFolder(env func(string) (string, bool)) (string, error) {
	if dir, ok := env("BURSAR_CONFIG_DIR"); ok && dir != "" {
		return dir, nil
	}
	if dir, ok := env("XDG_CONFIG_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "bursar"), nil
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return "", fmt.Errorf("find the folder for settings: %w", err)
		}
		return filepath.Join(dir, "bursar"), nil
	}
	if home, ok := env("HOME"); ok && home != "" {
		return filepath.Join(home, ".config", "bursar"), nil
	}
	return "", errors.New("there is no folder for settings: set BURSAR_CONFIG_DIR")
}

func loadProfile(dir string) (*profile, error) {
	p := &profile{Contexts: map[string]*target{}, path: filepath.Join(dir, "config.json")}
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
		p.Contexts = map[string]*target{}
	}
	for name, at := range p.Contexts {
		if at == nil || at.URL == "" {
			return nil, fmt.Errorf("read the settings in %s: the context %q has no address; mend or remove the file", p.path, name)
		}
	}
	return p, nil
}

// named finds the context of a server, the current one before others.
func (p *profile) named(url string) (name string, found bool) {
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

// serverURL is an address as it is stored and compared: without the version, and
// with the host in lower case.
func serverURL(text string) string {
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

func (p *profile) save() error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the settings: %w", err)
	}
	return writePrivately(p.path, append(text, '\n'))
}

// writePrivately replaces a file at once, so that a crash leaves the old one or the
// new one, readable by its owner alone.
func writePrivately(path string, data []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder for settings: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".bursar-*") // of mode 0600
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

// contextName is what a new context is called: the host of its server.
func contextName(url string) string {
	_, host, _ := strings.Cut(url, "://")
	host, _, _ = strings.Cut(host, "/")
	return host
}

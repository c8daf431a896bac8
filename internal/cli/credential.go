package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zalando/go-keyring"
)

// credential is what opens a server: an API key, or a session token.
type credential struct {
	APIKey    string `json:"api_key,omitempty"`
	Token     string `json:"token,omitempty"`
	ExpiresAt int64  `json:"expires_at,omitempty"` // of the token, Unix milliseconds; 0 where it is not known
	URL       string `json:"url,omitempty"`        // of the server that it is for, and for no other
}

func (c credential) empty() bool { return c.APIKey == "" && c.Token == "" }

// read tells an API key from a session token.
func readCredential(text string) (credential, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return credential{}, errors.New("there is nothing to read: give an API key or a token on standard input")
	case strings.HasPrefix(text, "bk_"):
		return credential{APIKey: text}, nil
	case strings.Count(text, ".") == 2:
		return credential{Token: text, ExpiresAt: expiryOf(text)}, nil
	}
	return credential{}, errors.New("this is neither an API key (bk_…) nor a session token")
}

// vault keeps credentials by the name of their context: in the keyring of the
// system where there is one, else in a file that its owner alone can read.
type vault struct {
	file    string
	keyring bool
}

const keyringService = "bursar"

func openVault(dir string, env func(string) (string, bool)) vault {
	mode, _ := env("BURSAR_KEYRING")
	return vault{file: filepath.Join(dir, "credentials.json"), keyring: mode != "off"}
}

// load finds the credential of a context. One that was kept for another server is
// none.
func (v vault) load(name, url string) (credential, error) {
	all, err := v.loadFile()
	c := all[name]
	if err == nil && c.empty() && v.keyring {
		if text, found := keyring.Get(keyringService, name); found == nil {
			if err := json.Unmarshal([]byte(text), &c); err != nil {
				return credential{}, fmt.Errorf("read the credential in the keyring: %w", err)
			}
		}
	}
	if c.URL != url {
		return credential{}, err
	}
	return c, err
}

func (v vault) loadFile() (map[string]credential, error) {
	all := map[string]credential{}
	text, err := os.ReadFile(v.file)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the credentials: %w", err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read the credentials in %s: %w", v.file, err)
	}
	if all == nil {
		all = map[string]credential{}
	}
	return all, nil
}

// store keeps a credential and says where.
func (v vault) store(name string, c credential) (where string, err error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode the credential: %w", err)
	}
	if v.keyring && keyring.Set(keyringService, name, string(text)) == nil {
		return "the keyring of the system", v.forgetInFile(name)
	}
	all, err := v.loadFile()
	if err != nil {
		return "", err
	}
	all[name] = c
	return v.file, v.saveFile(all)
}

func (v vault) saveFile(all map[string]credential) error {
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the credentials: %w", err)
	}
	return writePrivately(v.file, append(text, '\n'))
}

func (v vault) forget(name string) error {
	if err := v.forgetInFile(name); err != nil || !v.keyring {
		return err
	}
	if _, err := keyring.Get(keyringService, name); err != nil {
		return nil // there is no keyring, or it does not hold this
	}
	if err := keyring.Delete(keyringService, name); err != nil {
		return fmt.Errorf("take the credential out of the keyring: %w", err)
	}
	return nil
}

func (v vault) forgetInFile(name string) error {
	all, err := v.loadFile()
	if err != nil {
		return err
	}
	if _, known := all[name]; !known {
		return nil
	}
	delete(all, name)
	return v.saveFile(all)
}

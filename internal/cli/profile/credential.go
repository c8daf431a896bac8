package profile

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zalando/go-keyring"
)

// Credential signs in to a server: an API key or a session token.
type Credential struct {
	APIKey    string `json:"api_key,omitempty"`
	Token     string `json:"token,omitempty"`
	ExpiresAt int64  `json:"expires_at,omitempty"` // of the token, in Unix milliseconds; 0 if unknown
	URL       string `json:"url,omitempty"`        // the only server that the credential may be sent to
}

// Empty reports whether there is no credential.
func (c Credential) Empty() bool { return c.APIKey == "" && c.Token == "" }

// ParseCredential parses an API key or a session token.
func ParseCredential(text string) (Credential, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return Credential{}, errors.New("standard input is empty: pass an API key or a session token")
	case strings.HasPrefix(text, "bk_"):
		return Credential{APIKey: text}, nil
	case strings.Count(text, ".") == 2:
		return Credential{Token: text, ExpiresAt: TokenExpiry(text)}, nil
	}
	return Credential{}, errors.New("this is neither an API key (bk_…) nor a session token")
}

// CredentialStore keeps one credential for each context: in the system's keyring if
// there is one, else in a file that only its owner can read.
type CredentialStore struct {
	file    string
	keyring bool
}

const keyringService = "bursar"

// OpenCredentials returns the store in a settings folder. BURSAR_KEYRING=off makes it
// use the file.
func OpenCredentials(dir string, env func(string) (string, bool)) CredentialStore {
	mode, _ := env("BURSAR_KEYRING")
	return CredentialStore{file: filepath.Join(dir, "credentials.json"), keyring: mode != "off"}
}

// Load returns the credential of a context. A credential that was stored for another
// server is ignored, so that it is never sent to the wrong one.
func (s CredentialStore) Load(name, url string) (Credential, error) {
	all, err := s.loadFile()
	c := all[name]
	if err == nil && c.Empty() && s.keyring {
		if text, found := keyring.Get(keyringService, name); found == nil {
			if err := json.Unmarshal([]byte(text), &c); err != nil {
				return Credential{}, fmt.Errorf("read the credential in the keyring: %w", err)
			}
		}
	}
	if c.URL != url {
		return Credential{}, err
	}
	return c, err
}

func (s CredentialStore) loadFile() (map[string]Credential, error) {
	all := map[string]Credential{}
	text, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the credentials: %w", err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read the credentials in %s: %w", s.file, err)
	}
	if all == nil {
		all = map[string]Credential{}
	}
	return all, nil
}

// Store saves a credential and returns where.
func (s CredentialStore) Store(name string, c Credential) (where string, err error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode the credential: %w", err)
	}
	if s.keyring && keyring.Set(keyringService, name, string(text)) == nil {
		return "the system keyring", s.forgetInFile(name)
	}
	all, err := s.loadFile()
	if err != nil {
		return "", err
	}
	all[name] = c
	return s.file, s.saveFile(all)
}

func (s CredentialStore) saveFile(all map[string]Credential) error {
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the credentials: %w", err)
	}
	return writePrivate(s.file, append(text, '\n'))
}

// Forget deletes the credential of a context.
func (s CredentialStore) Forget(name string) error {
	if err := s.forgetInFile(name); err != nil || !s.keyring {
		return err
	}
	if _, err := keyring.Get(keyringService, name); err != nil {
		return nil // there is no keyring, or it holds no such credential
	}
	if err := keyring.Delete(keyringService, name); err != nil {
		return fmt.Errorf("delete the credential from the keyring: %w", err)
	}
	return nil
}

func (s CredentialStore) forgetInFile(name string) error {
	all, err := s.loadFile()
	if err != nil {
		return err
	}
	if _, known := all[name]; !known {
		return nil
	}
	delete(all, name)
	return s.saveFile(all)
}

// TokenExpiry returns when a session token expires, in Unix milliseconds, or 0 if the token does not contain it.
func TokenExpiry(token string) int64 {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return 0
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Expires int64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(text, &claims) != nil {
		return 0
	}
	return claims.Expires * 1000
}

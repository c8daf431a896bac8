package profile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"bursar/internal/cli/term/termtest"
)

const (
	testURL   = "https://pay.example.com"
	testKey   = "bk_00000000000000000000000000000000000a"
	testToken = "e30.eyJleHAiOjE3MDAwMDAwMDB9.c2ln" // ends at 1700000000
)

func TestKeyAndTokenAreDistinguished(t *testing.T) {
	for text, want := range map[string]Credential{
		testKey:                 {APIKey: testKey},
		"  " + testKey + "\r\n": {APIKey: testKey},
		testToken + "\n":        {Token: testToken, ExpiresAt: 1700000000000},
		"a.b.c":                 {Token: "a.b.c"},
		"":                      {},
		" \n":                   {},
		"hunter2":               {},
	} {
		got, err := ParseCredential(text)
		if got != want || (err != nil) != want.Empty() {
			t.Errorf("%q is read as %+v, %v", text, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows what was given: %v", err)
		}
	}
}

// inKeyring is a CredentialStore on a keyring in memory. What it asks of the keyring is
// global: these tests do not run side by side.
func inKeyring(t *testing.T) CredentialStore {
	t.Helper()
	keyring.MockInit()
	return OpenCredentials(t.TempDir(), termtest.Env())
}

func TestKeyringKeepsCredentialsWhereThereIsOne(t *testing.T) {
	v := inKeyring(t)
	where, err := v.Store(testURL, Credential{APIKey: testKey, URL: testURL})
	if err != nil || !strings.Contains(where, "keyring") {
		t.Fatalf("stored in %s: %v", where, err)
	}
	if _, err := os.Stat(v.file); err == nil {
		t.Error("there is a file as well")
	}
	if got, err := v.Load(testURL, testURL); err != nil || got.APIKey != testKey {
		t.Errorf("loaded %+v, %v", got, err)
	}
	if got, err := v.Load("https://other.example.com", "https://other.example.com"); err != nil || !got.Empty() {
		t.Errorf("another server gets %+v, %v", got, err)
	}
	if err := v.Forget(testURL); err != nil {
		t.Fatal(err)
	}
	if got, err := v.Load(testURL, testURL); err != nil || !got.Empty() {
		t.Errorf("after it was forgotten: %+v, %v", got, err)
	}
	if err := v.Forget(testURL); err != nil {
		t.Errorf("forget it again: %v", err)
	}
}

func TestKeyringTakesOverFromTheFile(t *testing.T) {
	v := inKeyring(t)
	file := v
	file.keyring = false
	if _, err := file.Store(testURL, Credential{APIKey: "bk_old", URL: testURL}); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Store("https://other.example.com", Credential{APIKey: "bk_other", URL: "https://other.example.com"}); err != nil {
		t.Fatal(err)
	}
	if got, err := v.Load(testURL, testURL); err != nil || got.APIKey != "bk_old" {
		t.Errorf("what is in the file is not found: %+v, %v", got, err)
	}
	if _, err := v.Store(testURL, Credential{APIKey: testKey, URL: testURL}); err != nil {
		t.Fatal(err)
	}
	text := string(must(os.ReadFile(v.file)))
	if strings.Contains(text, "bk_old") || !strings.Contains(text, "bk_other") {
		t.Errorf("the file holds %s", text)
	}
}

func TestFileKeepsCredentialsWhereThereIsNoKeyring(t *testing.T) {
	keyring.MockInitWithError(errors.New("no such bus"))
	v := OpenCredentials(t.TempDir(), termtest.Env())
	where, err := v.Store(testURL, Credential{APIKey: testKey, URL: testURL})
	if err != nil || where != v.file {
		t.Fatalf("stored in %s: %v", where, err)
	}
	if got, err := v.Load(testURL, testURL); err != nil || got.APIKey != testKey {
		t.Errorf("loaded %+v, %v", got, err)
	}
	if err := v.Forget(testURL); err != nil {
		t.Fatal(err)
	}
	if text := string(must(os.ReadFile(v.file))); strings.Contains(text, testKey) {
		t.Errorf("the file holds %s", text)
	}
}

func TestKeyringCanBeSwitchedOff(t *testing.T) {
	keyring.MockInit()
	v := OpenCredentials(t.TempDir(), termtest.Env("BURSAR_KEYRING", "off"))
	if where, err := v.Store(testURL, Credential{APIKey: testKey, URL: testURL}); err != nil || where != v.file {
		t.Fatalf("stored in %s: %v", where, err)
	}
	if _, err := keyring.Get(keyringService, testURL); err == nil {
		t.Error("it is in the keyring as well")
	}
}

func TestDamagedKeyringEntryIsAnError(t *testing.T) {
	v := inKeyring(t)
	if err := keyring.Set(keyringService, testURL, "{"); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Load(testURL, testURL); err == nil || !strings.Contains(err.Error(), "keyring") {
		t.Errorf("the error is %v", err)
	}
}

func TestCredentialsFileOfAnotherUserIsAnError(t *testing.T) {
	v := CredentialStore{file: filepath.Join(t.TempDir(), "credentials.json")}
	if err := os.Mkdir(v.file, 0o700); err != nil { // a folder cannot be read as a file by anyone
		t.Fatal(err)
	}
	if _, err := v.Load(testURL, testURL); err == nil || !strings.Contains(err.Error(), v.file) {
		t.Errorf("the error is %v", err)
	}
}

func TestCredentialIsForItsServerAlone(t *testing.T) {
	v := CredentialStore{file: filepath.Join(t.TempDir(), "credentials.json")}
	if _, err := v.Store("work", Credential{APIKey: testKey, URL: testURL}); err != nil {
		t.Fatal(err)
	}
	if got, err := v.Load("work", "https://other.example.com"); err != nil || !got.Empty() {
		t.Errorf("another server gets %v, %v", got, err)
	}
}

func TestExpiryIsReadFromTheToken(t *testing.T) {
	for token, want := range map[string]int64{
		testToken:          1700000000000,
		"e30.e30.e30":      0,
		"e30.!!.e30":       0,
		"e30.bm90anNvbg.x": 0,
		"two.parts":        0,
		"":                 0,
	} {
		if got := TokenExpiry(token); got != want {
			t.Errorf("%q ends at %d", token, got)
		}
	}
}

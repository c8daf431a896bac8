package servertest

import (
	"encoding/base64"
	"hash/crc32"
	"strings"
	"testing"

	"bursar/internal/db"
	"bursar/internal/identity"
)

// NewKey creates an API key for a new user, as an operator does.
func (n *Node) NewKey(t testing.TB, key identity.NewKey) (email, id, secret string) {
	t.Helper()
	email = NewEmail()
	if _, err := n.Identity.CreateUser(t.Context(), db.Caller{}, email, "Key Holder"); err != nil {
		t.Fatalf("create a user: %v", err)
	}
	key.Name, key.Scope.Administer = "test", true
	id, secret, err := n.Identity.CreateKeyFor(t.Context(), db.Caller{}, email, key)
	if err != nil {
		t.Fatalf("create a key: %v", err)
	}
	return email, id, secret
}

// Basic returns the Authorization header of a client with an id and a secret.
func Basic(id, secret string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret))
}

// OtherEnd returns the text with a different last character, which makes a secret wrong.
func OtherEnd(text string) string {
	end := "A"
	if strings.HasSuffix(text, end) {
		end = "B"
	}
	return text[:len(text)-1] + end
}

// WithChecksum turns a text into an API key with a valid checksum. The server has to look
// it up, because it cannot reject its format.
func WithChecksum(body string) string {
	const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum, check := crc32.ChecksumIEEE([]byte(body)), ""
	for range 6 {
		check = string(base62[sum%62]) + check
		sum /= 62
	}
	return "bk_" + body + check
}

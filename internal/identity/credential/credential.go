// Package credential generates and validates secrets (API keys, client, session and link secrets) and the codes that people
// type.
package credential

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"strings"
)

const (
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	secretLength = 30
	checkLength  = 6

	// codeAlphabet has no characters that are easily confused.
	codeAlphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
)

// New returns a random secret with a checksum, so that a secret scanner can distinguish a real secret from a look-alike.
func New(prefix string) string {
	body := randomText(base62, secretLength)
	return prefix + body + checksum(body)
}

// WellFormed reports whether a text has the form of a secret with the prefix.
func WellFormed(prefix, text string) bool {
	body, ok := strings.CutPrefix(text, prefix)
	if !ok || len(body) != secretLength+checkLength {
		return false
	}
	return checksum(body[:secretLength]) == body[secretLength:]
}

func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	out := make([]byte, checkLength)
	for i := checkLength - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return string(out)
}

// Hash returns the form in which a secret is stored. Secrets are long and random,
// so a plain hash is enough.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// randomText draws each character from the alphabet with equal probability.
func randomText(alphabet string, n int) string {
	limit := 256 - 256%len(alphabet)
	out := make([]byte, 0, n)
	var pool [64]byte
	for len(out) < n {
		rand.Read(pool[:])
		for _, b := range pool {
			if int(b) < limit && len(out) < n {
				out = append(out, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(out)
}

// NewCode returns a code that is easy to read and type. Each character holds five bits.
func NewCode(length int) string { return randomText(codeAlphabet, length) }

// ParseCode parses a code as typed by a person.
func ParseCode(typed string, length int) (code string, ok bool) {
	code = strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(typed))
	if len(code) != length {
		return "", false
	}
	for _, c := range code {
		if !strings.ContainsRune(codeAlphabet, c) {
			return "", false
		}
	}
	return code, true
}

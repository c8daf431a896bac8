package identity

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

	apiKeyPrefix       = "bk_"
	clientSecretPrefix = "bcs_"

	// codeAlphabet has no characters that are easily confused.
	codeAlphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
	codeLength   = 6
)

// newSecret makes a random secret with a checksum, so that a secret scanner can tell a
// real one from a look-alike.
func newSecret(prefix string) string {
	body := randomText(base62, secretLength)
	return prefix + body + checksum(body)
}

// wellFormed reports whether a text has the form of a secret with the prefix.
func wellFormed(prefix, text string) bool {
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

// hashSecret returns the form in which a secret is stored. Secrets are long and random,
// so a plain hash is enough.
func hashSecret(secret string) string {
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

// normalizeCode reads a device code as a person types it.
func normalizeCode(typed string) (code string, ok bool) {
	code = strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(typed))
	if len(code) != codeLength {
		return "", false
	}
	for _, c := range code {
		if !strings.ContainsRune(codeAlphabet, c) {
			return "", false
		}
	}
	return code, true
}

// RandomCode makes a code that people can read and type. Each character holds five bits.
func RandomCode(length int) string { return randomText(codeAlphabet, length) }

package web

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
)

// Sealer encrypts and authenticates values that a browser stores in a cookie, so that a
// sign-in in progress costs the server no memory.
type Sealer struct {
	seal cipher.AEAD
	now  func() int64
}

// NewSealer returns a Sealer. It derives its key from the key that all nodes share.
func NewSealer(key []byte, now func() int64) (*Sealer, error) {
	own, err := hkdf.Key(sha256.New, key, nil, "bursar sealed cookies", 32)
	if err != nil {
		return nil, fmt.Errorf("derive the key of sealed cookies: %w", err)
	}
	block, err := aes.NewCipher(own)
	if err != nil {
		return nil, fmt.Errorf("derive the key of sealed cookies: %w", err)
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("derive the key of sealed cookies: %w", err)
	}
	return &Sealer{seal: seal, now: now}, nil
}

type sealed[T any] struct {
	Until int64
	Value T
}

// Seal encrypts a value for a purpose. It can be opened until its lifetime ends.
func Seal[T any](s *Sealer, purpose string, value T, life time.Duration) (string, error) {
	text, err := json.Marshal(sealed[T]{s.now() + life.Milliseconds(), value})
	if err != nil {
		return "", fmt.Errorf("seal a %s: %w", purpose, err)
	}
	nonce := make([]byte, s.seal.NonceSize(), s.seal.NonceSize()+len(text)+s.seal.Overhead())
	rand.Read(nonce)
	return base64.RawURLEncoding.EncodeToString(s.seal.Seal(nonce, nonce, text, []byte(purpose))), nil
}

// Unseal opens the result of Seal for the same purpose, until its lifetime ends.
func Unseal[T any](s *Sealer, purpose, text string) (value T, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) < s.seal.NonceSize() {
		return value, false
	}
	n := s.seal.NonceSize()
	clear, err := s.seal.Open(nil, raw[:n], raw[n:], []byte(purpose))
	if err != nil {
		return value, false
	}
	var v sealed[T]
	if err := json.Unmarshal(clear, &v); err != nil || s.now() >= v.Until {
		return value, false
	}
	return v.Value, true
}

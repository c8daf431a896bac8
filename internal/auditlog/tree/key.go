package tree

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Key signs the checkpoints of a log. It also computes the tags of streams in leaves, so
// that no one else can identify the streams.
type Key struct {
	text     string
	verifier string
	signer   note.Signer
	tags     []byte
	states   []byte
}

// NewKey creates a key. Its name distinguishes it from those of other logs.
func NewKey() (*Key, error) {
	var name [4]byte
	if _, err := rand.Read(name[:]); err != nil {
		return nil, err
	}
	text, _, err := note.GenerateKey(rand.Reader, "bursar-audit-"+hex.EncodeToString(name[:]))
	if err != nil {
		return nil, err
	}
	return ParseKey(text)
}

// errNoKey contains nothing of the input, which may have most of a key.
var errNoKey = errors.New(`this is no key of an audit log: it has to be one line that begins with "PRIVATE+KEY+"`)

// ParseKey reads the text that String returns.
func ParseKey(text string) (*Key, error) {
	text = strings.TrimSpace(text)
	signer, err := note.NewSigner(text)
	if err != nil {
		return nil, errNoKey
	}
	parts := strings.SplitN(text, "+", 5) // the signer has checked that they exist
	secret, err := base64.StdEncoding.DecodeString(parts[4])
	if err != nil || len(secret) != 1+ed25519.SeedSize {
		return nil, errNoKey
	}
	seed := secret[1:] // after the byte with the kind of signature
	public := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
	verifier, err := note.NewEd25519VerifierKey(signer.Name(), public)
	if err != nil {
		return nil, errNoKey
	}
	tags, err := hkdf.Key(sha256.New, seed, nil, "bursar audit tag", sha256.Size)
	if err != nil {
		return nil, err
	}
	states, err := hkdf.Key(sha256.New, seed, nil, "bursar audit state", sha256.Size)
	if err != nil {
		return nil, err
	}
	return &Key{text: text, verifier: verifier, signer: signer, tags: tags, states: states}, nil
}

// String returns the key as in its file. Its holder can sign.
func (k *Key) String() string { return k.text + "\n" }

// Verifier returns the public key.
func (k *Key) Verifier() string { return k.verifier }

// Name returns the key's name, which is also the origin of its first log.
func (k *Key) Name() string { return k.signer.Name() }

// Authenticate returns a code for a text that only a holder of the key can compute.
func (k *Key) Authenticate(text string) string { return hex.EncodeToString(digest(k.states, text)) }

// Opening returns the value that proves to the owner of a stream that its tag is theirs:
// see Tag.
func (k *Key) Opening(stream string) [32]byte {
	return [32]byte(digest(k.tags, stream))
}

// Tag returns the tag of a stream in the leaves of its rows.
func (k *Key) Tag(stream string) [32]byte { return Tag(k.Opening(stream), stream) }

// Tag computes the tag of a stream from its opening and its name. No other name has the
// same tag, with any opening.
func Tag(opening [32]byte, stream string) [32]byte { return [32]byte(digest(opening[:], stream)) }

func digest(key []byte, text string) []byte {
	hash := hmac.New(sha256.New, key)
	hash.Write([]byte(text))
	return hash.Sum(nil)
}

// Sign returns the checkpoint of a tree. The same tree always gives the same text.
func (k *Key) Sign(origin string, size int64, root tlog.Hash) ([]byte, error) {
	return note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\n", origin, size, root)}, k.signer)
}

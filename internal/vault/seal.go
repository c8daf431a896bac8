package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"bursar/internal/db"
)

const (
	formatVersion = 1
	keySize       = 32
	nonceSize     = 12
	headerSize    = 1 + 8 + nonceSize
	// indexSize is large enough that no two values of a workspace have the same index.
	indexSize = 16
)

// dataKey is an unwrapped data key, with the keys that are derived from it.
type dataKey struct {
	id        int64
	workspace int64
	aead      cipher.AEAD
	index     []byte
	answers   []byte
}

// wrappedKey is a row of vault_key.
type wrappedKey struct {
	id, workspace int64
	master        masterKey
	wrapped       []byte
	retired       bool
}

func readWrapped(r db.Rows) wrappedKey {
	return wrappedKey{
		id: r.Int(0), workspace: r.Int(1), master: masterKey{version: r.Int(2), fingerprint: r.Text(3), wrapped: clone(r, 4)},
		wrapped: clone(r, 5), retired: !r.Null(6),
	}
}

// clone copies bytes, which are valid until the next row; NULL is nil.
func clone(r db.Rows, column int) []byte {
	if r.Null(column) {
		return nil
	}
	return append([]byte{}, r.Raw(column)...)
}

func newKey() []byte {
	key := make([]byte, keySize)
	rand.Read(key) // it never fails
	return key
}

func gcm(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func derive(key []byte, use string, size int) ([]byte, error) {
	return hkdf.Key(sha256.New, key, nil, "bursar vault "+use, size)
}

func newDataKey(id, workspace int64, secret []byte) (*dataKey, error) {
	k := &dataKey{id: id, workspace: workspace}
	sealing, err := derive(secret, "seal", keySize)
	if err != nil {
		return nil, err
	}
	if k.index, err = derive(secret, "index", keySize); err != nil {
		return nil, err
	}
	if k.answers, err = derive(secret, "answers", keySize); err != nil {
		return nil, err
	}
	k.aead, err = gcm(sealing)
	return k, err
}

// associated returns the additional data that the tag of a sealed value covers.
func associated(workspace int64, context string) []byte {
	bound := make([]byte, 0, 64+len(context))
	bound = append(bound, "bursar sealed value "...)
	bound = append(bound, formatVersion)
	bound = binary.BigEndian.AppendUint64(bound, uint64(workspace))
	return append(bound, context...)
}

func (k *dataKey) seal(workspace int64, context string, plaintext []byte) []byte {
	sealed := make([]byte, headerSize, headerSize+len(plaintext)+k.aead.Overhead())
	sealed[0] = formatVersion
	binary.BigEndian.PutUint64(sealed[1:], uint64(k.id))
	nonce := sealed[9:headerSize]
	rand.Read(nonce) // it never fails
	return k.aead.Seal(sealed, nonce, plaintext, associated(workspace, context))
}

func (k *dataKey) open(workspace int64, context string, sealed []byte) ([]byte, error) {
	if KeyOf(sealed) != k.id || workspace != k.workspace {
		return nil, ErrDamaged
	}
	plaintext, err := k.aead.Open([]byte{}, sealed[9:headerSize], sealed[headerSize:], associated(workspace, context))
	if err != nil {
		return nil, ErrDamaged // the error of the package has no more detail
	}
	return plaintext, nil
}

func (k *dataKey) indexOf(value string) []byte {
	hash := hmac.New(sha256.New, k.index)
	hash.Write([]byte(value))
	return hash.Sum(nil)[:indexSize]
}

// KeyOf returns the id of the data key that sealed a value. The column sealed_by stores it
// beside the value. It is 0 for bytes that are not a sealed value.
func KeyOf(sealed []byte) int64 {
	if len(sealed) < headerSize || sealed[0] != formatVersion {
		return 0
	}
	return int64(binary.BigEndian.Uint64(sealed[1:]))
}

// wrapContext prevents a wrapped data key from being used for another workspace.
func wrapContext(id, workspace int64) []byte {
	return fmt.Appendf(nil, "bursar data key %d %d", id, workspace)
}

func wrapping(master []byte) (cipher.AEAD, error) {
	if len(master) != keySize { // otherwise any key would be accepted
		return nil, fmt.Errorf("a master key has %d bytes, not %d", keySize, len(master))
	}
	key, err := derive(master, "wrap", keySize)
	if err != nil {
		return nil, err
	}
	return gcm(key)
}

func wrapKey(master []byte, id, workspace int64, secret []byte) ([]byte, error) {
	aead, err := wrapping(master)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, nonceSize)
	rand.Read(nonce) // it never fails
	return aead.Seal(nonce, nonce, secret, wrapContext(id, workspace)), nil
}

func unwrapKey(master []byte, id, workspace int64, wrapped []byte) ([]byte, error) {
	aead, err := wrapping(master)
	if err != nil {
		return nil, err
	}
	if len(wrapped) < nonceSize {
		return nil, ErrDamaged
	}
	secret, err := aead.Open(nil, wrapped[:nonceSize], wrapped[nonceSize:], wrapContext(id, workspace))
	if err != nil || len(secret) != keySize {
		return nil, ErrDamaged
	}
	return secret, nil
}

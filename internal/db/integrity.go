package db

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"sync"
)

// Integrity is the key that authenticates rows on which money depends. It records the state of the ledger at the creation of
// the key. A row that was written by SQL alone, without the program, has no valid code.
type Integrity struct {
	Key    []byte `json:"key"`
	Since  int64  `json:"since"`  // when the key was created
	Count  int64  `json:"count"`  // ledger transactions at that time, which this key has not authenticated
	Digest []byte `json:"digest"` // of those

	id     []byte     // identifies the key
	hashes *sync.Pool // of hashers
}

// NewIntegrity returns a new key.
func NewIntegrity(now int64) *Integrity {
	i := &Integrity{Key: make([]byte, sha256.Size), Since: now, hashes: new(sync.Pool)}
	rand.Read(i.Key) // it never fails
	i.id = i.keyID()
	return i
}

const (
	macKeyID  = 4 // bytes that identify the key of a code
	macLength = macKeyID + 16
)

// SetIntegrity sets the key. Without it, rows are stored without a code.
func (d *DB) SetIntegrity(i Integrity) {
	i.id, i.hashes = i.keyID(), new(sync.Pool)
	d.integrity.Store(&i)
}

// Integrity returns the key, or nil if none is loaded.
func (d *DB) Integrity() *Integrity { return d.integrity.Load() }

// Integrity returns the key of the store, or nil if none is loaded.
func (tx *Tx) Integrity() *Integrity { return tx.db.Integrity() }

// MAC returns the code of fields, which are strings, integers, booleans and bytes. The purpose keeps codes of different kinds of
// rows apart. Without a key it is nil.
func (i *Integrity) MAC(purpose string, fields ...any) []byte {
	if i == nil {
		return nil
	}
	h, _ := i.hashes.Get().(*hasher)
	if h == nil {
		h = &hasher{Hash: hmac.New(sha256.New, i.Key)}
	}
	defer i.hashes.Put(h)
	text := appendText(h.text[:0], purpose)
	for _, field := range fields {
		switch v := field.(type) {
		case string:
			text = appendText(append(text, 's'), v)
		case []byte:
			text = appendText(append(text, 'b'), string(v))
		case int64:
			text = binary.BigEndian.AppendUint64(append(text, 'i'), uint64(v))
		case bool:
			if text = append(text, 'f'); v {
				text[len(text)-1] = 't'
			}
		default:
			panic(fmt.Sprintf("a MAC of a %T", field)) // only the source code decides the type
		}
	}
	h.text = text
	h.Reset()
	h.Write(text)
	return append(append(make([]byte, 0, macLength), i.id...), h.Sum(h.sum[:0])[:macLength-macKeyID]...)
}

// hasher is a keyed hash with its memory. It computes one code at a time.
type hasher struct {
	hash.Hash
	text []byte
	sum  [sha256.Size]byte
}

// appendText appends a text with its length, so that no two lists of fields have the same encoding.
func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

func (i *Integrity) keyID() []byte {
	sum := sha256.Sum256(append([]byte("bursar integrity key\n"), i.Key...))
	return sum[:macKeyID]
}

// Names reports whether a code was computed with this key, by the key id in it. The code
// may still be invalid.
func (i *Integrity) Names(mac []byte) bool {
	return i != nil && len(mac) == macLength && bytes.HasPrefix(mac, i.id)
}

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

// Integrity is the key that authenticates rows on which money depends, with a record of what the ledger had before the key was
// made. A row that was written without the program, by SQL alone, has no valid code.
type Integrity struct {
	Key    []byte `json:"key"`
	Since  int64  `json:"since"`  // when the key was made
	Count  int64  `json:"count"`  // ledger transactions that this key has not authenticated, at that time
	Digest []byte `json:"digest"` // of those

	id     []byte     // names the key
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
	macKeyID  = 4 // bytes that name the key of a code
	macLength = macKeyID + 16
)

// SetIntegrity sets the key. Without it, rows are stored without a code.
func (d *DB) SetIntegrity(i Integrity) {
	i.id, i.hashes = i.keyID(), new(sync.Pool)
	d.integrity.Store(&i)
}

// Integrity returns the key, nil if none is loaded.
func (d *DB) Integrity() *Integrity { return d.integrity.Load() }

// Integrity returns the key of the store, nil if none is loaded.
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
			panic(fmt.Sprintf("a MAC of a %T", field)) // only the source decides that
		}
	}
	h.text = text
	h.Reset()
	h.Write(text)
	return append(append(make([]byte, 0, macLength), i.id...), h.Sum(h.sum[:0])[:macLength-macKeyID]...)
}

// hasher is a keyed hash with its memory, for one code after the other.
type hasher struct {
	hash.Hash
	text []byte
	sum  [sha256.Size]byte
}

// appendText appends a text with its length, so that no two lists of fields look the same.
func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

func (i *Integrity) keyID() []byte {
	sum := sha256.Sum256(append([]byte("bursar integrity key\n"), i.Key...))
	return sum[:macKeyID]
}

// Names reports whether a code names this key, which says nothing about its validity.
func (i *Integrity) Names(mac []byte) bool {
	return i != nil && len(mac) == macLength && bytes.HasPrefix(mac, i.id)
}

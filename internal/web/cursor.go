package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"strconv"
	"strings"
	"sync"
)

// macLength is how many bytes of the MAC a cursor has: forging one means guessing 128
// bits.
const macLength = 16

// Cursors encodes and decodes the opaque positions in lists. A cursor is valid only for
// the endpoint, the workspace and the filters that it was created for.
type Cursors struct {
	macs  sync.Pool // of hash.Hash: setting its key costs more than using it
	pages buffers
}

// NewCursors returns Cursors with a key that all nodes share.
func NewCursors(key []byte) *Cursors {
	return &Cursors{macs: sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

func (c *Cursors) make(scope, position string) string {
	return base64.RawURLEncoding.EncodeToString(append(c.mac(scope, position), position...))
}

func (c *Cursors) open(scope, cursor string) (position string, ok bool) {
	raw, ok := decodeCursor(cursor)
	if !ok {
		return "", false
	}
	position = string(raw[macLength:])
	return position, hmac.Equal(raw[:macLength], c.mac(scope, position))
}

func decodeCursor(cursor string) (raw []byte, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	return raw, err == nil && len(raw) > macLength && !strings.ContainsAny(cursor, "\r\n") // base64 ignores line breaks
}

func (c *Cursors) mac(scope, position string) []byte {
	h := c.macs.Get().(hash.Hash)
	defer c.macs.Put(h)
	h.Reset()
	text := make([]byte, 0, 256)
	text = append(append(append(text, scope...), 0), position...)
	h.Write(text)
	return h.Sum(text[:0])[:macLength]
}

// scopeText joins parts so that different parts never result in the same text.
func scopeText(parts []string) string {
	var text []byte
	for _, part := range parts {
		text = strconv.AppendInt(text, int64(len(part)), 10)
		text = append(text, ':')
		text = append(text, part...)
	}
	return string(text)
}

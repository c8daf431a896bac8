// Package tree proves that rows are in the audit log, unchanged and complete. The
// verifier need not trust the server or its operator. The package computes the leaves of
// the log's tree (RFC 6962), signs and reads its checkpoints (C2SP tlog-checkpoint), and
// writes and verifies proof files. It does not depend on a store. docs/audit.md describes
// the formats.
package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"golang.org/x/mod/sumdb/tlog"
)

// Stream is the log of a workspace, of an organization, or of the operator.
type Stream struct {
	Number int64
	Name   string // "workspace ws_…", "organization org_…" or "operator"
}

// PersonalDigest commits to the personal part of a row. The digest stays when the
// personal part is erased. The salt is erased with it and keeps anyone from guessing the content.
func PersonalDigest(salt, personal []byte) [32]byte {
	text := make([]byte, 0, 512)
	return sha256.Sum256(append(append(text, salt...), personal...))
}

// Commitment commits to the whole content of a row: its id, its entry and the digest of
// its personal part, each as stored.
func Commitment(id string, entry []byte, personal [32]byte) [32]byte {
	text := make([]byte, 0, 512)
	text = append(append(append(text, personal[:]...), id...), '\n')
	return sha256.Sum256(append(text, entry...))
}

// RowLeaf is the leaf of a row. Without the row, it reveals only which rows belong to the
// same stream.
func RowLeaf(number int64, tag [32]byte, seq int64, commitment [32]byte) []byte {
	return appendRowLeaf(make([]byte, 0, 256), number, tag, seq, commitment)
}

func appendRowLeaf(dst []byte, number int64, tag [32]byte, seq int64, commitment [32]byte) []byte {
	dst = append(dst, "bursar audit row v1\n"...)
	dst = append(strconv.AppendInt(dst, number, 10), ' ')
	dst = append(hex.AppendEncode(dst, tag[:]), '\n')
	dst = append(strconv.AppendInt(dst, seq, 10), '\n')
	return append(hex.AppendEncode(dst, commitment[:]), '\n')
}

// CountsLeaf is the last leaf of every signed tree. It commits to how many rows each
// stream has: see Counts.
func CountsLeaf(streams int64, root tlog.Hash) []byte {
	leaf := append([]byte("bursar audit counts v1\n"), strconv.FormatInt(streams, 10)...)
	return append(hex.AppendEncode(append(leaf, '\n'), root[:]), '\n')
}

// RestartLeaf is the first leaf of a log that continues a lost one. It contains the last
// checkpoint of the lost log.
func RestartLeaf(checkpoint []byte) []byte {
	return append([]byte("bursar audit restart v1\n"), checkpoint...)
}

// Package auditproof proves that rows are in the audit log, unchanged and complete, to
// somebody who trusts neither the server nor its operator. It computes the leaves of the
// log's tree (RFC 6962), signs and reads its checkpoints (C2SP tlog-checkpoint), and writes
// and verifies proof files. It knows no store: docs/audit.md tells the formats.
package auditproof

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

// PersonalDigest commits to what can be personal in a row. The digest stays when that is
// erased; the salt, which goes with it, keeps anybody from guessing what it was.
func PersonalDigest(salt, personal []byte) [32]byte {
	text := make([]byte, 0, 512)
	return sha256.Sum256(append(append(text, salt...), personal...))
}

// Commitment commits to all that a row says: its id, its entry and the digest of what can
// be personal, each as stored.
func Commitment(id string, entry []byte, personal [32]byte) [32]byte {
	text := make([]byte, 0, 512)
	text = append(append(append(text, personal[:]...), id...), '\n')
	return sha256.Sum256(append(text, entry...))
}

// RowLeaf is the leaf of a row. It tells those who do not have the row only which rows
// belong together.
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

// RestartLeaf is the first leaf of a log that goes on where another one was lost. It holds
// the last checkpoint of that one.
func RestartLeaf(checkpoint []byte) []byte {
	return append([]byte("bursar audit restart v1\n"), checkpoint...)
}

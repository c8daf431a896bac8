package tree

import (
	"archive/zip"
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"math/bits"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/tlog"

	"bursar/api"
)

// The parts of a proof file, which is a zip archive.
const (
	partCheckpoint = "checkpoint"
	partManifest   = "manifest.json"
	partTree       = "tree"
	partRows       = "rows.ndjson"
)

const (
	fileFormat  = "bursar audit log v1"
	proofFormat = "bursar audit proof v1"
)

// The tree of a proof file is its nodes from left to right, each a byte and a hash. The byte
// is the level of a subtree without rows of the stream, or the kind of a leaf.
const (
	nodeSize    = 1 + tlog.HashSize
	leafRow     = 'R' // a row of the stream
	leafRestart = 'S' // the first leaf of a log that was restarted
	leafCounts  = 'C' // the last leaf
)

// Manifest is the description of a proof file in the file itself. A verifier trusts none
// of it.
type Manifest struct {
	Format     string                `json:"format"`
	Key        string                `json:"key"` // the public key that the operator claims
	Stream     api.AuditProofStream  `json:"stream"`
	Count      int64                 `json:"count"`       // how many rows the stream has
	Streams    int64                 `json:"streams"`     // how many streams the log has
	CountsRoot []byte                `json:"counts_root"` // of the tree of counts
	Counts     [][]byte              `json:"counts"`      // the proof of the count in that tree
	Restart    string                `json:"restart,omitempty"`
	Since      *api.AuditConsistency `json:"since,omitempty"`
}

// Export is the content of a proof file besides its rows.
type Export struct {
	Checkpoint []byte
	Manifest   Manifest // WriteFile sets its format
	Size       int64    // of the checkpoint's tree
	Hashes     tlog.HashReader
	Leaves     iter.Seq2[int64, error] // the leaf indexes of the stream's rows, in order
}

// ProofStream returns the description of a stream in a proof.
func (k *Key) ProofStream(s Stream) api.AuditProofStream {
	opening, tag := k.Opening(s.Name), k.Tag(s.Name)
	return api.AuditProofStream{Number: s.Number, Name: s.Name, Tag: hex.EncodeToString(tag[:]), Opening: opening[:]}
}

// Consistency proves that the tree with the size now begins with the tree with the size then.
func Consistency(then, now int64, hashes tlog.HashReader) (*api.AuditConsistency, error) {
	list, err := tlog.ProveTree(now, then, hashes)
	if err != nil {
		return nil, err
	}
	return &api.AuditConsistency{Size: then, Hashes: Raw(list)}, nil
}

// Prove completes the proof of a row, which already identifies the row.
func Prove(proof api.AuditProof, size int64, hashes tlog.HashReader) (api.AuditProof, error) {
	list, err := tlog.ProveRecord(size, proof.Index, hashes)
	proof.Format, proof.Hashes = proofFormat, Raw(list)
	return proof, err
}

// Raw converts hashes to the form in proofs.
func Raw(hashes []tlog.Hash) [][]byte {
	all := make([][]byte, len(hashes))
	for i := range hashes {
		all[i] = hashes[i][:]
	}
	return all
}

// WriteFile writes a proof file. It keeps only a few rows in memory. The rows come first,
// in order. export is called for their proofs when all of them have been written.
func WriteFile(w io.Writer, at time.Time, rows iter.Seq2[api.AuditProofRow, error], export func() (Export, error)) error {
	file := zip.NewWriter(w)
	part := func(name string, method uint16, write func(io.Writer) error) error {
		out, err := file.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: at})
		if err != nil {
			return err
		}
		return write(out)
	}
	if err := part(partRows, zip.Deflate, func(out io.Writer) error { return writeRows(out, rows) }); err != nil {
		return err
	}
	e, err := export()
	if err != nil {
		return err
	}
	// Hashes cannot be compressed.
	if err := part(partTree, zip.Store, func(out io.Writer) error { return writeTree(out, e) }); err != nil {
		return err
	}
	e.Manifest.Format = fileFormat
	err = part(partManifest, zip.Deflate, func(out io.Writer) error {
		return json.MarshalWrite(out, e.Manifest, jsontext.WithIndent("  "))
	})
	if err != nil {
		return err
	}
	err = part(partCheckpoint, zip.Deflate, func(out io.Writer) error {
		_, err := out.Write(e.Checkpoint)
		return err
	})
	if err != nil {
		return err
	}
	return file.Close()
}

func writeRows(w io.Writer, rows iter.Seq2[api.AuditProofRow, error]) error {
	out := bufio.NewWriterSize(w, 64<<10)
	for row, err := range rows {
		if err != nil {
			return err
		}
		// Invalid text in the store is written as far as possible, so that the verifier
		// reports it.
		if err := json.MarshalWrite(out, row, jsontext.AllowInvalidUTF8(true)); err != nil {
			return err
		}
		if err := out.WriteByte('\n'); err != nil {
			return err
		}
	}
	return out.Flush()
}

// nodesAtOnce is how many nodes of the tree are read from the store at once.
const nodesAtOnce = 4096

// writeTree writes the nodes of the tree, with the largest possible subtrees.
func writeTree(w io.Writer, e Export) error {
	nodes := treeWriter{out: w, hashes: e.Hashes}
	if e.Manifest.Restart != "" {
		if err := nodes.add(leafRestart, 0); err != nil {
			return err
		}
	}
	for leaf, err := range e.Leaves {
		if err != nil {
			return err
		}
		if leaf < nodes.next || leaf >= e.Size-1 {
			return fmt.Errorf("the places of the stream %q are not in order: leaf %d of %d follows leaf %d", e.Manifest.Stream.Name, leaf, e.Size, nodes.next-1)
		}
		if err := nodes.others(leaf); err != nil {
			return err
		}
		if err := nodes.add(leafRow, 0); err != nil {
			return err
		}
	}
	if err := nodes.others(e.Size - 1); err != nil {
		return err
	}
	if err := nodes.add(leafCounts, 0); err != nil {
		return err
	}
	return nodes.flush()
}

type treeWriter struct {
	out    io.Writer
	hashes tlog.HashReader
	next   int64 // the next leaf
	kinds  []byte
	at     []int64
}

// others adds the leaves up to an index, none of which belongs to the stream.
func (t *treeWriter) others(end int64) error {
	for t.next < end {
		level := min(bits.TrailingZeros64(uint64(t.next)), bits.Len64(uint64(end-t.next))-1)
		if err := t.add(byte(level), level); err != nil {
			return err
		}
	}
	return nil
}

func (t *treeWriter) add(kind byte, level int) error {
	t.kinds = append(t.kinds, kind)
	t.at = append(t.at, tlog.StoredHashIndex(level, t.next>>level))
	t.next += 1 << level
	if len(t.at) < nodesAtOnce {
		return nil
	}
	return t.flush()
}

func (t *treeWriter) flush() error {
	hashes, err := t.hashes.ReadHashes(t.at)
	if err != nil {
		return err
	}
	text := make([]byte, 0, len(hashes)*nodeSize)
	for i, hash := range hashes {
		text = append(append(text, t.kinds[i]), hash[:]...)
	}
	t.kinds, t.at = t.kinds[:0], t.at[:0]
	_, err = t.out.Write(text)
	return err
}

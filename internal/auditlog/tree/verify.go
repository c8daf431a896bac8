package tree

import (
	"archive/zip"
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"

	"bursar/api"
)

// maxSmallPart bounds the parts of a proof file that are read as a whole. They have a few
// kilobytes, however large the log is.
const maxSmallPart = 1 << 20

const whyEdited = "its content is not what was signed"

// VerifyProof verifies the proof of one row. It returns an error if the text is not a
// proof, or not of the log with that key. The report has all failures of the row.
func VerifyProof(text []byte, trust Trust) (Report, error) {
	var r Report
	var p api.AuditProof
	if err := json.Unmarshal(text, &p, json.RejectUnknownMembers(true)); err != nil {
		return r, fmt.Errorf("this is no proof of a row: %w", err)
	}
	if p.Format != proofFormat {
		return r, fmt.Errorf("this is no proof of a row that this version knows: its format is %q", p.Format)
	}
	var err error
	if r.Checkpoint, err = ReadCheckpoint([]byte(p.Checkpoint), trust.Key); err != nil {
		return r, err
	}
	hashes, err := hashesOf(p.Hashes)
	if err != nil {
		return r, err
	}
	tag, err := r.stream(p.Stream)
	if err != nil {
		return r, err
	}
	if err := trust.since(&r, p.Since, ""); err != nil {
		return r, err
	}
	row := p.Row
	commitment, ok := RowCommitment(row)
	leaf := RowHash(p.Stream.Number, tag, row.Seq, commitment)
	switch {
	case row.Stream != p.Stream.Number:
		r.fail(Failure{Kind: Swapped, Seq: row.Seq, ID: row.ID, Why: "it is a row of another log"})
	case !ok || tlog.CheckRecord(hashes, r.Checkpoint.Size, r.Checkpoint.Root, p.Index, leaf) != nil:
		r.fail(Failure{Kind: Edited, Seq: row.Seq, ID: row.ID, Why: whyEdited})
	case len(row.Erased) > 0:
		r.fail(Failure{Kind: Edited, Seq: row.Seq, ID: row.ID, Why: "what can be personal in it was removed; only an export of the whole log shows whether a later row says so"})
	default:
		r.Rows = 1
	}
	return r, nil
}

// VerifyFile verifies a proof file of a whole stream. It needs little memory, however large
// the file is.
func VerifyFile(file io.ReaderAt, size int64, trust Trust) (Report, error) {
	var r Report
	parts, err := openParts(file, size)
	if err != nil {
		return r, err
	}
	checkpoint, err := readSmall(parts[partCheckpoint])
	if err != nil {
		return r, err
	}
	if r.Checkpoint, err = ReadCheckpoint(checkpoint, trust.Key); err != nil {
		return r, err
	}
	text, err := readSmall(parts[partManifest])
	if err != nil {
		return r, err
	}
	var m Manifest
	if err := json.Unmarshal(text, &m, json.RejectUnknownMembers(true)); err != nil {
		return r, fmt.Errorf("%s cannot be read: %w", partManifest, err)
	}
	if m.Format != fileFormat {
		return r, fmt.Errorf("this is no proof file that this version knows: its format is %q", m.Format)
	}
	tag, err := r.stream(m.Stream)
	if err != nil {
		return r, err
	}
	if err := trust.since(&r, m.Since, m.Restart); err != nil {
		return r, err
	}
	signed, err := r.tree(parts[partTree], m, tag)
	if err != nil || !signed {
		return r, err
	}
	if m.Restart != "" {
		former, err := ReadCheckpoint([]byte(m.Restart), trust.Key)
		if err != nil {
			return r, fmt.Errorf("the checkpoint that the log was restarted after: %w", err)
		}
		r.Former = &former
	}
	return r, r.rows(parts, m, tag)
}

// openParts finds the parts of a proof file. It requires exactly these parts, once each.
func openParts(file io.ReaderAt, size int64) (map[string]*zip.File, error) {
	archive, err := zip.NewReader(file, size)
	if err != nil {
		return nil, fmt.Errorf("this is no proof file: %w", err)
	}
	parts := map[string]*zip.File{}
	for _, part := range archive.File {
		switch part.Name {
		case partCheckpoint, partManifest, partTree, partRows:
		default:
			return nil, fmt.Errorf("this is no proof file: %.100q does not belong there", part.Name)
		}
		if parts[part.Name] != nil {
			return nil, fmt.Errorf("this is no proof file: it has two parts %s", part.Name)
		}
		parts[part.Name] = part
	}
	for _, name := range []string{partCheckpoint, partManifest, partTree, partRows} {
		if parts[name] == nil {
			return nil, fmt.Errorf("this is no proof file, or not all of one: it has no %s", name)
		}
	}
	return parts, nil
}

func readSmall(part *zip.File) ([]byte, error) {
	in, err := part.Open()
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", part.Name, err)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxSmallPart+1))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", part.Name, err)
	}
	if len(text) > maxSmallPart {
		return nil, fmt.Errorf("%s is larger than that of any proof file", part.Name)
	}
	return text, nil
}

// stream checks that the tag of a stream is derived from its name, and returns the tag.
func (r *Report) stream(s api.AuditProofStream) (tag [32]byte, err error) {
	r.Stream = Stream{Number: s.Number, Name: s.Name}
	if n, err := hex.Decode(tag[:], []byte(s.Tag[:min(len(s.Tag), 2*len(tag))])); err != nil || n != len(tag) || len(s.Tag) != 2*n || len(s.Opening) != 32 {
		return tag, errors.New("the tag of the log cannot be read")
	}
	if Tag([32]byte(s.Opening), s.Name) != tag {
		r.fail(Failure{Kind: Swapped, Why: fmt.Sprintf("this is not the log of %s: its tag belongs to another name", s.Name)})
	}
	return tag, nil
}

// nodeReader reads the nodes of a proof file's tree.
type nodeReader struct {
	part io.ReadCloser
	in   *bufio.Reader
}

func openTree(part *zip.File) (*nodeReader, error) {
	in, err := part.Open()
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", part.Name, err)
	}
	return &nodeReader{part: in, in: bufio.NewReaderSize(in, 256<<10)}, nil
}

// next returns the next node, or io.EOF after the last.
func (n *nodeReader) next() (kind byte, hash tlog.Hash, err error) {
	var node [nodeSize]byte
	switch _, err = io.ReadFull(n.in, node[:]); {
	case err == io.EOF:
		return 0, hash, err
	case err != nil:
		return 0, hash, fmt.Errorf("%s cannot be read: %w", partTree, err)
	}
	return node[0], tlog.Hash(node[1:]), nil
}

// tree computes the root of the tree from its nodes, and reports whether the checkpoint signs
// it, so that the nodes are true. Then it checks the leaves about the log itself.
func (r *Report) tree(part *zip.File, m Manifest, tag [32]byte) (signed bool, err error) {
	nodes, err := openTree(part)
	if err != nil {
		return false, err
	}
	defer nodes.part.Close()
	unsigned := func(why string) (bool, error) {
		r.fail(Failure{Kind: Edited, Why: "the tree of the file is not the one that the checkpoint signs, so that nothing in the file is proven" + why})
		return false, nil
	}
	var tree Compact
	var restart, counts *tlog.Hash
	for {
		kind, hash, err := nodes.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return false, err
		}
		level := 0
		switch {
		case kind == leafRestart && tree.size == 0:
			restart = &hash
		case kind == leafCounts && tree.size == r.Checkpoint.Size-1:
			counts = &hash
		case kind == leafRow:
		case kind < 63:
			level = int(kind)
		default:
			return unsigned(": it has a node of no kind")
		}
		if !tree.add(level, hash, r.Checkpoint.Size) {
			return unsigned(": a node has no place in it")
		}
	}
	if tree.size != r.Checkpoint.Size || tree.Root() != r.Checkpoint.Root {
		return unsigned("")
	}
	if counts == nil {
		return unsigned(": its last leaf does not say how many rows there are")
	}
	if (restart != nil) != (m.Restart != "") || restart != nil && *restart != tlog.RecordHash(RestartLeaf([]byte(m.Restart))) {
		return unsigned(": the log that it goes on from is another one")
	}
	hashes, err := hashesOf(m.Counts)
	if err != nil {
		return false, err
	}
	if len(m.CountsRoot) != tlog.HashSize {
		return false, errors.New("the root of the counts cannot be read")
	}
	root := tlog.Hash(m.CountsRoot)
	count := tlog.RecordHash(countLeaf(m.Stream.Number, tag, m.Count))
	if tlog.RecordHash(CountsLeaf(m.Streams, root)) != *counts || tlog.CheckRecord(hashes, m.Streams, root, m.Stream.Number, count) != nil {
		r.fail(Failure{Kind: CutOff, Why: fmt.Sprintf("the file says that this log has %d rows, which is not the number that was signed", m.Count)})
	}
	return true, nil
}

// RowCommitment commits to the whole content of a row of a proof. It returns false if the
// row is malformed.
func RowCommitment(row api.AuditProofRow) ([32]byte, bool) {
	switch {
	case len(row.Erased) == 0 && len(row.Salt) == 16:
		return Commitment(row.ID, []byte(row.Entry), PersonalDigest(row.Salt, []byte(row.Personal))), true
	case len(row.Erased) == sha256.Size && len(row.Salt) == 0 && row.Personal == "":
		return Commitment(row.ID, []byte(row.Entry), [32]byte(row.Erased)), true
	}
	return [32]byte{}, false
}

// RowHash returns the hash of RowLeaf.
func RowHash(number int64, tag [32]byte, seq int64, commitment [32]byte) tlog.Hash {
	var leaf [256]byte
	return tlog.RecordHash(appendRowLeaf(leaf[:0], number, tag, seq, commitment))
}

package tree_test

import (
	"archive/zip"
	"bytes"
	crand "crypto/rand"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"

	"bursar/api"
	"bursar/internal/auditlog/tree"
)

// memoryLog is a log that is kept in memory.
type memoryLog struct {
	t       testing.TB
	key     *tree.Key
	origin  string
	restart string
	leaves  []tlog.Hash
	stored  []tlog.Hash
	counts  *tree.Counts
	streams []*memoryStream
}

type memoryStream struct {
	tree.Stream
	rows   []api.AuditProofRow
	leaves []int64
}

func newLog(t testing.TB, streams int) *memoryLog {
	t.Helper()
	key, err := tree.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	l := &memoryLog{t: t, key: key, origin: key.Name(), counts: tree.NewCounts()}
	for i := range streams {
		name := fmt.Sprintf("workspace ws_%d", i)
		l.streams = append(l.streams, &memoryStream{Stream: tree.Stream{Number: int64(i), Name: name}})
		l.counts.Set(int64(i), key.Tag(name), 0)
	}
	return l
}

func (l *memoryLog) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		hashes[i] = l.stored[index]
	}
	return hashes, nil
}

func (l *memoryLog) leaf(text []byte) {
	hashes, err := tlog.StoredHashes(int64(len(l.leaves)), text, l)
	if err != nil {
		l.t.Fatal(err)
	}
	l.leaves, l.stored = append(l.leaves, hashes[0]), append(l.stored, hashes...)
}

// add writes a row that says a resource was acted on.
func (l *memoryLog) add(stream int, action, resource string) api.AuditProofRow {
	s := l.streams[stream]
	salt := make([]byte, 16)
	if _, err := crand.Read(salt); err != nil {
		l.t.Fatal(err)
	}
	row := api.AuditProofRow{
		Stream: s.Number, Seq: int64(len(s.rows)) + 1, ID: fmt.Sprintf("aud_%02d%024d", stream, len(s.rows)),
		Entry:    fmt.Sprintf(`["%s","success",1700000000%03d,"usr_1","user","entry","%s","req_%d"]`, action, len(s.rows)%1000, resource, len(s.rows)),
		Personal: fmt.Sprintf(`["Ada","ada@example.com","Did \"%d\"","203.0.113.9"]`, len(s.rows)), Salt: salt,
	}
	l.append(row)
	return row
}

func (l *memoryLog) append(row api.AuditProofRow) {
	s := l.streams[row.Stream]
	s.rows, s.leaves = append(s.rows, row), append(s.leaves, int64(len(l.leaves)))
	commitment, ok := tree.RowCommitment(row)
	if !ok {
		l.t.Fatal("the row has no form")
	}
	tag := l.key.Tag(s.Name)
	l.leaf(tree.RowLeaf(s.Number, tag, row.Seq, commitment))
	l.counts.Set(s.Number, tag, int64(len(s.rows)))
}

// erase removes what can be personal from a row.
func (l *memoryLog) erase(stream, i int) api.AuditProofRow {
	row := &l.streams[stream].rows[i]
	digest := tree.PersonalDigest(row.Salt, []byte(row.Personal))
	row.Personal, row.Salt, row.Erased = "", nil, digest[:]
	return *row
}

// sign ends the tree with its counts leaf and returns its checkpoint.
func (l *memoryLog) sign() []byte {
	l.leaf(tree.CountsLeaf(l.counts.Len(), l.counts.Root()))
	root, err := tlog.TreeHash(int64(len(l.leaves)), l)
	if err != nil {
		l.t.Fatal(err)
	}
	text, err := l.key.Sign(l.origin, int64(len(l.leaves)), root)
	if err != nil {
		l.t.Fatal(err)
	}
	return text
}

// size tells how many leaves a checkpoint has.
func (l *memoryLog) size(checkpoint []byte) int64 {
	point, err := tree.ReadCheckpoint(checkpoint, l.key.Verifier())
	if err != nil {
		l.t.Fatal(err)
	}
	return point.Size
}

// export returns the proof file of a stream. The checkpoint has to be the newest.
func (l *memoryLog) export(stream int, checkpoint, since []byte) []byte {
	var file bytes.Buffer
	l.write(&file, stream, checkpoint, since)
	return file.Bytes()
}

func (l *memoryLog) write(w io.Writer, stream int, checkpoint, since []byte) {
	err := tree.WriteFile(w, time.Now(), each(l.streams[stream].rows), func() (tree.Export, error) { return l.exportOf(stream, checkpoint, since) })
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *memoryLog) exportOf(stream int, checkpoint, since []byte) (tree.Export, error) {
	s := l.streams[stream]
	counts, err := l.counts.Prove(s.Number)
	if err != nil {
		l.t.Fatal(err)
	}
	root := l.counts.Root()
	e := tree.Export{
		Checkpoint: checkpoint, Size: int64(len(l.leaves)), Hashes: l, Leaves: each(s.leaves),
		Manifest: tree.Manifest{
			Key: l.key.Verifier(), Stream: l.key.ProofStream(s.Stream), Count: int64(len(s.rows)), Streams: l.counts.Len(),
			CountsRoot: root[:], Counts: tree.Raw(counts), Restart: l.restart,
		},
	}
	if since != nil {
		e.Manifest.Since, err = tree.Consistency(l.size(since), e.Size, l)
	}
	return e, err
}

func each[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, one := range list {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// prove returns the proof of a row as JSON.
func (l *memoryLog) prove(stream, i int, checkpoint []byte) []byte {
	s := l.streams[stream]
	p, err := tree.Prove(api.AuditProof{Checkpoint: string(checkpoint), Stream: l.key.ProofStream(s.Stream), Index: s.leaves[i], Row: s.rows[i]}, int64(len(l.leaves)), l)
	if err != nil {
		l.t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		l.t.Fatal(err)
	}
	return text
}

func (l *memoryLog) verify(file, since []byte) (tree.Report, error) {
	return tree.VerifyFile(bytes.NewReader(file), int64(len(file)), tree.Trust{Key: l.key.Verifier(), Since: since})
}

// randomLog returns a log with several streams and trees that were signed, and all its
// checkpoints.
func randomLog(t testing.TB, random *rand.Rand) (l *memoryLog, checkpoints [][]byte) {
	t.Helper()
	l = newLog(t, 2+random.IntN(4))
	for range 2 + random.IntN(5) {
		for range 1 + random.IntN(30) {
			l.add(random.IntN(len(l.streams)), "entry.updated", fmt.Sprintf("ent_%d", random.IntN(10)))
		}
		checkpoints = append(checkpoints, l.sign())
	}
	return l, checkpoints
}

// opened is a proof file that someone can change.
type opened struct {
	checkpoint []byte
	manifest   tree.Manifest
	tree       []byte
	rows       []api.AuditProofRow
}

func open(t testing.TB, file []byte) *opened {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	part := func(name string) []byte {
		in, err := archive.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	o := &opened{checkpoint: part("checkpoint"), tree: part("tree")}
	if err := json.Unmarshal(part("manifest.json"), &o.manifest); err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(part("rows.ndjson")) {
		var row api.AuditProofRow
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		o.rows = append(o.rows, row)
	}
	return o
}

func (o *opened) close(t testing.TB) []byte {
	t.Helper()
	manifest, err := json.Marshal(o.manifest)
	if err != nil {
		t.Fatal(err)
	}
	var rows []byte
	for _, row := range o.rows {
		line, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(append(rows, line...), '\n')
	}
	return archive(t, "checkpoint", o.checkpoint, "manifest.json", manifest, "tree", o.tree, "rows.ndjson", rows)
}

// archive makes a zip archive of names and contents.
func archive(t testing.TB, parts ...any) []byte {
	t.Helper()
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	for i := 0; i < len(parts); i += 2 {
		out, err := w.Create(parts[i].(string))
		if err == nil {
			_, err = out.Write(parts[i+1].([]byte))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

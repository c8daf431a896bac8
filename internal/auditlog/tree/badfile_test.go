package tree_test

import (
	"archive/zip"
	"bytes"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"bursar/internal/auditlog/tree"
)

// A file that is no proof file gets an error that says what it is not.
func TestBadFilesAreRefused(t *testing.T) {
	l := newLog(t, 2)
	for i := range 20 {
		l.add(i%2, "entry.updated", "ent_1")
	}
	checkpoint := l.sign()
	file := l.export(0, checkpoint, nil)
	o := open(t, file)
	manifest := func(change func(m *tree.Manifest)) []byte {
		m := o.manifest
		change(&m)
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	good := manifest(func(*tree.Manifest) {})
	row, err := json.Marshal(o.rows[0])
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := tree.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	point, err := tree.ReadCheckpoint(checkpoint, l.key.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := foreign.Sign(foreign.Name(), point.Size, point.Root)
	if err != nil {
		t.Fatal(err)
	}
	parts := func(checkpoint, manifest, rows []byte) []byte {
		return archive(t, "checkpoint", checkpoint, "manifest.json", manifest, "tree", o.tree, "rows.ndjson", rows)
	}
	for _, bad := range []struct {
		name, why string
		file      []byte
	}{
		{"nothing", "no proof file", nil},
		{"text", "no proof file", []byte("hello")},
		{"the first half", "no proof file", file[:len(file)/2]},
		{"no parts", "it has no checkpoint", archive(t)},
		{"no rows", "it has no rows.ndjson", archive(t, "checkpoint", checkpoint, "manifest.json", good, "tree", o.tree)},
		{"a strange part", `"../x" does not belong`, archive(t, "../x", []byte("x"))},
		{"a part twice", "two parts tree", archive(t, "tree", o.tree, "tree", o.tree)},
		{"no checkpoint", "this is no checkpoint", parts([]byte("x"), good, nil)},
		{"a checkpoint of somebody else", "is not signed by " + l.key.Name(), parts(unknown, good, nil)},
		{"no manifest", "manifest.json cannot be read", parts(checkpoint, []byte("{"), nil)},
		{"more in the manifest", "manifest.json cannot be read", parts(checkpoint, []byte(`{"more":1}`), nil)},
		{"another format", `"bursar audit log v9"`, parts(checkpoint, manifest(func(m *tree.Manifest) { m.Format = "bursar audit log v9" }), nil)},
		{"no tag", "the tag of the log cannot be read", parts(checkpoint, manifest(func(m *tree.Manifest) { m.Stream.Tag = "é" }), nil)},
		{"a short hash", "a hash has 3 bytes", parts(checkpoint, manifest(func(m *tree.Manifest) { m.Counts = [][]byte{{1, 2, 3}} }), nil)},
		{"half a row", "it ends within a row", parts(checkpoint, good, row[:20])},
		{"no row", "line 2 is no row", parts(checkpoint, good, append(slices.Clone(row), "\n\n"...))},
		{"more in a row", "line 1 is no row", parts(checkpoint, good, []byte(`{"more":1}`+"\n"))},
		{"a row without an end", "longer than any", parts(checkpoint, good, bytes.Repeat([]byte("x"), 3<<20))},
		{"a manifest without an end", "larger than", parts(checkpoint, bytes.Repeat([]byte(" "), 2<<20), nil)},
	} {
		report, err := l.verify(bad.file, nil)
		if err == nil || !strings.Contains(err.Error(), bad.why) {
			t.Errorf("%s: %v (%+v), want %q", bad.name, err, report, bad.why)
		}
	}
	for end := range len(file) { // whatever is cut off, it is no proof file any more
		if _, err := l.verify(file[:end], nil); err == nil {
			t.Fatalf("the first %d bytes of %d are taken", end, len(file))
		}
	}
	report, err := l.verify(parts(checkpoint, manifest(func(m *tree.Manifest) { m.Count, m.Streams, m.Stream.Number = 1<<62, 1<<62, 1<<61 }), append(slices.Clone(row), '\n')), nil)
	if err != nil || len(report.Failures) == 0 {
		t.Errorf("huge counts: %+v %v", report, err)
	}
	for _, bad := range []string{"", "{}", `{"format":"bursar audit proof v1"}`, "[]", strings.Repeat("[", 1e5)} {
		if _, err := tree.VerifyProof([]byte(bad), tree.Trust{Key: l.key.Verifier()}); err == nil {
			t.Errorf("%.50q is taken for a proof", bad)
		}
	}
}

// zeros never end.
type zeros byte

func (z zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(z)
	}
	return len(p), nil
}

// A little that unpacks to much cost neither their time nor their memory.
func TestABombIsNotUnpacked(t *testing.T) {
	l := newLog(t, 1)
	l.add(0, "entry.updated", "ent_1")
	o := open(t, l.export(0, l.sign(), nil))
	manifest, err := json.Marshal(o.manifest)
	if err != nil {
		t.Fatal(err)
	}
	row, err := json.Marshal(o.rows[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]io.Reader{
		"checkpoint": zeros(' '), "manifest.json": zeros(' '), "tree": zeros(0), "rows.ndjson": zeros('x'),
		"rows.ndjson of rows": bytes.NewReader(bytes.Repeat(append(row, '\n'), 100_000)),
	} {
		var file bytes.Buffer
		w := zip.NewWriter(&file)
		for _, part := range []string{"checkpoint", "manifest.json", "tree", "rows.ndjson"} {
			out, err := w.Create(part)
			if err != nil {
				t.Fatal(err)
			}
			known := map[string][]byte{"checkpoint": o.checkpoint, "manifest.json": manifest, "tree": o.tree, "rows.ndjson": append(row, '\n')}
			var in io.Reader = bytes.NewReader(known[part])
			if strings.HasPrefix(name, part) {
				in = io.LimitReader(content, 1<<26)
			}
			if _, err := io.Copy(out, in); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		report, err := l.verify(file.Bytes(), nil)
		runtime.ReadMemStats(&after)
		if err == nil && len(report.Failures) == 0 {
			t.Errorf("%s: the bomb verifies", name)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 32<<20 {
			t.Errorf("%s: %d bytes were used", name, used)
		}
	}
}

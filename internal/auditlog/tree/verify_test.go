package tree_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/tlog"

	"bursar/api"
	"bursar/internal/auditlog/tree"
	"bursar/internal/torture"
)

func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// want checks that a report has exactly these failures: "kind seq" each.
func want(t *testing.T, what string, report tree.Report, err error, failures ...string) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	got := []string{}
	for _, f := range report.Failures {
		text := string(f.Kind)
		if f.Seq > 0 {
			text += fmt.Sprintf(" %d", f.Seq)
		}
		if f.To > f.Seq {
			text += fmt.Sprintf("-%d", f.To)
		}
		got = append(got, text)
	}
	slices.Sort(got)
	slices.Sort(failures)
	if !slices.Equal(got, failures) {
		t.Errorf("%s: found %q, want %q: %v", what, got, failures, report.Failures)
	}
}

func TestWhatWasNotTouchedVerifies(t *testing.T) {
	random := seeded(t)
	for range torture.Rounds(30, 1000) {
		l, checkpoints := randomLog(t, random)
		last := checkpoints[len(checkpoints)-1]
		for i, s := range l.streams {
			for _, since := range checkpoints {
				report, err := l.verify(l.export(i, last, since), since)
				want(t, s.Name, report, err)
				if report.Rows != int64(len(s.rows)) || report.Stream != s.Stream || report.Checkpoint.Size != int64(len(l.leaves)) {
					t.Fatalf("the report is %+v", report)
				}
			}
			for n := range s.rows {
				report, err := tree.VerifyProof(l.prove(i, n, last), tree.Trust{Key: l.key.Verifier(), Since: last})
				want(t, "one row", report, err)
			}
		}
	}
}

func TestASecondVerifierTakesEveryProof(t *testing.T) {
	random := seeded(t)
	for range torture.Rounds(20, 500) {
		l, checkpoints := randomLog(t, random)
		last := checkpoints[len(checkpoints)-1]
		size := uint64(len(l.leaves))
		point, err := tree.ReadCheckpoint(last, l.key.Verifier())
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range l.streams {
			for n, row := range s.rows {
				var p api.AuditProof
				if err := json.Unmarshal(l.prove(i, n, last), &p); err != nil {
					t.Fatal(err)
				}
				commitment, _ := tree.RowCommitment(row)
				leaf := rfc6962.DefaultHasher.HashLeaf(tree.RowLeaf(s.Number, l.key.Tag(s.Name), row.Seq, commitment))
				if err := proof.VerifyInclusion(rfc6962.DefaultHasher, uint64(p.Index), size, leaf, p.Hashes, point.Root[:]); err != nil {
					t.Fatalf("row %d of %s: %v", row.Seq, s.Name, err)
				}
			}
		}
		for _, since := range checkpoints {
			old, err := tree.ReadCheckpoint(since, l.key.Verifier())
			if err != nil {
				t.Fatal(err)
			}
			consistent := open(t, l.export(0, last, since)).manifest.Since
			if err := proof.VerifyConsistency(rfc6962.DefaultHasher, uint64(old.Size), size, consistent.Hashes, old.Root[:], point.Root[:]); err != nil {
				t.Fatalf("from %d to %d: %v", old.Size, size, err)
			}
		}
	}
}

// tampering is a way to change a proof file, and what has to be found then. It has at
// least ten rows.
type tampering struct {
	name string
	do   func(o *opened, at int) []string // changes the row with this index, and others
}

func edit(what func(row *api.AuditProofRow)) func(*opened, int) []string {
	return func(o *opened, at int) []string {
		what(&o.rows[at])
		return []string{fmt.Sprintf("edited %d", at+1)}
	}
}

func tamperings() []tampering {
	return []tampering{
		{"an edited entry", edit(func(row *api.AuditProofRow) { row.Entry = strings.Replace(row.Entry, "success", "denied", 1) })},
		{"an edited name", edit(func(row *api.AuditProofRow) { row.Personal = strings.Replace(row.Personal, "Ada", "Eve", 1) })},
		{"an edited id", edit(func(row *api.AuditProofRow) { row.ID = "aud_" + strings.Repeat("9", 26) })},
		{"an edited salt", edit(func(row *api.AuditProofRow) { row.Salt[3] ^= 1 })},
		{"a salt that takes a character", edit(func(row *api.AuditProofRow) {
			row.Salt, row.Personal = append(row.Salt, row.Personal[0]), row.Personal[1:]
		})},
		{"erased without a word", func(o *opened, at int) []string {
			row := &o.rows[at]
			digest := tree.PersonalDigest(row.Salt, []byte(row.Personal))
			row.Erased, row.Salt, row.Personal = digest[:], nil, ""
			return []string{fmt.Sprintf("edited %d", at+1)}
		}},
		{"a removed row", func(o *opened, at int) []string {
			last := int64(len(o.rows))
			o.rows = slices.Delete(o.rows, at, at+1)
			if int64(at+1) == last {
				return []string{fmt.Sprintf("cut off %d", last)}
			}
			return []string{fmt.Sprintf("removed %d", at+1)}
		}},
		{"a removed row, and the rest numbered anew", func(o *opened, at int) []string {
			found := []string{fmt.Sprintf("removed %d", at+1)}
			if at+1 == len(o.rows) {
				found = []string{fmt.Sprintf("cut off %d", at+1)}
			}
			o.rows = slices.Delete(o.rows, at, at+1)
			for i := at; i < len(o.rows); i++ {
				o.rows[i].Seq--
				found = append(found, fmt.Sprintf("moved %d", i+2))
			}
			return found
		}},
		{"an inserted row", func(o *opened, at int) []string {
			row := o.rows[at]
			row.Entry = strings.Replace(row.Entry, "updated", "deleted", 1)
			o.rows = slices.Insert(o.rows, at, row)
			return []string{fmt.Sprintf("inserted %d", at+1)}
		}},
		{"a row twice", func(o *opened, at int) []string {
			o.rows = slices.Insert(o.rows, at, o.rows[at])
			return []string{fmt.Sprintf("inserted %d", at+1)}
		}},
		{"a row too many at the end", func(o *opened, at int) []string {
			row := o.rows[at]
			row.Seq = int64(len(o.rows)) + 1
			o.rows = append(o.rows, row)
			return []string{fmt.Sprintf("inserted %d", len(o.rows))}
		}},
		{"two lines exchanged", func(o *opened, at int) []string {
			at = min(at, len(o.rows)-2)
			o.rows[at], o.rows[at+1] = o.rows[at+1], o.rows[at]
			return []string{fmt.Sprintf("moved %d", at+1)}
		}},
		{"two places exchanged", func(o *opened, at int) []string {
			other := (at + len(o.rows)/2) % len(o.rows)
			o.rows[at], o.rows[other] = o.rows[other], o.rows[at]
			o.rows[at].Seq, o.rows[other].Seq = o.rows[other].Seq, o.rows[at].Seq
			return []string{fmt.Sprintf("moved %d", at+1), fmt.Sprintf("moved %d", other+1)}
		}},
		{"a row that says to be far away", func(o *opened, at int) []string {
			o.rows[at].Seq = 1 << 62
			return []string{fmt.Sprintf("moved %d", at+1)}
		}},
		{"the last rows cut off", func(o *opened, at int) []string {
			last := len(o.rows)
			o.rows = o.rows[:at]
			if at+1 == last {
				return []string{fmt.Sprintf("cut off %d", last)}
			}
			return []string{fmt.Sprintf("cut off %d-%d", at+1, last)}
		}},
		{"the last rows cut off, and the count made to fit", func(o *opened, at int) []string {
			o.rows = o.rows[:at]
			o.manifest.Count = int64(at)
			return []string{"cut off"}
		}},
		{"another tree", func(o *opened, at int) []string {
			o.tree[at*33+5] ^= 1
			return []string{"edited"}
		}},
		{"a node of no kind", func(o *opened, at int) []string {
			o.tree[at*33] = 'X'
			return []string{"edited"}
		}},
		{"a node left out", func(o *opened, at int) []string {
			o.tree = slices.Delete(o.tree, at*33, at*33+33)
			return []string{"edited"}
		}},
		{"another name", func(o *opened, _ int) []string {
			o.manifest.Stream.Name = "workspace ws_other"
			return []string{"swapped between tenants"}
		}},
	}
}

func TestEveryTamperingWithAFileIsFound(t *testing.T) {
	random := seeded(t)
	for range torture.Rounds(20, 1000) {
		l, checkpoints := randomLog(t, random)
		for len(l.streams[1].rows) < 10 {
			l.add(1, "entry.updated", "ent_1")
		}
		file := l.export(1, l.sign(), nil)
		for _, way := range tamperings() {
			o := open(t, file)
			expected := way.do(o, random.IntN(len(o.rows)))
			report, err := l.verify(o.close(t), nil)
			want(t, way.name, report, err, expected...)
		}

		last := l.sign()
		other := open(t, l.export(0, last, nil))
		mine := open(t, l.export(1, last, nil))
		if len(other.rows) > 0 {
			at := random.IntN(len(mine.rows))
			row := other.rows[random.IntN(len(other.rows))]
			row.Seq = int64(at) + 1
			mine.rows[at] = row
			report, err := l.verify(mine.close(t), nil)
			want(t, "a row of another tenant", report, err, fmt.Sprintf("swapped between tenants %d", at+1))
			other.manifest.Stream.Name = l.streams[1].Name
			report, err = l.verify(other.close(t), nil)
			want(t, "another tenant's file", report, err, "swapped between tenants")
		}

		old := open(t, file)
		old.checkpoint = checkpoints[0]
		report, err := l.verify(old.close(t), nil)
		want(t, "an old checkpoint with new rows", report, err, "edited")
		report, err = l.verify(file, last)
		want(t, "an old file shown as new", report, err, "cut off")

		fork := newLog(t, len(l.streams))
		fork.key, fork.counts = l.key, tree.NewCounts()
		fork.origin = l.origin
		for i, s := range l.streams {
			fork.counts.Set(int64(i), l.key.Tag(s.Name), 0)
		}
		for int64(len(fork.leaves)) < l.size(checkpoints[1]) {
			fork.add(random.IntN(len(l.streams)), "entry.updated", "ent_1")
		}
		forked := fork.sign()
		report, err = l.verify(fork.export(1, forked, nil), nil)
		want(t, "a fork that is compared with nothing", report, err)
		report, err = l.verify(fork.export(1, forked, checkpoints[0]), checkpoints[0])
		want(t, "a fork signed with the right key", report, err, "forked")
	}
}

func TestTwoLogsOfOneSizeAreAFork(t *testing.T) {
	l := newLog(t, 1)
	l.add(0, "entry.created", "ent_1")
	kept := l.sign()
	fork := newLog(t, 1)
	fork.key, fork.origin, fork.counts = l.key, l.origin, tree.NewCounts()
	fork.add(0, "entry.created", "ent_2")
	report, err := l.verify(fork.export(0, fork.sign(), nil), kept)
	want(t, "another log of the same size", report, err, "forked")
}

func TestAnErasedRowVerifiesOnlyWhereALaterRowNamesIt(t *testing.T) {
	l := newLog(t, 2)
	for range 20 {
		l.add(0, "entry.updated", "ent_1")
	}
	l.add(0, "audit.erased", l.streams[0].rows[19].ID)
	for range 10 {
		l.add(0, "entry.updated", "ent_1")
	}
	for _, i := range []int{2, 5, 6, 7, 9, 19, 25} {
		l.erase(0, i)
	}
	l.add(0, "audit.erased", l.streams[0].rows[2].ID)
	l.add(0, "audit.erased", "seq 6-8")
	l.add(0, "audit.erased", l.streams[0].rows[9].ID)
	last := l.sign()
	report, err := l.verify(l.export(0, last, nil), nil)
	want(t, "rows erased", report, err, "edited 26")
	if report.Erased != 6 || report.Rows != 33 {
		t.Errorf("the report is %+v", report)
	}
	o := open(t, l.export(0, last, nil))
	o.rows[32].Entry = strings.Replace(o.rows[32].Entry, "seq 6-8", "seq 1-99", 1)
	report, err = l.verify(o.close(t), nil)
	want(t, "a row that is not true names nothing", report, err, "edited 6", "edited 7", "edited 8", "edited 26", "edited 33")

	report, err = tree.VerifyProof(l.prove(0, 2, last), tree.Trust{Key: l.key.Verifier()})
	want(t, "an erased row by itself", report, err, "edited 3")
}

func TestARefusedErasureNamesNothing(t *testing.T) {
	l := newLog(t, 1)
	row := l.add(0, "entry.updated", "ent_1")
	l.append(api.AuditProofRow{Seq: 2, ID: "aud_" + strings.Repeat("2", 26), Salt: make([]byte, 16), Personal: "[]",
		Entry: `["audit.erased","denied",1,"usr_1","user","audit","` + row.ID + `","req_1"]`})
	l.erase(0, 0)
	report, err := l.verify(l.export(0, l.sign(), nil), nil)
	want(t, "a refusal", report, err, "edited 1")
}

func TestARestartedLogShowsTheOldOne(t *testing.T) {
	old := newLog(t, 1)
	old.add(0, "entry.created", "ent_1")
	first := old.sign()
	old.add(0, "entry.created", "ent_2")
	second := old.sign()

	l := newLog(t, 1)
	l.key, l.origin, l.counts, l.restart = old.key, old.key.Name()+"/2", tree.NewCounts(), string(first)
	l.leaf(tree.RestartLeaf(first))
	l.append(old.streams[0].rows[0])
	last := l.sign()
	file := l.export(0, last, nil)
	report, err := l.verify(file, nil)
	want(t, "a restarted log", report, err)
	if report.Former == nil || report.Former.Origin != old.key.Name() {
		t.Errorf("a restarted log does not tell of the one before: %v", report.Former)
	}
	report, err = l.verify(file, first)
	want(t, "since the checkpoint that it goes on from", report, err)
	report, err = l.verify(file, second)
	want(t, "since a later checkpoint of the old log", report, err, "cut off")

	o := open(t, file)
	o.manifest.Restart = string(second)
	report, err = l.verify(o.close(t), nil)
	want(t, "another old log", report, err, "edited")

	report, err = old.verify(old.export(0, second, nil), last)
	if err == nil || !strings.Contains(err.Error(), "is one of the log") {
		t.Errorf("a checkpoint of the new log with the old file: %v %v", report, err)
	}
}

func TestManyFailuresAreCutShort(t *testing.T) {
	l := newLog(t, 1)
	for range 5000 {
		l.add(0, "entry.updated", "ent_1")
	}
	o := open(t, l.export(0, l.sign(), nil))
	o.rows = slices.Delete(o.rows, 99, 100)
	for i := 99; i < len(o.rows); i++ {
		o.rows[i].Seq--
	}
	report, err := l.verify(o.close(t), nil)
	if err != nil || !report.Stopped || report.Rows != 99 || len(report.Failures) != 1001 {
		t.Fatalf("%+v %v", report, err)
	}
	for i, f := range report.Failures {
		if kind := f.Kind; kind != tree.Moved && (i < 1000 || kind != tree.Removed || f.Seq != 100) {
			t.Errorf("failure %d is %v", i, f)
		}
	}
}

func TestAProofOfARowIsSmall(t *testing.T) {
	l := newLog(t, 1)
	l.add(0, "entry.updated", "ent_1")
	var p api.AuditProof
	if err := json.Unmarshal(l.prove(0, 0, l.sign()), &p); err != nil {
		t.Fatal(err)
	}
	p.Hashes = tree.Raw(make([]tlog.Hash, 28)) // a log of 200 million rows
	p.Stream.Name, p.Index = "organization org_"+strings.Repeat("0", 26), 200_000_000
	p.Checkpoint = strings.Replace(p.Checkpoint, "\n2\n", "\n200000000\n", 1)
	row, err := json.Marshal(p.Row)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if len(text)-len(row) > 2048 {
		t.Errorf("the proof has %d bytes without its row", len(text)-len(row))
	}
}

func TestATamperedProofOfARowFails(t *testing.T) {
	l := newLog(t, 3)
	for i := range 30 {
		l.add(i%3, "entry.updated", "ent_1")
	}
	early := l.sign()
	l.add(0, "entry.updated", "ent_1")
	last := l.sign()
	trust := tree.Trust{Key: l.key.Verifier()}
	for _, way := range []struct {
		name, found string
		do          func(p *api.AuditProof)
	}{
		{"the entry", "edited 5", func(p *api.AuditProof) { p.Row.Entry += " " }},
		{"the place", "edited 6", func(p *api.AuditProof) { p.Row.Seq++ }},
		{"the leaf", "edited 5", func(p *api.AuditProof) { p.Index++ }},
		{"no leaf", "edited 5", func(p *api.AuditProof) { p.Index = -1 }},
		{"a hash", "edited 5", func(p *api.AuditProof) { p.Hashes[1][1] ^= 1 }},
		{"no hashes", "edited 5", func(p *api.AuditProof) { p.Hashes = nil }},
		{"an old checkpoint", "edited 5", func(p *api.AuditProof) { p.Checkpoint = string(early) }},
		{"the name", "swapped between tenants", func(p *api.AuditProof) { p.Stream.Name = "workspace ws_2" }},
		{"the stream", "swapped between tenants 5", func(p *api.AuditProof) { p.Row.Stream = 2 }},
	} {
		var p api.AuditProof
		if err := json.Unmarshal(l.prove(1, 4, last), &p); err != nil {
			t.Fatal(err)
		}
		way.do(&p)
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		report, err := tree.VerifyProof(text, trust)
		want(t, way.name, report, err, way.found)
	}
	report, err := tree.VerifyProof(l.prove(1, 4, last), tree.Trust{Key: l.key.Verifier(), Since: early})
	if err == nil || !strings.Contains(err.Error(), "--since") {
		t.Errorf("without what leads from the old checkpoint: %v %v", report, err)
	}
}

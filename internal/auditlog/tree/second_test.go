package tree_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/transparency-dev/formats/log"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"bursar/internal/auditlog/tree"
	"bursar/internal/torture"
)

// A verifier that others have written reads what this package writes.

func TestASecondVerifierFindsTheCounts(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range torture.Rounds(20, 500) {
		counts := tree.NewCounts()
		tags, sizes := [][32]byte{}, []int64{}
		for i := range 1 + random.Int64N(300) {
			tags = append(tags, sha256.Sum256(fmt.Append(nil, random.Uint64())))
			sizes = append(sizes, random.Int64N(100))
			counts.Set(i, tags[i], sizes[i])
		}
		for range 50 { // streams grow later
			i := random.Int64N(int64(len(tags)))
			sizes[i]++
			counts.Set(i, tags[i], sizes[i])
		}
		root := counts.Root()
		for i := range sizes {
			hashes, err := counts.Prove(int64(i))
			if err != nil {
				t.Fatal(err)
			}
			leaf := fmt.Appendf(nil, "%d %x %d\n", i, tags[i], sizes[i])
			err = proof.VerifyInclusion(rfc6962.DefaultHasher, uint64(i), uint64(len(sizes)), rfc6962.DefaultHasher.HashLeaf(leaf), raw(hashes), root[:])
			if err != nil {
				t.Fatalf("stream %d of %d: %v", i, len(sizes), err)
			}
		}
	}
}

func TestCountsRefuseAGap(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a stream was left out")
		}
	}()
	goldenCounts().Set(4, [32]byte{}, 1)
}

func TestASecondReaderReadsCheckpoints(t *testing.T) {
	key, err := tree.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(key.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	root := tlog.RecordHash([]byte("a leaf"))
	for _, origin := range []string{key.Name(), key.Name() + "/2"} {
		text, err := key.Sign(origin, 41, root)
		if err != nil {
			t.Fatal(err)
		}
		theirs, rest, _, err := log.ParseCheckpoint(text, origin, verifier)
		if err != nil || theirs.Size != 41 || [32]byte(theirs.Hash) != root || len(rest) > 0 {
			t.Errorf("they read %+v %q (%v)", theirs, rest, err)
		}
		ours, err := tree.ReadCheckpoint(text, key.Verifier()+"\n")
		if want := (tree.Checkpoint{Origin: origin, Size: 41, Root: root}); err != nil || ours != want {
			t.Errorf("we read %+v (%v), want %+v", ours, err, want)
		}
	}
}

func TestACheckpointThatIsNotTheLogsIsRefused(t *testing.T) {
	key, err := tree.ParseKey(goldenKey)
	if err != nil {
		t.Fatal(err)
	}
	signed := func(origin string, size int64) string {
		text, err := key.Sign(origin, size, tlog.Hash{})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	other, err := tree.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []struct{ text, key, why string }{
		{goldenCheck, other.Verifier(), "is not signed by " + other.Name()},
		{goldenCheck, "a key", "is no public key"},
		{strings.Replace(goldenCheck, "\n12\n", "\n13\n", 1), goldenVerifier, "does not fit"},
		{"", goldenVerifier, "no checkpoint"},
		{goldenCheck[:40], goldenVerifier, "no checkpoint"},
		{signed("bursar-audit-0a1b2c3d\n1", 2), goldenVerifier, "each on a line"},
		{signed("another", 2), goldenVerifier, "another log"},
		{signed("bursar-audit-0a1b2c3d/", 2), goldenVerifier, "another log"},
		{signed("bursar-audit-0a1b2c3d", -2), goldenVerifier, "no size"},
	} {
		if _, err := tree.ReadCheckpoint([]byte(wrong.text), wrong.key); err == nil || !strings.Contains(err.Error(), wrong.why) {
			t.Errorf("%q with %q: %v, want %q", wrong.text, wrong.key, err, wrong.why)
		}
	}
}

func raw(hashes []tlog.Hash) [][]byte {
	var all [][]byte
	for _, hash := range hashes {
		all = append(all, hash[:])
	}
	return all
}

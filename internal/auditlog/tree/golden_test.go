package tree_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"bursar/internal/auditlog/tree"
)

// The values of this file were computed by another program, a few lines of Python with
// hashlib, from the formats that docs/audit.md tells. A proof that someone keeps has to
// verify in ten years, so none of them may ever change.
const (
	goldenKey      = "PRIVATE+KEY+bursar-audit-0a1b2c3d+8582206c+AWRlZmdoaWprbG1ub3BxcnN0dXZ3eHl6e3x9fn+AgYKD\n"
	goldenVerifier = "bursar-audit-0a1b2c3d+8582206c+AQu8NGpXZnw4ASC9nH/X5R0sX9/qN80vW/QFssa/by14"
	goldenCheck    = "bursar-audit-0a1b2c3d\n12\nBxPuXA1AW4hA4qNWg7QG5QlhikFMerclPcccPUUAgwQ=\n\n" +
		"— bursar-audit-0a1b2c3d hYIgbDfCJK4CkdkZFi33KEobPZqNdNlQVUt2vjDWqS6OEE9E7tgx/qO4mj8FpamE8cOVine1lOuK46Mt9GnB1OISPww=\n"
	goldenRoot = "0713ee5c0d405b8840e2a35683b406e509618a414c7ab7253dc71c3d45008304"
)

func goldenCounts() *tree.Counts {
	counts := tree.NewCounts()
	counts.Set(0, sha256.Sum256([]byte("tag 0")), 4)
	counts.Set(1, sha256.Sum256([]byte("tag 1")), 0)
	counts.Set(2, sha256.Sum256([]byte("tag 2")), 9)
	return counts
}

func TestTheFormatsNeverChange(t *testing.T) {
	key, err := tree.ParseKey(goldenKey)
	if err != nil {
		t.Fatal(err)
	}
	salt := make([]byte, 16)
	for i := range salt {
		salt[i] = byte(i)
	}
	personal := tree.PersonalDigest(salt, []byte(`["Ada","ada@example.com","Signed in","203.0.113.9"]`))
	entry := []byte(`["session.created","success",1700000000000,"usr_1","user","session","ses_1","req_1"]`)
	commitment := tree.Commitment("aud_00000000000000000000000001", entry, personal)
	opening, tag := key.Opening("workspace ws_1"), key.Tag("workspace ws_1")
	row := tlog.RecordHash(tree.RowLeaf(7, tag, 3, commitment))
	root := goldenCounts().Root()
	counts := tlog.RecordHash(tree.CountsLeaf(3, root))
	for _, value := range []struct {
		name, want string
		got        [32]byte
	}{
		{"the digest of what is personal", "7dc3ab0c899b79e809697f4d72de23d1818024e643c3a081d36cf45a7c71a30b", personal},
		{"the commitment", "8e85e7fce1d82dfa6ca6f27a93279cf6006cec93b9286489e800d87200e54b2f", commitment},
		{"the opening of a tag", "faf6b7f61795627e2c63429273612dba6073187e74b1c80cfdd2b7b022f2ce94", opening},
		{"the tag", "8770bfcdff0de5fdbb0c282f1111ab60a1966faf42a34736734435ddb25a47d0", tag},
		{"the leaf of a row", "89d71c83bd5112ff285fdc37bbf37999d3d91ba048f318ce4f9f849cac7e8dc1", row},
		{"the root of the counts", goldenRoot, root},
		{"the leaf of the counts", "9821dca6432759419208e0f5345b5e6d9bd9f1f62e6da416b435968d50479b8a", counts},
	} {
		if got := hex.EncodeToString(value.got[:]); got != value.want {
			t.Errorf("%s is %s, want %s", value.name, got, value.want)
		}
	}
	if got := string(tree.RestartLeaf([]byte(goldenCheck))); got != "bursar audit restart v1\n"+goldenCheck {
		t.Errorf("the leaf of a restart is %q", got)
	}
	if key.String() != goldenKey || key.Verifier() != goldenVerifier || key.Name() != "bursar-audit-0a1b2c3d" {
		t.Errorf("the key is %q, its public part %q, its name %q", key.String(), key.Verifier(), key.Name())
	}
	signed, err := key.Sign(key.Name(), 12, root)
	if err != nil || string(signed) != goldenCheck {
		t.Errorf("the checkpoint is %q (%v)", signed, err)
	}
}

func TestAWrongKeyIsRefusedAndNotShown(t *testing.T) {
	for _, text := range []string{
		"", "PRIVATE+KEY+a", goldenVerifier, goldenKey[:60], strings.Replace(goldenKey, "8582206c", "8582206d", 1),
		strings.Replace(goldenKey, "+AWRl", "+AmRl", 1),
	} {
		if _, err := tree.ParseKey(text); err == nil || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

package auditlog_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/transparency-dev/formats/log"
	cosign "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"

	"bursar/internal/auditlog"
	"bursar/internal/config"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
)

// testWitness is a witness as C2SP tlog-witness demands: it signs a checkpoint of a log that it
// knows, if a proof shows that it continues the last one that it has signed. Others have
// written the code with which it decides.
type testWitness struct {
	*httptest.Server
	t   *testing.T
	key string // the public key
	log note.Verifier

	signer *cosign.Signer
	mu     sync.Mutex
	last   log.Checkpoint
	down   bool
}

func newTestWitness(t *testing.T) *testWitness {
	secret, public, err := note.GenerateKey(rand.Reader, "witness.example.com/w1")
	if err != nil {
		t.Fatal(err)
	}
	w := &testWitness{t: t}
	if w.signer, err = cosign.NewSignerForCosignatureV1(secret); err != nil {
		t.Fatal(err)
	}
	if w.key, err = cosign.VKeyToCosignatureV1(public); err != nil {
		t.Fatal(err)
	}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	return w
}

// set changes the witness while it runs.
func (w *testWitness) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *testWitness) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		http.Error(out, "down", http.StatusBadGateway)
		return
	}
	if r.Method != http.MethodPost || r.URL.Path != "/prefix/add-checkpoint" {
		http.NotFound(out, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	status, text, err := w.add(body)
	if err != nil {
		w.t.Logf("the witness refuses: %v", err)
	}
	out.WriteHeader(status)
	_, _ = io.WriteString(out, text)
}

func (w *testWitness) add(body []byte) (status int, text string, err error) {
	head, checkpoint, _ := bytes.Cut(body, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	number, _ := strings.CutPrefix(lines[0], "old ")
	old, err := strconv.ParseUint(number, 10, 64)
	if err != nil || len(lines) > 64 {
		return 400, "", fmt.Errorf("a bad request: %q", body)
	}
	var hashes [][]byte
	for _, line := range lines[1:] {
		hash, err := base64.StdEncoding.DecodeString(line)
		if err != nil {
			return 400, "", err
		}
		hashes = append(hashes, hash)
	}
	point, _, signed, err := log.ParseCheckpoint(checkpoint, w.log.Name(), w.log)
	switch {
	case err != nil:
		return 403, "", err
	case old > point.Size:
		return 400, "", fmt.Errorf("old %d is larger than %d", old, point.Size)
	case old != w.last.Size:
		return 409, strconv.FormatUint(w.last.Size, 10) + "\n", nil
	case old == point.Size && !bytes.Equal(point.Hash, w.last.Hash):
		return 409, strconv.FormatUint(w.last.Size, 10) + "\n", fmt.Errorf("another root")
	}
	if old == 0 && len(hashes) > 0 {
		return 400, "", fmt.Errorf("a proof for nothing")
	}
	if old > 0 {
		if err := proof.VerifyConsistency(rfc6962.DefaultHasher, old, point.Size, hashes, w.last.Hash, point.Hash); err != nil {
			return 422, "", err
		}
	}
	w.last = *point
	cosigned, err := note.Sign(&note.Note{Text: signed.Text}, w.signer)
	if err != nil {
		return 500, "", err
	}
	_, signature, _ := bytes.Cut(cosigned, []byte("\n\n"))
	return 200, string(signature), nil
}

func TestWitnessesSignTheCheckpointThatIsServed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		w := newTestWitness(t)
		file := filepath.Join(t.TempDir(), "audit.key")
		witnessed := func(c *config.Serve) { c.Audit.Witnesses = []string{w.key + " " + w.URL + "/prefix"} }
		n := servertest.Start(t, store, servertest.AuditKey(file), witnessed)
		var err error
		if w.log, err = note.NewVerifier(n.Server.AuditSigner().Key().Verifier()); err != nil {
			t.Fatal(err)
		}
		verifier, err := cosign.NewVerifierForCosignatureV1(w.key)
		if err != nil {
			t.Fatal(err)
		}
		n.RunBackground(t)
		x := n.Tenant(t)
		cosigned := func(n *servertest.Node, above int64) (size int64) {
			wait.Until(t, "the witness signs", func() bool {
				if n.Outside(t, "/audit-log/checkpoint").Status != 200 {
					return false // nothing is signed yet
				}
				point, text := checkpoint(t, n)
				_, err := note.Open([]byte(text), note.VerifierList(verifier))
				size = point.Size
				return err == nil && size > above
			})
			return size
		}
		first := cosigned(n, 0)
		x.Entry("One")
		second := cosigned(n, first)

		// Another node knows nothing of what the witness has signed, and learns it from its answer.
		other := servertest.Start(t, store, servertest.AuditKey(file), witnessed)
		other.RunBackground(t)
		x.Entry("Two")
		third := cosigned(other, second)

		// A witness that is down delays nothing, and is logged once.
		w.set(func() { w.down = true })
		x.Entry("Three")
		wait.Until(t, "the log continues without the witness", func() bool {
			point, _ := checkpoint(t, n)
			return point.Size > third
		})
		const line = "a witness did not sign"
		wait.Until(t, "the witness's failure is logged", func() bool { return strings.Contains(n.Log.String()+other.Log.String(), line) })
		x.Entry("Four")
		fourth, _ := checkpoint(t, n)
		wait.Until(t, "the log keeps growing", func() bool {
			point, _ := checkpoint(t, n)
			return point.Size > fourth.Size
		})
		if strings.Count(n.Log.String(), line) > 1 || strings.Count(other.Log.String(), line) > 1 {
			t.Errorf("the logs say %s %s", n.Log, other.Log)
		}
	})
}

func TestAWitnessNeedsAKeyAndAnAddress(t *testing.T) {
	t.Parallel()
	w := newTestWitness(t)
	d := dbtest.SQLite(t).Open(t)
	for _, text := range []string{"", w.key, w.URL, w.key + " ftp://witness.example.com", w.key[:20] + " " + w.URL} {
		_, err := auditlog.NewSigner(t.Context(), d, auditlog.SignerConfig{Witnesses: []string{text}}, slog.Default())
		if err == nil || !strings.Contains(err.Error(), "--audit-witness") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

package e2e_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bursar/internal/auditlog/tree"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/setup"
	"bursar/internal/torture"
	"bursar/internal/wait"
)

// signers are servers that sign the audit log of a store, each with a checkpoint file of its own.
type signers struct {
	store    dbtest.Store
	made     setup.Result
	dir      string
	verifier string
	nodes    []*process
}

// newSigners starts servers on a store: as many as its engine serves, three at most.
func newSigners(t *testing.T, store dbtest.Store) *signers {
	t.Helper()
	s := &signers{store: store, made: initialise(t, store), dir: t.TempDir(), nodes: make([]*process, 1)}
	if store.Engine == "postgres" {
		s.nodes = make([]*process, 3)
	}
	succeed(t, append(at(store), "admin", "audit", "init", "--audit-key", s.key())...)
	s.verifier = strings.TrimSpace(succeed(t, append(at(store), "admin", "audit", "key")...))
	for i := range s.nodes {
		s.start(t, i)
	}
	return s
}

func (s *signers) key() string { return filepath.Join(s.dir, "audit.key") }

func (s *signers) start(t *testing.T, i int) {
	t.Helper()
	s.nodes[i] = start(t, s.store, "--public-url", "https://pay.example.com", "--audit-key", s.key(), "--audit-checkpoint", filepath.Join(s.dir, fmt.Sprint("checkpoint-", i)))
}

// checkpoint is the newest checkpoint of a server; ok is false while it has none.
func (s *signers) checkpoint(t *testing.T, p *process) (point tree.Checkpoint, ok bool) {
	t.Helper()
	answer := servertest.Remote(t, p.URL, s.made).Outside(t, "/audit-log/checkpoint")
	if answer.Status == http.StatusNotFound {
		return point, false
	}
	point, err := tree.ReadCheckpoint(answer.OK().Body, s.verifier)
	if err != nil {
		t.Fatalf("%v: %s", err, answer.Body)
	}
	return point, true
}

// sequencing is the server that holds the lease of the sequencer, which names its process.
func (s *signers) sequencing(t *testing.T, d *db.DB) int {
	t.Helper()
	var holder string
	err := d.Read(t.Context(), func(q db.Q) error {
		_, err := q.Row(`SELECT lease_holder FROM audit_sequence`).Scan(&holder)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range s.nodes {
		if parts := strings.Split(holder, "/"); len(parts) == 3 && parts[1] == strconv.Itoa(p.cmd.Process.Pid) {
			return i
		}
	}
	return -1
}

// Servers die between any two steps: before the place of a row, before its leaf, and between
// the commit of a head and the checkpoint outside of the store.
func TestNoRowIsLostOrDuplicatedWhenTheSequencingServerIsKilled(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		s := newSigners(t, store)
		d := store.Open(t)
		l := newLoad(s.made, writers)
		l.token = servertest.Remote(t, s.nodes[0].URL, s.made).Admin(t).Token
		var last tree.Checkpoint
		rounds := torture.Rounds(5, 100)
		if testing.Short() {
			rounds = 2
		}
		for round := range rounds {
			end := l.begin(t, s.nodes[round%len(s.nodes)].URL, false)
			l.awaitTold(t, betweenCrash)
			victim := -1
			wait.Until(t, "a server sequences", func() bool { victim = s.sequencing(t, d); return victim >= 0 })
			s.nodes[victim].kill()
			end()
			s.start(t, victim)
			var point tree.Checkpoint
			wait.Until(t, "the log continues", func() (ok bool) {
				point, ok = s.checkpoint(t, s.nodes[victim])
				return ok && point.Size > last.Size
			})
			hashes := servertest.Remote(t, s.nodes[victim].URL, s.made).TreeHashes(t, point.Size)
			if servertest.RootOf(t, hashes) != point.Root.String() || last.Size > 0 && servertest.RootOf(t, hashes[:last.Size]) != last.Root.String() {
				t.Fatalf("%v does not continue %v", point, last)
			}
			last = point
		}
		wait.Until(t, "every row has its place and its leaf", func() bool {
			return number(t, d, `SELECT count(*) FROM audit_log`) == number(t, d, `SELECT rows FROM audit_tree`)
		})
		for what, sql := range map[string]string{
			"the positions have gaps":           `SELECT count(*) - max(position) FROM audit_place`,
			"a position is there twice":         `SELECT count(*) - count(DISTINCT position) FROM audit_place`,
			"the places of a stream have gaps":  `SELECT count(*) FROM (SELECT stream FROM audit_place GROUP BY stream HAVING count(*) <> max(seq)) s`,
			"a stream has another size":         `SELECT count(*) FROM audit_stream s WHERE size <> (SELECT count(*) FROM audit_place p WHERE p.stream = s.number)`,
			"the tree has other leaves":         `SELECT size - rows - heads FROM audit_tree`,
			"rows have no place, or more":       `SELECT (SELECT count(*) FROM audit_log) - (SELECT count(*) FROM audit_place)`,
			"the last head is not the tree":     `SELECT t.size - h.size FROM audit_tree t, audit_head h ORDER BY h.number DESC LIMIT 1`,
			"the heads are not counted rightly": `SELECT heads - (SELECT count(*) FROM audit_head) FROM audit_tree`,
		} {
			if got := number(t, d, sql); got != 0 {
				t.Errorf("%s: %d", what, got)
			}
		}
		for _, p := range s.nodes {
			p.terminate(t)
		}
		// A server that stops leaves its last checkpoint outside of the store.
		kept, err := os.ReadFile(filepath.Join(s.dir, "checkpoint-0"))
		if err != nil {
			t.Fatal(err)
		}
		if point, err := tree.ReadCheckpoint(kept, s.verifier); err != nil || point.Size != number(t, d, `SELECT max(size) FROM audit_head`) {
			t.Errorf("the checkpoint that is kept is %v (%v)", point, err)
		}
	})
}

func number(t *testing.T, d *db.DB, sql string) (n int64) {
	t.Helper()
	err := d.Read(t.Context(), func(q db.Q) error {
		_, err := q.Row(sql).Scan(&n)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAServerWithTheKeyOfAnotherStoreDoesNotStart(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		s := newSigners(t, store)
		for _, p := range s.nodes {
			p.terminate(t)
		}
		other := filepath.Join(t.TempDir(), "audit.key")
		initialise(t, dbtest.Store{Engine: "sqlite", Config: db.Config{Dir: filepath.Dir(other)}})
		succeed(t, "admin", "audit", "init", "--data", filepath.Dir(other))
		got := command(t, nil, append(at(store), "serve", "--listen", "127.0.0.1:0", "--audit-key", other)...)
		if got.Code != 1 || !strings.Contains(got.Err, "is not the key of this store") || !strings.Contains(got.Err, s.verifier) {
			t.Errorf("the server ends with %d: %s", got.Code, got.Err)
		}
		if err := os.Chmod(s.key(), 0o644); err != nil {
			t.Fatal(err)
		}
		got = command(t, nil, append(at(store), "serve", "--listen", "127.0.0.1:0", "--audit-key", s.key())...)
		if got.Code != 1 || !strings.Contains(got.Err, "chmod 600") {
			t.Errorf("the server ends with %d: %s", got.Code, got.Err)
		}
	})
}

func TestAnEmbeddedStoreGetsItsKeyAtTheFirstStart(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	p := start(t, store)
	text := p.welcome(t)
	verifier := strings.TrimSpace(succeed(t, "admin", "audit", "key", "--data", store.Config.Dir))
	if !strings.Contains(text, verifier) || !strings.Contains(text, "Keep a copy of its public key") {
		t.Errorf("the first start says %s", text)
	}
	info, err := os.Stat(filepath.Join(store.Config.Dir, "audit.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key is %v (%v)", info, err)
	}
	p.terminate(t)
	again := start(t, store)
	if strings.Contains(again.Out.String(), "new key") {
		t.Errorf("the second start says %s", again.Out)
	}
	again.terminate(t)
	if err := os.Remove(filepath.Join(store.Config.Dir, "audit.key")); err != nil {
		t.Fatal(err)
	}
	without := start(t, store)
	if !strings.Contains(without.Log.String(), "the key of the audit log is missing") {
		t.Errorf("without its key, the log of the server says %s", without.Log)
	}
	if _, err := os.Stat(filepath.Join(store.Config.Dir, "audit.key")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the store has got a second key")
	}
	without.terminate(t)
}

// An operator restores a backup that is older than the last checkpoint.
func TestARestoredBackupIsSignedAfterARestart(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	made := initialise(t, store)
	file := filepath.Join(store.Config.Dir, db.SQLiteFile)
	run := func(act func(p *process, remote *servertest.Node)) {
		p := startNode(t, store)
		act(p, servertest.Remote(t, p.URL, made))
		p.terminate(t)
		if err := os.RemoveAll(file + "-wal"); err != nil {
			t.Fatal(err)
		}
	}
	awaitSize := func(n *servertest.Node, more int) {
		wait.Until(t, "the log is signed", func() bool {
			answer := n.Outside(t, "/audit-log/checkpoint")
			lines := strings.Split(string(answer.Body), "\n")
			size, _ := strconv.Atoi(lines[min(1, len(lines)-1)])
			return answer.Status == 200 && size > more
		})
	}
	run(func(_ *process, n *servertest.Node) { awaitSize(n, 0) })
	backup, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	run(func(_ *process, n *servertest.Node) {
		admin := n.Admin(t)
		for range 20 {
			admin.Entry(nil)
		}
		awaitSize(n, 20)
	})
	if err := os.WriteFile(file, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	run(func(p *process, n *servertest.Node) {
		n.Outside(t, "/audit-log/checkpoint").Fails(503, "UNAVAILABLE")
		if !strings.Contains(p.Log.String(), "bursar audit restart") {
			t.Errorf("the log of the server says %s", p.Log)
		}
		if got := command(t, nil, "audit", "restart", "--data", store.Config.Dir); got.Code != 2 || !strings.Contains(got.Err, "--yes") {
			t.Errorf("without an answer, the restart ends with %d: %s", got.Code, got.Err)
		}
		succeed(t, "audit", "restart", "--data", store.Config.Dir, "--yes")
		awaitSize(n, 0)
		if text := string(n.Outside(t, "/audit-log/checkpoint").OK().Body); !strings.Contains(text, "/2\n") {
			t.Errorf("the new checkpoint is %s", text)
		}
		if out := succeed(t, "admin", "audit", "--data", store.Config.Dir, "--action", "audit.restarted"); !strings.Contains(out, "audit.restarted") {
			t.Errorf("the log of the operator has %s", out)
		}
		if out := succeed(t, "audit", "verify", "--store", "--data", store.Config.Dir); !strings.Contains(out, "The log was restarted after the checkpoint of bursar-audit-") {
			t.Errorf("the verification of the store does not tell of the restart: %s", out)
		}
	})
}

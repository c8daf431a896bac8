package auditlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"bursar/internal/auditlog/tree"
	"bursar/internal/db"
	"bursar/internal/mail"
)

// SignerConfig is the key that signs the log and the destinations of its checkpoints.
type SignerConfig struct {
	KeyFile        string // empty for a node that does not sign
	CheckpointFile string // keeps the newest checkpoint; empty for audit.checkpoint beside the key
	Mail           string // address that gets the newest checkpoint once a day
	Mailer         *mail.Mailer
	Witnesses      []string // see newWitness
}

// Signer signs the heads of the tree, which makes them checkpoints of the log. Each
// checkpoint extends the one before, which is also kept in a file outside the store. That
// detects a store that has lost rows. Then nothing is signed until the log is restarted.
type Signer struct {
	db        *db.DB
	key       *tree.Key // nil if the node does not sign
	log       *slog.Logger
	file      string
	mailTo    string
	mailer    *mail.Mailer
	witnesses []*witness
	health    health

	mu     sync.Mutex
	signed Signed // the newest checkpoint; from the file at first
	broken error  // why signing has stopped

	publishing sync.Mutex
	stored     tree.Checkpoint // the checkpoint in the file
}

// Signed is a checkpoint, and the text that was signed.
type Signed struct {
	tree.Checkpoint
	Text []byte
	At   int64 // when the head was made, in Unix milliseconds
	Rows int64 // the last position of the log that it covers
}

// ErrUnsigned is returned if there is no checkpoint, because the node has no key or nothing
// was signed yet.
var ErrUnsigned = errors.New("the audit log has no checkpoint")

// BrokenError is returned if the store does not continue the log that was signed.
type BrokenError struct{ reason string }

func (e *BrokenError) Error() string {
	return e.reason + ": nothing is signed until 'bursar audit restart' opens a new log"
}

// NewSigner reads the key and the checkpoint outside the store, and compares the store
// with that checkpoint.
func NewSigner(ctx context.Context, d *db.DB, c SignerConfig, log *slog.Logger) (*Signer, error) {
	s := &Signer{db: d, log: log, file: c.CheckpointFile, mailTo: c.Mail, mailer: c.Mailer}
	for _, text := range c.Witnesses {
		w, err := newWitness(text)
		if err != nil {
			return nil, err
		}
		s.witnesses = append(s.witnesses, w)
	}
	if c.KeyFile == "" {
		log.Warn("the audit log is not signed by this node, because it has no key: see --audit-key")
		return s, nil
	}
	key, err := ReadKey(c.KeyFile)
	if err == nil {
		err = checkKey(ctx, d, key, c.KeyFile)
	}
	if err != nil {
		return nil, err
	}
	if s.file == "" {
		s.file = CheckpointFile(c.KeyFile)
	}
	s.key = key
	s.signed, err = readCheckpointFile(s.file, key.Verifier())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	s.stored = s.signed.Checkpoint
	if err := s.adopt(ctx); err != nil {
		return nil, err
	}
	unknown := len(s.signed.Text) == 0
	newest, err := s.Newest(ctx)
	if err == nil && unknown {
		log.Warn("no checkpoint of the audit log was kept outside of the store, so the store is taken as it is: if this node had one, put it back",
			"file", s.file, "leaves", newest.Size)
	}
	if err != nil && !errors.Is(err, ErrUnsigned) {
		s.health.fail("sign")
		log.Error("the audit log is not signed", "error", err.Error())
	}
	return s, nil
}

// CheckpointFile returns the default path of the file with the newest checkpoint.
func CheckpointFile(keyFile string) string {
	return filepath.Join(filepath.Dir(keyFile), "audit.checkpoint")
}

func readCheckpointFile(file, verifier string) (Signed, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Signed{}, fmt.Errorf("read the checkpoint that is kept outside of the store: %w", err)
	}
	point, err := tree.ReadCheckpoint(text, verifier)
	if err != nil {
		return Signed{}, fmt.Errorf("read the checkpoint in %s: %w", file, err)
	}
	return Signed{Checkpoint: point, Text: text}, nil
}

// Key returns the key, or nil if the node does not sign.
func (s *Signer) Key() *tree.Key { return s.key }

// Broken returns why signing has stopped, or nil.
func (s *Signer) Broken() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// Newest returns the newest checkpoint. It signs a head when it is read. The head was then
// committed, so it is on disk, and on the standby if PostgreSQL waits for one. The signature
// of a head is always the same, so every node may sign it.
func (s *Signer) Newest(ctx context.Context) (Signed, error) {
	if s.key == nil {
		return Signed{}, ErrUnsigned
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var state treeState
	var newest head
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		if err = q.Snapshot(); err != nil {
			return err
		}
		if state, err = readTree(q); err != nil {
			return err
		}
		if newest, err = readHead(q, state.heads); err != nil {
			return err
		}
		if s.broken == nil && s.is(state, newest) {
			return nil
		}
		tiles := NewTiles(q)
		err = s.signed.continues(tiles, state, newest)
		if err == nil {
			err = state.authentic(s.key, tiles, newest)
		}
		if errors.Is(err, errNotAuthentic) {
			err = &BrokenError{err.Error()}
		}
		return err
	})
	if broken := (*BrokenError)(nil); err == nil || errors.As(err, &broken) {
		s.broken = err
	}
	switch {
	case err != nil:
		return Signed{}, err
	case newest.number == 0:
		return Signed{}, ErrUnsigned
	case !s.is(state, newest):
		point := tree.Checkpoint{Origin: state.origin, Size: newest.size, Root: newest.root}
		text, err := s.key.Sign(point.Origin, point.Size, point.Root)
		if err != nil {
			return Signed{}, fmt.Errorf("sign the audit log: %w", err)
		}
		s.signed = Signed{Checkpoint: point, Text: text}
	}
	s.signed.At, s.signed.Rows = newest.at, newest.rows
	s.health.size.Store(newest.size)
	s.health.at.Store(newest.at)
	return s.signed, nil
}

// is reports whether the newest checkpoint is of a head.
func (s *Signer) is(state treeState, h head) bool {
	return h.number > 0 && s.signed.Checkpoint == tree.Checkpoint{Origin: state.origin, Size: h.size, Root: h.root}
}

// continues returns an error unless the tree in the store continues the one that was signed.
func (s Signed) continues(tiles *Tiles, state treeState, newest head) error {
	if err := newest.fits(tiles); err != nil {
		return &BrokenError{err.Error()}
	}
	if len(s.Text) == 0 {
		return nil
	}
	if s.Origin != state.origin {
		return s.restarted(state)
	}
	if newest.size < s.Size {
		return &BrokenError{fmt.Sprintf("the store has lost a part of the audit log, perhaps because a backup was restored: its tree has %d leaves, and a checkpoint of %d was signed", newest.size, s.Size)}
	}
	root, err := tlog.TreeHash(s.Size, tiles)
	if err != nil {
		return err
	}
	if root != s.Root {
		return &BrokenError{fmt.Sprintf("the store has another audit log than the one that was signed: the roots of the first %d leaves differ", s.Size)}
	}
	return nil
}

// restarted returns an error unless the log in the store was restarted after the checkpoint.
func (s Signed) restarted(state treeState) error {
	former, err := tree.ReadCheckpoint([]byte(state.restart), state.verifier)
	later := err == nil && generationOf(s.Origin) < state.generation
	if later && former.Origin == s.Origin {
		later = former.Size > s.Size || former == s.Checkpoint
	}
	if !later {
		return &BrokenError{fmt.Sprintf("the store has another audit log than the one that was signed: it is %s, which was not opened after the checkpoint of %s with %d leaves", state.origin, s.Origin, s.Size)}
	}
	return nil
}

// originOf returns the name of a log in its checkpoints. It has the name of the key, and how
// often the log was restarted.
func originOf(key string, generation int64) string {
	if generation == 1 {
		return key
	}
	return key + "/" + strconv.FormatInt(generation, 10)
}

func generationOf(origin string) int64 {
	_, number, again := strings.Cut(origin, "/")
	generation, err := strconv.ParseInt(number, 10, 64)
	if !again || err != nil {
		return 1
	}
	return generation
}

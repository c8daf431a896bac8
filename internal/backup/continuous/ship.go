package continuous

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"filippo.io/age"
	"github.com/superfly/ltx"

	"bursar/internal/db/sqlite"
	"bursar/internal/work"
)

const (
	queueName  = "backup-queue" // folder in the data folder, for segments that the target does not have yet
	ownerName  = "owner.json"   // object that names the store whose backup this is, and until when it is complete
	idName     = "id"           // file in the queue with the id of the store
	closedName = "closed.json"  // file in the queue: the store was closed after the last commit was cut
	jumpedName = "jumped.json"  // file in the queue with the last number that was left out
	tokensName = "tokens.json"  // file in the queue with the valid tokens of owner.json
	renewName  = "renewed.json" // file in the queue: after which cut the WAL was reset

	cutEvery   = time.Second
	boundEvery = 10 * time.Second
	ownEvery   = time.Minute
	thinEvery  = time.Hour
	baseEvery  = 7 * 24 * time.Hour
	retryPause = 5 * time.Second // after a target has failed

	// minQueueLimit bounds, with the size of the database, the queue for a target that does not answer. A
	// new base is smaller than a longer queue.
	minQueueLimit = 256 << 20
)

// Config is what is shipped, and where to.
type Config struct {
	Store      *sqlite.Engine
	Dir        string // data folder of the store
	Target     Target
	Recipients []age.Recipient // who can read the objects; empty means unencrypted
	Log        *slog.Logger
}

// Shipper copies the commits of a store to a target.
type Shipper struct {
	Config
	queue folder
	id    string
	limit int64 // of the queue, in bytes, unless the database is larger
	wal   *sqlite.Log

	cutting sync.Mutex // held during a cut, also by the writer of the store
	at      atomic.Pointer[sqlite.Position]
	last    ltx.TXID  // the number of the last cut
	size    uint32    // of the database then, in pages
	jumps   int       // how often numbers were left out, because changes are unknown
	cutAt   time.Time // when the last successful cut began

	wake     work.Signal   // the uploader
	needBase work.Signal   // has room for one request
	met      chan struct{} // closed when the target was reached
	metOnce  sync.Once
	since    time.Time

	// Used by the uploader only.
	known                        bool                 // the target was reached
	recorded                     bool                 // the target has recorded that it is complete
	merged                       [bases]ltx.TXID      // by level: everything up to this number is in a segment of the level
	times                        map[string]time.Time // of the segments in the queue
	nextOwn, nextThin, nextMerge time.Time
	repaired                     time.Time // the time of the last verification whose damage was handled

	mu       sync.Mutex
	landed   map[string]bool // names in the target
	token    string          // the token in owner.json
	next     string          // the token that is being written; empty otherwise
	earlier  []string        // the tokens of a backup that was missing when this one began, in case it returns
	status   Status
	failures map[string]failure // by step
}

// Status is the state of a backup.
type Status struct {
	Target   string
	Safe     time.Time // everything committed before is in the target; zero until the first upload
	Base     time.Time // when the newest base was stored; zero if there is none
	Broken   bool      // a new base is needed before the newest changes can be restored
	Queue    int       // segments that the target does not have yet
	Failure  string    // why the last attempt failed; empty if it succeeded
	Failing  time.Time // since when it has been failing
	Segments uint64    // stored since the start
	Bytes    uint64    // stored since the start
	Gaps     uint64    // how often a new base was needed since the start
	Verified Verified  // the newest result of a verification
}

// IsGood reports whether a restore would lose less than the given time.
func (s Status) IsGood(now time.Time, lost time.Duration) bool {
	return !s.Broken && !s.Base.IsZero() && !s.Safe.IsZero() && now.Sub(s.Safe) < lost
}

// Start finds out what the queue and the target have of the store. The caller calls Run, then closes the
// store, then calls Finish.
func Start(c Config) (*Shipper, error) {
	s := &Shipper{Config: c, queue: folder(filepath.Join(c.Dir, queueName)), limit: minQueueLimit,
		wake: make(work.Signal, 1), needBase: make(work.Signal, 1), met: make(chan struct{}),
		landed: map[string]bool{}, times: map[string]time.Time{}, failures: map[string]failure{}}
	s.status.Target, s.since = c.Target.String(), time.Now().UTC()
	err := os.MkdirAll(string(s.queue), 0o700)
	if err == nil {
		err = s.readID()
	}
	if err != nil {
		return nil, fmt.Errorf("prepare the queue of the backup: %w", err)
	}
	s.at.Store(&sqlite.Position{})
	// The writer calls this while others wait, so that no page is lost when the WAL is reset.
	s.cutting.Lock()
	defer s.cutting.Unlock()
	s.wal, err = c.Store.OpenLog(&s.at, func() { s.failed("cut", s.cut()) }, s.noteRenewal)
	if err != nil {
		return nil, err
	}
	if err := s.continueShipping(); err != nil {
		return nil, errors.Join(fmt.Errorf("find what is in the backup: %w", err), s.wal.Close())
	}
	return s, nil
}

// readID reads the id of the store, and creates it the first time.
func (s *Shipper) readID() error {
	text, err := os.ReadFile(s.queue.path(idName))
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte(rand.Text())
		err = s.queue.Put(context.Background(), idName, bytes.NewReader(text), 0)
	}
	s.id = string(bytes.TrimSpace(text))
	return err
}

// jump leaves a number out, so that later segments are not taken as the continuation of earlier ones.
func (s *Shipper) jump() error {
	at, err := s.wal.Start()
	if err != nil {
		return err
	}
	// The number is stored first, so that a later process does not leave out the same one again.
	if err := s.putJSON(context.Background(), s.queue, jumpedName, s.last+1); err != nil {
		return err
	}
	s.last++
	s.jumps++
	s.size = 0
	s.at.Store(&at)
	s.mu.Lock()
	if s.last > 2 { // the first start misses nothing
		s.status.Gaps++
	}
	s.mu.Unlock()
	s.wantBase()
	return nil
}

// wantBase requests a base, without which the newest changes cannot be restored.
func (s *Shipper) wantBase() {
	s.mu.Lock()
	s.status.Broken = true
	s.mu.Unlock()
	s.needBase.Send()
}

// cut writes the commits since the last cut into the queue.
func (s *Shipper) cut() error {
	s.cutting.Lock()
	defer s.cutting.Unlock()
	now := time.Now() // everything committed before will be in the segment
	if now.Before(s.cutAt) {
		now = s.cutAt // the clock went back; restores find moments by their order
	}
	changes, err := s.wal.Changes(*s.at.Load())
	if err == nil {
		err = s.writeCut(changes, now)
	}
	if !errors.Is(err, sqlite.ErrGap) {
		return err
	}
	s.Log.Warn("the backup needs a new base", "reason", err)
	if err := s.jump(); err != nil {
		return err
	}
	if changes, err = s.wal.Changes(*s.at.Load()); err != nil {
		return err
	}
	return s.writeCut(changes, now)
}

func (s *Shipper) writeCut(c sqlite.Changes, now time.Time) error {
	if c.Commits() == 0 {
		s.cutAt = now // and the position stays that of the newest segment, which a later process knows
		return nil
	}
	if len(c.Pages) > 0 {
		next := segment{level: seconds, min: s.last + 1, max: s.last + 1}
		err := writeFile(s.queue.path(next.name()), func(w io.Writer) error { return encodeCut(w, next, c, *s.at.Load(), s.size, s.wal.PageSize(), now) })
		if err != nil {
			return fmt.Errorf("write %s into the queue: %w", next.name(), err)
		}
		s.last, s.size = next.max, c.Size
	}
	s.at.Store(&c.To)
	s.cutAt = now
	return nil
}

// Run ships until the context ends.
func (s *Shipper) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { s.uploadAll(ctx) })
	all.Go(func() { s.makeBases(ctx) })
	bounded := time.Now()
	work.Every(ctx, cutEvery, func() {
		if s.isDue() {
			s.failed("cut", s.cut())
		}
		s.wake.Send()
		if time.Since(bounded) > boundEvery {
			s.boundQueue(ctx)
			bounded = time.Now()
		}
	})
	all.Wait()
}

// isDue reports whether the last cut is long ago. Under load the WAL is reset more than once a second, with a cut each
// time. More cuts would only write the same pages again.
func (s *Shipper) isDue() bool {
	s.cutting.Lock()
	defer s.cutting.Unlock()
	return time.Since(s.cutAt) > cutEvery/2
}

// Finish sends the rest of the queue after the store was closed. It records the state of the closed file first,
// before another process can change it.
func (s *Shipper) Finish(ctx context.Context) error {
	now, err := s.lookClosed()
	if _, walErr := os.Stat(filepath.Join(s.Dir, sqlite.FileName+"-wal")); err == nil && errors.Is(walErr, fs.ErrNotExist) && s.wal.IsAt(*s.at.Load()) {
		now.Last = s.last
		err = s.putJSON(ctx, s.queue, closedName, now)
	}
	return errors.Join(err, s.upload(ctx), s.wal.Close())
}

func (s *Shipper) putJSON(ctx context.Context, t Target, name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return t.Put(ctx, name, bytes.NewReader(text), int64(len(text)))
}

// steps are the steps that can fail, in the order in which Status reports them.
var steps = []string{"cut", "upload", "base"}

// Status returns the state of the backup.
func (s *Shipper) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.status
	for _, step := range steps {
		if f, ok := s.failures[step]; ok {
			status.Failure, status.Failing = step+": "+f.text, f.since
			break
		}
	}
	return status
}

type failure struct {
	text  string
	since time.Time
}

// failed reports a failure, once until it has ended.
func (s *Shipper) failed(step string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, was := s.failures[step]
	if err == nil {
		if was {
			delete(s.failures, step)
			s.Log.Info("the backup continues", "step", step)
		}
		return
	}
	now := failure{err.Error(), before.since}
	if !was {
		now.since = time.Now()
	}
	s.failures[step] = now
	if now.text != before.text {
		s.Log.Error("the backup has failed and is tried again", "step", step, "error", err)
	}
}

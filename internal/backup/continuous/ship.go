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
)

const (
	queueName  = "backup-queue" // folder of what the target does not have yet, in the data folder
	ownerName  = "owner.json"   // object that names the store whose backup this is, and up to when it is complete
	idName     = "id"           // file in the queue with the name of the store
	closedName = "closed.json"  // file in the queue that says that the store was closed after the last commit was cut
	jumpedName = "jumped.json"  // file in the queue with the last number that was left out
	tokensName = "tokens.json"  // file in the queue with what owner.json may say
	renewName  = "renewed.json" // file in the queue that says after which cut the log was started anew

	cutEvery   = time.Second
	boundEvery = 10 * time.Second
	ownEvery   = time.Minute
	thinEvery  = time.Hour
	baseEvery  = 7 * 24 * time.Hour
	retryPause = 5 * time.Second // after a target has failed

	// minQueueLimit bounds, with the size of the database, what waits for a target that does not answer. A
	// new base is smaller than more than that.
	minQueueLimit = 256 << 20
)

// Config says what is shipped, and where to.
type Config struct {
	Store      *sqlite.Engine
	Dir        string // data folder of the store
	Target     Target
	Recipients []age.Recipient // who can read the objects; empty for everybody
	Log        *slog.Logger
}

// Shipper copies what a store commits to a target.
type Shipper struct {
	Config
	queue folder
	id    string
	limit int64 // of the queue, in bytes, if the database is not larger
	wal   *sqlite.Log

	cutting sync.Mutex // held for a cut, also by the writer of the store
	at      atomic.Pointer[sqlite.Position]
	last    ltx.TXID  // the number of the last cut
	size    uint32    // of the database then, in pages
	jumps   int       // how often numbers were left out, because changes are not known
	cutAt   time.Time // when the last cut that worked began

	wake     chan struct{} // the uploader
	needBase chan struct{} // has room for one
	met      chan struct{} // closed when the target was reached
	metOnce  sync.Once
	since    time.Time

	// Of the uploader alone.
	known                        bool                 // the target was reached
	told                         bool                 // the target knows that it is complete
	merged                       [bases]ltx.TXID      // by level: everything up to there is in a segment of it
	times                        map[string]time.Time // of the segments in the queue
	nextOwn, nextThin, nextMerge time.Time
	repaired                     time.Time // when the verification was made whose damage was looked at

	mu       sync.Mutex
	landed   map[string]bool // names in the target
	token    string          // what owner.json says
	next     string          // what it says once it is written; empty in between
	earlier  []string        // what it says if the backup comes back that was gone when this one began
	status   Status
	failures map[string]failure // by step
}

// Status is how a backup is doing.
type Status struct {
	Target   string
	Safe     time.Time // everything that was committed before is in the target; zero before the first time
	Base     time.Time // when the newest base was stored; zero for never
	Broken   bool      // a new base is needed before the newest changes can be restored
	Queue    int       // segments that the target does not have yet
	Failure  string    // why the last try failed; empty if it did not
	Failing  time.Time // since when
	Segments uint64    // stored since the start
	Bytes    uint64    // stored since the start
	Gaps     uint64    // how often a new base was needed since the start
	Verified Verified  // the newest result of a verification
}

// IsGood reports whether a restore would lose less than some time.
func (s Status) IsGood(now time.Time, lost time.Duration) bool {
	return !s.Broken && !s.Base.IsZero() && !s.Safe.IsZero() && now.Sub(s.Safe) < lost
}

// Start finds out what the queue and the target have of the store. The caller calls Run, then closes the
// store, and calls Finish.
func Start(c Config) (*Shipper, error) {
	s := &Shipper{Config: c, queue: folder(filepath.Join(c.Dir, queueName)), limit: minQueueLimit, wake: make(chan struct{}, 1), needBase: make(chan struct{}, 1), met: make(chan struct{}),
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
	// The writer calls this while others wait, so that no page is lost with the log.
	s.cutting.Lock()
	defer s.cutting.Unlock()
	s.wal, err = c.Store.OpenLog(&s.at, func() { s.failed("cut", s.cut()) }, s.noteRenewal)
	if err != nil {
		return nil, err
	}
	if err := s.goOn(); err != nil {
		return nil, errors.Join(fmt.Errorf("find what is in the backup: %w", err), s.wal.Close())
	}
	return s, nil
}

// readID reads the name of the store, and makes it up the first time.
func (s *Shipper) readID() error {
	text, err := os.ReadFile(s.queue.path(idName))
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte(rand.Text())
		err = s.queue.Put(context.Background(), idName, bytes.NewReader(text), 0)
	}
	s.id = string(bytes.TrimSpace(text))
	return err
}

// jump leaves a number out, so that nobody takes what comes later for what follows on what was before.
func (s *Shipper) jump() error {
	at, err := s.wal.Start()
	if err != nil {
		return err
	}
	// It is kept first, so that a later process does not leave out the same one again.
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

// wantBase has a base made, without which the newest changes cannot be restored.
func (s *Shipper) wantBase() {
	s.mu.Lock()
	s.status.Broken = true
	s.mu.Unlock()
	select {
	case s.needBase <- struct{}{}:
	default:
	}
}

// cut writes what was committed since the last cut into the queue.
func (s *Shipper) cut() error {
	s.cutting.Lock()
	defer s.cutting.Unlock()
	now := time.Now() // everything that was committed before will be in the segment
	if now.Before(s.cutAt) {
		now = s.cutAt // the clock went back, and restores find moments by their order
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
	tick := time.NewTicker(cutEvery)
	defer tick.Stop()
	bounded := time.Now()
	for ctx.Err() == nil {
		if s.isDue() {
			s.failed("cut", s.cut())
		}
		s.wakeUploader()
		if time.Since(bounded) > boundEvery {
			s.boundQueue(ctx)
			bounded = time.Now()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	all.Wait()
}

// isDue reports whether the last cut is long ago. Under load the log is started anew, and cut for that, more than once a
// second, and more cuts would only write the same pages again.
func (s *Shipper) isDue() bool {
	s.cutting.Lock()
	defer s.cutting.Unlock()
	return time.Since(s.cutAt) > cutEvery/2
}

func (s *Shipper) wakeUploader() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Finish sends what is left, after the store was closed. What the closed file looks like is noted first, before
// another process can change it.
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

// steps are what can fail, in the order in which it is told.
var steps = []string{"cut", "upload", "base"}

// Status returns how the backup is doing.
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

// failed tells of a failure, once until it has ended.
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
			s.Log.Info("the backup goes on", "step", step)
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

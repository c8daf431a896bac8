package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
)

// Sizes in the write-ahead log, and in its index, which SQLite documents at
// https://www.sqlite.org/walformat.html.
const (
	LogHeader   = 32
	FrameHeader = 24 // before each page
	indexHeader = 48 // of which there are two copies
)

// ErrGap is returned if the WAL was reset before all of it was read, so some changed pages are unknown.
var ErrGap = errors.New("the WAL was reset before it was read")

// Log reads commits of this and other processes from the write-ahead log (WAL). It takes no lock and
// does not need SQLite. The index of the WAL, which SQLite writes after the fsync, records how far it
// is committed. Pages before that point stay unchanged until the WAL is reset. That happens only when
// all of it is in the database, after this process has called the function that was passed to OpenLog.
type Log struct {
	wal, index *os.File
	pageSize   int64
}

// Position is a position in the WAL after a commit.
type Position struct {
	Salt     [8]byte // of this WAL: the next one has another
	Frame    uint32  // how many pages the WAL had
	Checksum uint64  // of everything up to there
	commits  uint32  // counts all commits since the store was opened
}

// logState is the content of the WAL index.
type logState struct {
	Position
	pages  uint32 // of the database
	copied uint32 // frames that are also in the database
}

// keeper is called by the writer when the WAL may be reset, and before it is closed.
type keeper struct {
	log     *Log
	read    func()
	renewed func()
	salt    [8]byte // of the WAL when the last group began; only the writer uses it
}

// OpenLog returns the log of the store. From then on the writer calls read whenever the WAL may be reset and has
// commits after the position at. It calls renewed when the WAL was reset. It waits for both, and for nothing else.
func (e *Engine) OpenLog(at *atomic.Pointer[Position], read, renewed func()) (*Log, error) {
	l := &Log{}
	var err error
	if l.wal, err = os.Open(e.path + "-wal"); err != nil {
		return nil, fmt.Errorf("open the write-ahead log: %w", err)
	}
	if l.index, err = os.Open(e.path + "-shm"); err != nil {
		return nil, errors.Join(fmt.Errorf("open the index of the write-ahead log: %w", err), l.wal.Close())
	}
	if l.pageSize, err = e.pageSize(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	s, err := l.state()
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	e.writer.checkpointer.keeper.Store(&keeper{log: l, renewed: renewed, salt: s.Salt, read: func() {
		if s, err := l.state(); err != nil || s.Position != *at.Load() {
			read()
		}
	}})
	return l, nil
}

// beforeGroup is called while the writer holds the write lock, so no one else can append to
// the WAL.
func (k *keeper) beforeGroup() {
	if k == nil {
		return
	}
	s, err := k.log.state()
	if err == nil && s.Salt != k.salt {
		k.salt = s.Salt
		k.renewed()
	}
	if err != nil || s.copied >= s.Frame {
		k.read()
	}
}

// beforeEnd is called before the WAL ends.
func (k *keeper) beforeEnd() {
	if k != nil {
		k.read()
	}
}

// Close closes the files of the log. It does not change the store.
func (l *Log) Close() error { return errors.Join(l.wal.Close(), l.index.Close()) }

// PageSize is the size of the pages of the store, in bytes.
func (l *Log) PageSize() int { return int(l.pageSize) }

// state reads both copies of the header of the index until they agree, as SQLite does.
func (l *Log) state() (s logState, err error) {
	var b [2*indexHeader + 4]byte
	for range 100 {
		if _, err := l.index.ReadAt(b[:], 0); err != nil {
			return s, fmt.Errorf("read the index of the write-ahead log: %w", err)
		}
		if !bytes.Equal(b[:indexHeader], b[indexHeader:2*indexHeader]) {
			continue
		}
		native := binary.NativeEndian
		s.commits, s.Frame, s.pages = native.Uint32(b[8:]), native.Uint32(b[16:]), native.Uint32(b[20:])
		s.Checksum = uint64(native.Uint32(b[24:]))<<32 | uint64(native.Uint32(b[28:]))
		copy(s.Salt[:], b[32:40])
		s.copied = native.Uint32(b[2*indexHeader:])
		return s, nil
	}
	return s, errors.New("the index of the write-ahead log does not come to rest")
}

// Start returns the position before everything in the current WAL. The database and the WAL together are
// the store.
func (l *Log) Start() (Position, error) {
	s, err := l.state()
	if err != nil {
		return Position{}, err
	}
	all, err := l.scan(s, 0)
	return Position{Salt: s.Salt, commits: s.commits - all.commits}, err
}

// Find returns the position that another process had reached. It returns ErrGap if the WAL no longer has
// everything after it.
func (l *Log) Find(was Position) (Position, error) {
	s, err := l.state()
	if err != nil {
		return Position{}, err
	}
	first := was.Frame
	switch {
	case was.Frame == 0:
		return Position{}, ErrGap
	case was.Salt == s.Salt && was.Frame <= s.Frame:
	case isNextSalt(was.Salt, s.Salt) && was.Frame > s.Frame:
		// The WAL was reset once since. Its earlier contents are still in the file, behind the current ones, and
		// show whether the position was at its end.
		if next, err := l.frame(was.Frame + 1); err == nil && next.salt == was.Salt {
			return Position{}, ErrGap
		}
		first = 0
	default:
		return Position{}, ErrGap
	}
	if at, err := l.frame(was.Frame); err != nil || at.checksum != was.Checksum || at.salt != was.Salt {
		return Position{}, ErrGap
	}
	after, err := l.scan(s, first)
	was.commits = s.commits - after.commits
	return was, err
}

// Next returns the salt of the WAL if it was reset after a position and still has everything that was committed
// since.
func (l *Log) Next(from Position) (salt [8]byte, ok bool) {
	s, err := l.state()
	if err != nil || s.Salt == from.Salt {
		return salt, false
	}
	after, err := l.scan(s, 0)
	return s.Salt, err == nil && after.commits == s.commits-from.commits
}

// FindNext returns the position of another process at the time when the WAL was reset with a salt that Next has
// returned. It returns ErrGap if the WAL was reset again.
func (l *Log) FindNext(was Position, salt [8]byte) (Position, error) {
	s, err := l.state()
	if err != nil {
		return Position{}, err
	}
	if s.Salt != salt {
		return Position{}, ErrGap
	}
	after, err := l.scan(s, 0)
	was.commits = s.commits - after.commits
	return was, err
}

// isNextSalt reports whether after is the salt of the WAL that follows the one with the salt before. SQLite adds
// one to the first half, and draws the second at random.
func isNextSalt(before, after [8]byte) bool {
	return binary.BigEndian.Uint32(after[:]) == binary.BigEndian.Uint32(before[:])+1
}

// IsCopied reports whether the database has all pages up to a position.
func (l *Log) IsCopied(p Position) (bool, error) {
	s, err := l.state()
	return s.Salt != p.Salt || s.copied >= p.Frame, err
}

// IsAt reports whether nothing was committed after a position. It works also after the store was closed.
func (l *Log) IsAt(p Position) bool {
	s, err := l.state()
	return err == nil && s.commits == p.commits
}

// Changes are the pages that were changed by commits after one position and up to another, by
// number, each in its last version. They are not in memory.
type Changes struct {
	To      Position
	Size    uint32 // of the database, in pages
	Pages   []ChangedPage
	log     *Log
	commits uint32
}

// Commits is how many commits made the changes.
func (c *Changes) Commits() int { return int(c.commits) }

// ChangedPage is the location of a page in the WAL.
type ChangedPage struct {
	Number uint32
	frame  uint32
}

// Changes finds what was committed after a position.
func (l *Log) Changes(from Position) (Changes, error) {
	s, err := l.state()
	if err != nil {
		return Changes{}, err
	}
	first := from.Frame
	if s.Salt != from.Salt {
		first = 0 // the WAL was reset
	}
	c, err := l.scan(s, first)
	if err != nil {
		return Changes{}, err
	}
	if c.commits != s.commits-from.commits {
		return Changes{}, ErrGap
	}
	return c, nil
}

type frame struct {
	page, size uint32 // only the last frame of a commit has the size of the database
	salt       [8]byte
	checksum   uint64
}

func (l *Log) offset(frame uint32) int64 {
	return LogHeader + int64(frame-1)*(FrameHeader+l.pageSize)
}

func (l *Log) frame(n uint32) (f frame, err error) {
	var b [FrameHeader]byte
	if _, err := l.wal.ReadAt(b[:], l.offset(n)); err != nil {
		return f, fmt.Errorf("read the write-ahead log: %w", err)
	}
	f.page, f.size = binary.BigEndian.Uint32(b[:]), binary.BigEndian.Uint32(b[4:])
	copy(f.salt[:], b[8:16])
	f.checksum = binary.BigEndian.Uint64(b[16:])
	return f, nil
}

// scan reads the headers of all frames after the first ones.
func (l *Log) scan(s logState, first uint32) (Changes, error) {
	c := Changes{To: s.Position, Size: s.pages, log: l}
	last := map[uint32]uint32{}
	for n := first + 1; n <= s.Frame; n++ {
		f, err := l.frame(n)
		if err != nil {
			return c, err
		}
		if f.salt != s.Salt {
			return c, ErrGap
		}
		if f.size != 0 {
			c.commits++
		}
		last[f.page] = n
		if n == s.Frame && f.checksum != s.Checksum {
			return c, ErrGap
		}
	}
	c.Pages = make([]ChangedPage, 0, len(last))
	for page, n := range last {
		if page <= s.pages { // otherwise it was cut off later
			c.Pages = append(c.Pages, ChangedPage{page, n})
		}
	}
	slices.SortFunc(c.Pages, func(a, b ChangedPage) int { return int(int64(a.Number) - int64(b.Number)) })
	return c, nil
}

// Read reads a page. The page is valid only if Check returns nil afterwards.
func (c *Changes) Read(p ChangedPage, into []byte) error {
	if _, err := c.log.wal.ReadAt(into, c.log.offset(p.frame)+FrameHeader); err != nil {
		return fmt.Errorf("read a page of the write-ahead log: %w", err)
	}
	return nil
}

// Check returns ErrGap if another process has reset the WAL since the changes were found.
func (c *Changes) Check() error {
	s, err := c.log.state()
	if err == nil && s.Salt != c.To.Salt {
		err = ErrGap
	}
	return err
}

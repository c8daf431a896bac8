package continuous

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"filippo.io/age"
	"github.com/superfly/ltx"
)

// Levels, with the numbers of Litestream, which can restore unencrypted segments.
const (
	seconds = iota
	minutes
	hours
	days
	bases = 9
)

// periods are how long a segment of each level lasts, and how long it is kept.
var periods = [...]struct{ lasts, kept time.Duration }{
	seconds: {time.Second, 24 * time.Hour},
	minutes: {time.Minute, 7 * 24 * time.Hour},
	hours:   {time.Hour, 31 * 24 * time.Hour},
	days:    {24 * time.Hour, 366 * 24 * time.Hour},
}

const (
	segmentFolder = "ltx/"
	sealedEnd     = ".age"
)

// segment is an object with the pages that commits have changed. Commits that were written together have one
// number. A base has all pages, and starts at number 1.
type segment struct {
	level    int
	min, max ltx.TXID
	sealed   bool
	object   Object
}

// name is the name of the object.
func (s segment) name() string {
	name := fmt.Sprintf("%s%d/%s-%s.ltx", segmentFolder, s.level, s.min, s.max)
	if s.sealed {
		name += sealedEnd
	}
	return name
}

func (s segment) covers(o segment) bool { return s.min <= o.min && s.max >= o.max }

// parseSegment parses the name of an object. ok is false if it is not a segment.
func parseSegment(o Object) (s segment, ok bool) {
	rest, ok := strings.CutPrefix(o.Name, segmentFolder)
	if !ok {
		return s, false
	}
	s.object = o
	rest, s.sealed = strings.CutSuffix(rest, sealedEnd)
	level, rest, ok := strings.Cut(rest, "/")
	if !ok {
		return s, false
	}
	var err error
	if s.level, err = strconv.Atoi(level); err != nil {
		return s, false
	}
	if s.level != bases && (s.level < 0 || s.level >= len(periods)) {
		return s, false
	}
	if s.min, s.max, err = ltx.ParseFilename(rest); err != nil {
		return s, false
	}
	return s, s.name() == o.Name
}

// list returns all segments of a target, by level and number.
func list(ctx context.Context, t Target) ([]segment, error) {
	objects, err := t.List(ctx, segmentFolder)
	if err != nil {
		return nil, fmt.Errorf("list the segments in %s: %w", t, err)
	}
	var all []segment
	for _, o := range objects {
		if s, ok := parseSegment(o); ok {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b segment) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.min, b.min), cmp.Compare(a.max, b.max))
	})
	return all, nil
}

// inForm returns the segments that are encrypted, or those that are not. After recipients were added, a target has
// both.
func inForm(all []segment, sealed bool) (some []segment) {
	for _, s := range all {
		if s.sealed == sealed {
			some = append(some, s)
		}
	}
	return some
}

// newestOf returns the segment with the highest number.
func newestOf(all []segment) (newest segment) {
	for _, s := range all {
		if s.max > newest.max {
			newest = s
		}
	}
	return newest
}

// reader reads the segments of a target.
type reader struct {
	target     Target
	identities []age.Identity
	fits       atomic.Bool // an identity has decrypted a segment
	sums       bool        // hash the objects that are read
}

// ErrSealed is returned if a backup is encrypted and no key was given.
var ErrSealed = errors.New("the backup is encrypted")

// open returns the content of a segment. Without an identity, an encrypted segment can only be hashed.
func (r *reader) open(ctx context.Context, s segment) (*text, error) {
	object, err := r.target.Get(ctx, s.name())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("segment %s is missing: %w", s.name(), err)
	}
	if err != nil {
		return nil, fmt.Errorf("read segment %s: %w", s.name(), err)
	}
	source := &source{ReadCloser: object}
	if r.sums {
		source.hash = sha256.New()
	}
	t := &text{bufio.NewReaderSize(source, 1<<18), s, source}
	if !s.sealed || r.sums && len(r.identities) == 0 {
		return t, nil
	}
	sealed, err := age.Decrypt(t.Reader, r.identities...)
	if err != nil {
		if noMatch := new(age.NoIdentityMatchError); errors.As(err, &noMatch) && !r.fits.Load() {
			err = fmt.Errorf("decrypt segment %s: %w", s.name(), err)
		} else {
			err = t.fault(err)
		}
		return nil, errors.Join(err, object.Close())
	}
	r.fits.Store(true)
	t.Reader = bufio.NewReaderSize(sealed, 1<<16) // age reads pieces of 64 KiB; the decoder reads a few bytes at a time
	return t, nil
}

// text is the content of a segment.
type text struct {
	io.Reader
	segment segment
	source  *source
}

// Close implements io.Closer.
func (t *text) Close() error { return t.source.Close() }

// fault returns the error of a damaged segment, unless the object could not be read.
func (t *text) fault(err error) error {
	if t.source.failed != nil {
		return fmt.Errorf("read segment %s: %w", t.segment.name(), t.source.failed)
	}
	return &DamagedError{t.segment, err}
}

// boundedPages refuses a page whose length exceeds the maximum, before a decoder allocates that much memory. One damaged
// bit can mean 2 GiB.
type boundedPages struct {
	io.Reader
	lengthIsNext bool
}

// Read implements io.Reader. A decoder reads the header of a page in one piece, and then its length.
func (b *boundedPages) Read(to []byte) (int, error) {
	const longest = 2 * ltx.MaxPageSize // an incompressible page grows only slightly
	isLength := b.lengthIsNext && len(to) == 4
	b.lengthIsNext = false
	if !isLength && len(to) != ltx.PageHeaderSize {
		return b.Reader.Read(to)
	}
	n, err := io.ReadFull(b.Reader, to)
	switch {
	case err != nil:
	case !isLength:
		b.lengthIsNext = binary.BigEndian.Uint16(to[4:])&ltx.PageHeaderFlagSize != 0
	case binary.BigEndian.Uint32(to) > longest:
		return 0, fmt.Errorf("a page claims to be %d bytes long", binary.BigEndian.Uint32(to))
	}
	return n, err
}

// source records that an object could not be read, and hashes what was read if requested.
type source struct {
	io.ReadCloser
	failed error
	hash   hash.Hash
}

// Read implements io.Reader.
func (s *source) Read(to []byte) (int, error) {
	n, err := s.ReadCloser.Read(to)
	if s.hash != nil {
		s.hash.Write(to[:n])
	}
	if err != nil && err != io.EOF {
		s.failed = err
	}
	return n, err
}

// time returns when the last commit of a segment was written.
func (r *reader) time(ctx context.Context, s segment) (time.Time, error) {
	text, err := r.open(ctx, s)
	if err != nil {
		return time.Time{}, err
	}
	defer text.Close()
	header, _, err := ltx.PeekHeader(text)
	if err != nil {
		return time.Time{}, text.fault(err)
	}
	return time.UnixMilli(header.Timestamp), nil
}

// pages is the destination for the pages of a segment.
type pages interface {
	io.WriterAt
	Truncate(size int64) error
}

// apply writes the pages of a segment into a database, and returns their size in bytes.
func (r *reader) apply(ctx context.Context, s segment, to pages) (n int64, err error) {
	text, err := r.open(ctx, s)
	if err != nil {
		return 0, err
	}
	defer text.Close()
	return text.decode(ctx, to)
}

// check reads a whole object. Every checksum of the segment must match, and so must the checksum that the object was stored
// with. The latter covers the bytes of the object. Those of a segment cover its pages, and different bytes can decompress to
// the same page.
func (r *reader) check(ctx context.Context, s segment) error {
	text, err := r.open(ctx, s)
	if noMatch := new(age.NoIdentityMatchError); errors.As(err, &noMatch) && len(r.identities) > 0 {
		// It is encrypted for another key, or damaged where it names its keys.
		if sum, sumErr := r.target.Sum(ctx, s.name()); sumErr != nil || sum == "" {
			return errors.Join(fmt.Errorf("segment %s cannot be decrypted with this key", s.name()), sumErr)
		}
		return (&reader{target: r.target, sums: true}).check(ctx, s)
	}
	if err != nil {
		return err
	}
	defer text.Close()
	if s.sealed && len(r.identities) == 0 {
		_, err = io.Copy(io.Discard, text) // without a key, only the checksum can be verified
	} else {
		_, err = text.decode(ctx, discard{})
	}
	if err != nil {
		return err
	}
	sum, err := r.target.Sum(ctx, s.name())
	if err != nil {
		return fmt.Errorf("read the checksum of segment %s: %w", s.name(), err)
	}
	if got := hex.EncodeToString(text.source.hash.Sum(nil)); sum != "" && sum != got {
		return text.fault(fmt.Errorf("its SHA-256 is %s, but %s was stored", got, sum))
	}
	return nil
}

// discard is a database that discards its pages.
type discard struct{}

// WriteAt implements pages.
func (discard) WriteAt(data []byte, _ int64) (int, error) { return len(data), nil }

// Truncate implements pages.
func (discard) Truncate(int64) error { return nil }

// decode reads a segment to its end and writes its pages.
func (t *text) decode(ctx context.Context, to pages) (n int64, err error) {
	d := ltx.NewDecoder(&boundedPages{Reader: t})
	d.SetRetainPageIndex(false)
	if err := d.DecodeHeader(); err != nil {
		return 0, t.fault(err)
	}
	h := d.Header()
	if h.MinTXID != t.segment.min || h.MaxTXID != t.segment.max {
		return 0, t.fault(fmt.Errorf("its header names %s-%s", h.MinTXID, h.MaxTXID))
	}
	var page ltx.PageHeader
	data := make([]byte, h.PageSize)
	for ctx.Err() == nil {
		err := d.DecodePage(&page, data)
		if err == io.EOF {
			break
		}
		if err != nil {
			return n, t.fault(err)
		}
		if _, err := to.WriteAt(data, int64(page.Pgno-1)*int64(h.PageSize)); err != nil {
			return n, fmt.Errorf("write the database: %w", err)
		}
		n += int64(len(data))
	}
	if err := ctx.Err(); err != nil {
		return n, err
	}
	if err := d.Close(); err != nil {
		return n, t.fault(err)
	}
	if err := to.Truncate(int64(h.Commit) * int64(h.PageSize)); err != nil {
		return n, fmt.Errorf("write the database: %w", err)
	}
	return n, nil
}

var errNoBase = errors.New("there is no base")

// plan finds the segments that restore the store as of a commit: the last base before it, and the fewest
// segments from there.
func plan(all []segment, to ltx.TXID) ([]segment, error) {
	var way []segment
	var at ltx.TXID
	for _, s := range all {
		if s.level == bases && s.max <= to && s.max > at {
			way, at = []segment{s}, s.max
		}
	}
	if way == nil {
		return nil, fmt.Errorf("%w before commit %s, so nothing can be restored", errNoBase, to)
	}
	rest, err := follow(all, at, to)
	return append(way, rest...), err
}

// follow finds the fewest segments that lead from one commit to another.
func follow(all []segment, at, to ltx.TXID) (way []segment, err error) {
	for at < to {
		var next segment
		for _, s := range all {
			if s.level != bases && s.max <= to && ltx.IsContiguous(at, s.min, s.max) && s.max > next.max {
				next = s
			}
		}
		if next.max == 0 {
			return way, &GapError{Missing: at + 1}
		}
		way, at = append(way, next), next.max
	}
	return way, nil
}

// leads reports whether segments continue from one commit to another, or past it.
func leads(all []segment, at, to ltx.TXID) bool {
	for at < to {
		before := at
		for _, s := range all {
			if s.level != bases && ltx.IsContiguous(at, s.min, s.max) {
				at = s.max
			}
		}
		if at == before {
			return false
		}
	}
	return true
}

// GapError is returned if a segment is missing, without which later commits cannot be restored.
type GapError struct{ Missing ltx.TXID }

func (e *GapError) Error() string {
	return fmt.Sprintf("segment %s is missing", segment{min: e.Missing, max: e.Missing}.name())
}

// DamagedError is returned if an object differs from what was stored.
type DamagedError struct {
	segment segment
	reason  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("segment %s is damaged: %v", e.segment.name(), e.reason)
}

func (e *DamagedError) Unwrap() error { return e.reason }

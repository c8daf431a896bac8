package continuous

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/superfly/ltx"

	"bursar/internal/db/sqlite"
)

// saltOf returns the salt of the WAL that a segment was cut from.
func saltOf(h ltx.Header) (salt [8]byte) {
	binary.BigEndian.PutUint32(salt[:], h.WALSalt1)
	binary.BigEndian.PutUint32(salt[4:], h.WALSalt2)
	return salt
}

// encodeCut writes changes after a position as a segment. Its header has the position in the WAL where it ends.
// The header's field for a node has the checksum of the WAL up to there.
func encodeCut(w io.Writer, s segment, c sqlite.Changes, from sqlite.Position, sizeBefore uint32, pageSize int, now time.Time) error {
	first := from.Frame
	if from.Salt != c.To.Salt {
		first = 0
	}
	frame := int64(sqlite.FrameHeader + pageSize)
	e, err := newEncoder(w, ltx.Header{
		Version: ltx.Version, Flags: ltx.HeaderFlagNoChecksum, PageSize: uint32(pageSize), Commit: c.Size,
		MinTXID: s.min, MaxTXID: s.max, Timestamp: now.UnixMilli(),
		WALOffset: sqlite.LogHeader + int64(first)*frame, WALSize: int64(c.To.Frame-first) * frame,
		WALSalt1: binary.BigEndian.Uint32(c.To.Salt[:]), WALSalt2: binary.BigEndian.Uint32(c.To.Salt[4:]), NodeID: c.To.Checksum,
	})
	if err != nil {
		return err
	}
	data, nothing := make([]byte, pageSize), make([]byte, pageSize)
	next := sizeBefore + 1 // SQLite leaves out new pages that have no content yet, but a base must have every page
	if sizeBefore == 0 {
		next = c.Size + 1 // a base follows that has them
	}
	for _, p := range c.Pages {
		for ; next < p.Number; next++ {
			if err := e.page(next, nothing); err != nil {
				return err
			}
		}
		if p.Number == next {
			next++
		}
		if err := c.Read(p, data); err != nil {
			return err
		}
		if err := e.page(p.Number, data); err != nil {
			return err
		}
	}
	for ; next <= c.Size; next++ {
		if err := e.page(next, nothing); err != nil {
			return err
		}
	}
	return errors.Join(e.close(), c.Check())
}

// encoder writes a segment.
type encoder struct {
	*ltx.Encoder
	buffer *bufio.Writer
	lock   uint32
}

func newEncoder(w io.Writer, h ltx.Header) (*encoder, error) {
	buffer := bufio.NewWriterSize(w, 1<<18)
	e, err := ltx.NewEncoder(buffer)
	if err != nil {
		return nil, err
	}
	if err := e.EncodeHeader(h); err != nil {
		return nil, fmt.Errorf("write a segment: %w", err)
	}
	return &encoder{e, buffer, h.LockPgno()}, nil
}

// page writes a page. It leaves out the page at which SQLite locks files, which has no content.
func (e *encoder) page(number uint32, data []byte) error {
	if number == e.lock {
		return nil
	}
	if err := e.EncodePage(ltx.PageHeader{Pgno: number}, data); err != nil {
		return fmt.Errorf("write a segment: %w", err)
	}
	return nil
}

func (e *encoder) close() error {
	if err := e.Close(); err != nil {
		return fmt.Errorf("write a segment: %w", err)
	}
	return e.buffer.Flush()
}

// merge writes consecutive segments as one.
func merge(ctx context.Context, to string, from []string) error {
	readers := make([]io.Reader, len(from))
	for i, path := range from {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		readers[i] = &boundedPages{Reader: bufio.NewReaderSize(file, 1<<16)}
	}
	return writeFile(to, func(w io.Writer) error {
		buffer := bufio.NewWriterSize(w, 1<<18)
		c, err := ltx.NewCompactor(buffer, readers)
		if err != nil {
			return err
		}
		c.HeaderFlags = ltx.HeaderFlagNoChecksum
		c.SetSpillDir(filepath.Dir(to)) // the index of the pages may be large
		if err := c.Compact(ctx); err != nil {
			return err
		}
		return buffer.Flush()
	})
}

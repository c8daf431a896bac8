package tree

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"
	"golang.org/x/sync/errgroup"

	"bursar/api"
)

const (
	maxRow = 1 << 20   // longer than any row
	block  = 256 << 10 // how much of the rows is read at once
)

// streamFile is a proof file whose rows are compared with its leaves.
type streamFile struct {
	*Report
	manifest Manifest
	tag      [32]byte
	leaves   *nodeReader
}

// rows checks that the leaves of the rows in a proof file are in its tree, which is known
// to be true.
func (r *Report) rows(parts map[string]*zip.File, m Manifest, tag [32]byte) error {
	leaves, err := openTree(parts[partTree])
	if err != nil {
		return err
	}
	defer leaves.part.Close()
	in, err := parts[partRows].Open()
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", partRows, err)
	}
	defer in.Close()
	var erased Erasures
	match := NewMatcher(streamFile{r, m, tag, leaves}, m.Count)
	err = readRows(in, m.Stream.Number, tag, func(row Row) error {
		matched, err := match.Add(row)
		if matched {
			erased.see(row.Seq, row.ID, row.isErased, row.erases)
		}
		return err
	})
	if err != nil && !errors.Is(err, ErrTooMany) {
		return fmt.Errorf("%s cannot be read: %w", partRows, err)
	}
	if err := match.End(); err != nil {
		return err
	}
	if match.last > m.Count {
		r.fail(Failure{Kind: Inserted, Seq: m.Count + 1, To: match.last, Why: fmt.Sprintf("the log has %d rows", m.Count)})
	}
	unnamed := erased.Unnamed()
	r.Failures = append(r.Failures, unnamed...)
	r.Rows, r.Erased = match.InOrder-int64(len(unnamed)), erased.Len()-int64(len(unnamed))
	r.Stopped = match.Stopped
	return nil
}

// Leaf implements Source.
func (f streamFile) Leaf() (tlog.Hash, error) {
	for {
		kind, hash, err := f.leaves.next()
		if err != nil || kind == leafRow {
			return hash, err
		}
	}
}

// LeafAt implements Source.
func (f streamFile) LeafAt(seq int64, commitment [32]byte) (tlog.Hash, bool) {
	return RowHash(f.manifest.Stream.Number, f.tag, seq, commitment), true
}

// Late implements Source.
func (f streamFile) Late(row Row, vacant bool) {
	if vacant {
		f.fail(Failure{Kind: Moved, Seq: row.Seq, ID: row.ID, Why: "it stands after rows that follow it"})
	} else {
		f.fail(Failure{Kind: Inserted, Seq: row.Seq, ID: row.ID, Why: "there is another row in its place"})
	}
}

// Moved implements Source.
func (f streamFile) Moved(row Row, from int64) {
	f.fail(Failure{Kind: Moved, Seq: from, ID: row.ID, Why: fmt.Sprintf("it stands in place %d", row.Seq)})
}

// Strange implements Source.
func (f streamFile) Strange(row Row, vacant bool) {
	switch {
	case row.Stream != f.manifest.Stream.Number:
		f.fail(Failure{Kind: Swapped, Seq: row.Seq, ID: row.ID, Why: "it is a row of another log"})
	case vacant:
		f.fail(Failure{Kind: Edited, Seq: row.Seq, ID: row.ID, Why: whyEdited})
	default:
		f.fail(Failure{Kind: Inserted, Seq: row.Seq, ID: row.ID, Why: "the log has no such row"})
	}
}

// Lost implements Source.
func (f streamFile) Lost(from, to int64) {
	failure := Failure{Kind: Removed, Seq: from, To: to, Why: "no such row is here"}
	if to == f.manifest.Count {
		failure.Kind, failure.Why = CutOff, fmt.Sprintf("the log has %d rows", f.manifest.Count)
	}
	f.fail(failure)
}

// readRows reads rows and calls take with each, in order. It hashes them in parallel.
func readRows(in io.Reader, number int64, tag [32]byte, take func(Row) error) error {
	type batch struct {
		text []byte
		line int // of its first row
		rows []Row
		done chan struct{}
		err  error
	}
	group, ctx := errgroup.WithContext(context.Background())
	workers := runtime.GOMAXPROCS(0)
	work, ordered := make(chan *batch), make(chan *batch, 4*workers)
	group.Go(func() error {
		defer close(work)
		defer close(ordered)
		line := 1
		return splitLines(in, func(text []byte) error {
			b := &batch{text: text, line: line, done: make(chan struct{})}
			line += bytes.Count(text, []byte("\n"))
			select {
			case ordered <- b:
			case <-ctx.Done():
				return ctx.Err()
			}
			select {
			case work <- b:
			case <-ctx.Done():
				return ctx.Err()
			}
			return nil
		})
	})
	for range workers {
		group.Go(func() error {
			for b := range work {
				b.rows, b.err = parseRows(b.text, b.line, number, tag)
				close(b.done)
			}
			return nil
		})
	}
	group.Go(func() error {
		for b := range ordered {
			select {
			case <-b.done:
			case <-ctx.Done():
				return ctx.Err()
			}
			if b.err != nil {
				return b.err
			}
			for _, row := range b.rows {
				if err := take(row); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return group.Wait()
}

// splitLines calls take with batches of whole lines.
func splitLines(in io.Reader, take func([]byte) error) error {
	from := bufio.NewReaderSize(in, maxRow)
	for {
		text := make([]byte, block, block+4096)
		n, err := io.ReadFull(from, text)
		text = text[:n]
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		if err == nil { // up to the end of the line
			rest, err := from.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				return errors.New("a row is longer than any can be")
			}
			if err != nil && err != io.EOF {
				return err
			}
			text = append(text, rest...)
		}
		if len(text) == 0 {
			return nil
		}
		if text[len(text)-1] != '\n' {
			return errors.New("it ends within a row")
		}
		if err := take(text); err != nil {
			return err
		}
	}
}

func parseRows(text []byte, line int, number int64, tag [32]byte) ([]Row, error) {
	rows := make([]Row, 0, len(text)/256)
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		var row api.AuditProofRow
		if err := json.Unmarshal(text[:end], &row, json.RejectUnknownMembers(true)); err != nil {
			return nil, fmt.Errorf("line %d is no row: %w", line, err)
		}
		text, line = text[end+1:], line+1
		seen := Row{Place: row.Seq, Stream: row.Stream, Seq: row.Seq, ID: row.ID, isErased: len(row.Erased) > 0, erases: erasedBy(row.Entry)}
		if commitment, ok := RowCommitment(row); ok {
			seen.Commitment, seen.Leaf = commitment, RowHash(number, tag, row.Seq, commitment)
		}
		rows = append(rows, seen)
	}
	return rows, nil
}

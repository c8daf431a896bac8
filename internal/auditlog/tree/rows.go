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

// seenRow is the part of a row that is needed to find its place.
type seenRow struct {
	stream, seq int64
	id          string
	commitment  [32]byte
	leaf        tlog.Hash // of a row with this content at this place
	isErased    bool
	erases      string
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
	match := newMatcher(r, m.Stream.Number, tag, m.Count, func() (tlog.Hash, error) {
		for {
			kind, hash, err := leaves.next()
			if err != nil || kind == leafRow {
				return hash, err
			}
		}
	})
	if err := readRows(in, m.Stream.Number, tag, match.add); err != nil && !errors.Is(err, errTooMany) {
		return fmt.Errorf("%s cannot be read: %w", partRows, err)
	}
	return match.end()
}

// readRows reads rows and calls take with each, in order. It hashes them in parallel.
func readRows(in io.Reader, number int64, tag [32]byte, take func(seenRow) error) error {
	type batch struct {
		text []byte
		line int // of its first row
		rows []seenRow
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

func parseRows(text []byte, line int, number int64, tag [32]byte) ([]seenRow, error) {
	rows := make([]seenRow, 0, len(text)/256)
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		var row api.AuditProofRow
		if err := json.Unmarshal(text[:end], &row, json.RejectUnknownMembers(true)); err != nil {
			return nil, fmt.Errorf("line %d is no row: %w", line, err)
		}
		text, line = text[end+1:], line+1
		seen := seenRow{stream: row.Stream, seq: row.Seq, id: row.ID, isErased: len(row.Erased) > 0, erases: erasedBy(row.Entry)}
		if commitment, ok := RowCommitment(row); ok {
			seen.commitment, seen.leaf = commitment, rowHash(number, tag, row.Seq, commitment)
		}
		rows = append(rows, seen)
	}
	return rows, nil
}

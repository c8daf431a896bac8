package cli

import (
	"context"
	"fmt"
	"io"
	"os"
)

// maxInput is the maximum size of a file with fields. The API accepts no larger body.
const maxInput = 1 << 20

// readInput reads a file, or standard input if the name is "-".
func readInput(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return readSome("standard input", stdin)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readSome(name, file)
}

func readSome(name string, from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(text) > maxInput {
		return nil, fmt.Errorf("%s is larger than 1 MiB", name)
	}
	return text, nil
}

// ctxReader reads from a source that may block for long, and returns when the context is done.
type ctxReader struct {
	ctx    context.Context
	pieces chan piece
	rest   []byte
	err    error
}

type piece struct {
	text []byte
	err  error
}

func newPatientReader(ctx context.Context, from io.Reader) *ctxReader {
	r := &ctxReader{ctx: ctx, pieces: make(chan piece)}
	go func() {
		for {
			buffer := make([]byte, 64<<10)
			n, err := from.Read(buffer)
			select {
			case r.pieces <- piece{buffer[:n], err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return r
}

func (r *ctxReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		select {
		case next := <-r.pieces:
			r.rest, r.err = next.text, next.err
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *ctxReader) Close() error { return nil }

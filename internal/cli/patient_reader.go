package cli

import (
	"context"
	"io"
)

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

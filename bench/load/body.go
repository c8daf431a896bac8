package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// readBody reads past the body; of one that reports an error it keeps the start.
func readBody(in *bufio.Reader, a *answer, f framing) error {
	switch {
	case f.chunked:
		return readChunks(in, a)
	case f.length >= 0:
		if f.length > maxBody {
			return fmt.Errorf("%d bytes, more than %d", f.length, maxBody)
		}
		return a.skip(in, f.length)
	}
	a.close = true // it ends where the connection does
	read := int64(0)
	for {
		if _, err := in.Peek(1); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		n := int64(in.Buffered())
		if read += n; read > maxBody {
			return fmt.Errorf("more than %d bytes", maxBody)
		}
		if err := a.skip(in, n); err != nil {
			return err
		}
	}
}

func readChunks(in *bufio.Reader, a *answer) error {
	read := int64(0)
	for {
		size, err := readChunkSize(in)
		if err != nil {
			return err
		}
		if size == 0 {
			return readTrailer(in)
		}
		if read += size; read > maxBody {
			return fmt.Errorf("more than %d bytes", maxBody)
		}
		if err := a.skip(in, size); err != nil {
			return err
		}
		end, err := in.ReadSlice('\n')
		if err != nil {
			return midway(err)
		}
		if len(bytes.TrimRight(end, "\r\n")) > 0 {
			return errors.New("a chunk is longer than it says")
		}
	}
}

func readChunkSize(in *bufio.Reader) (int64, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, midway(err)
	}
	digits, _, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(";"))
	size, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 31)
	if err != nil {
		return 0, fmt.Errorf("%.40q is no size of a chunk", line)
	}
	return int64(size), nil
}

func readTrailer(in *bufio.Reader) error {
	for size := 0; size <= maxHead; {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return midway(err)
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			return nil
		}
		size += len(line)
	}
	return fmt.Errorf("trailer has more than %d bytes", maxHead)
}

func (a *answer) skip(in *bufio.Reader, n int64) error {
	if good := a.status >= 200 && a.status <= 299; !good && len(a.excerpt) < maxExcerpt {
		start := make([]byte, min(n, int64(maxExcerpt-len(a.excerpt))))
		if _, err := io.ReadFull(in, start); err != nil {
			return midway(err)
		}
		a.excerpt = append(a.excerpt, start...)
		n -= int64(len(start))
	}
	if _, err := in.Discard(int(n)); err != nil {
		return midway(err)
	}
	return nil
}

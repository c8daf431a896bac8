package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

const (
	maxHead    = 64 << 10
	maxBody    = 64 << 20
	maxExcerpt = 200
)

// answer is what is kept of a response.
type answer struct {
	status  int
	close   bool   // the server ends the connection after it
	excerpt []byte // the first bytes of the body, where the status is not 2xx
}

// framing is what the head says about where the body ends.
type framing struct {
	length  int64 // -1: not said
	chunked bool
}

// readAnswer takes one response off in. net/http's reader would build a header
// map for each, at a cost that the server under test pays on a shared machine.
func readAnswer(in *bufio.Reader, noBody bool) (answer, error) {
	for {
		a, f, err := readHead(in)
		if err != nil {
			return a, fmt.Errorf("read head of answer: %w", err)
		}
		if a.status >= 100 && a.status < 200 {
			continue // the final answer follows
		}
		if noBody || a.status == 204 || a.status == 304 {
			return a, nil
		}
		if err := readBody(in, &a, f); err != nil {
			return a, fmt.Errorf("read body of answer: %w", err)
		}
		return a, nil
	}
}

func readHead(in *bufio.Reader) (a answer, f framing, err error) {
	f.length = -1
	line, err := in.ReadSlice('\n')
	if err != nil {
		return a, f, err
	}
	size := len(line)
	if len(line) < 13 || !bytes.HasPrefix(line, []byte("HTTP/1.")) || line[8] != ' ' {
		return a, f, fmt.Errorf("%.40q is no status line", line)
	}
	a.close = line[7] == '0'
	if a.status, err = strconv.Atoi(string(line[9:12])); err != nil || a.status < 100 {
		return a, f, fmt.Errorf("%.40q has no status", line)
	}
	for {
		if line, err = in.ReadSlice('\n'); err != nil {
			return a, f, midway(err)
		}
		if size += len(line); size > maxHead {
			return a, f, fmt.Errorf("more than %d bytes", maxHead)
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return a, f, nil
		}
		if err := a.header(&f, line); err != nil {
			return a, f, err
		}
	}
}

// header notes the few headers that tell where an answer ends. Their names are
// told apart by length first: most lines cost one comparison.
func (a *answer) header(f *framing, line []byte) error {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return fmt.Errorf("%.40q is no header", line)
	}
	switch len(name) {
	case len("Connection"):
		if bytes.EqualFold(name, []byte("Connection")) {
			value = bytes.ToLower(value)
			a.close = bytes.Contains(value, []byte("close")) || a.close && !bytes.Contains(value, []byte("keep-alive"))
		}
	case len("Content-Length"):
		if bytes.EqualFold(name, []byte("Content-Length")) {
			n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
			if err != nil || n < 0 || f.length >= 0 && f.length != n {
				return fmt.Errorf("%.60q", line)
			}
			f.length = n
		}
	case len("Transfer-Encoding"):
		if bytes.EqualFold(name, []byte("Transfer-Encoding")) {
			if f.chunked = bytes.EqualFold(bytes.TrimSpace(value), []byte("chunked")); !f.chunked {
				return fmt.Errorf("%.60q is not understood", line)
			}
		}
	}
	return nil
}

func midway(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

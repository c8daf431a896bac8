package web

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
)

const (
	// fileBuffer is how much of a file is sent at once.
	fileBuffer = 1 << 16
	// pieceTime is how long the receiver may take for one piece.
	pieceTime = time.Minute
)

// File is an answer of any length, which is sent while it is written. Its type and its
// name must be set before the first byte.
type File struct {
	*bufio.Writer
	Type string // of the content
	Name string // the file name that a browser suggests
}

// pieces sends the buffered parts of a file.
type pieces struct {
	x     *Exchange
	file  *File
	begun bool
}

var errNoBody = errors.New("the answer to HEAD has no body")

func (p *pieces) Write(b []byte) (int, error) {
	if err := p.begin(); err != nil {
		return 0, err
	}
	// The server's write timeout is for pages and would end a long download, so every
	// piece has its own timeout.
	if err := http.NewResponseController(p.x.W).SetWriteDeadline(time.Now().Add(pieceTime)); err != nil {
		return 0, err
	}
	return p.x.W.Write(b)
}

func (p *pieces) begin() error {
	if !p.begun {
		p.begun = true
		p.x.SetHeader("Content-Type", p.file.Type)
		p.x.SetHeader("Content-Disposition", `attachment; filename="`+p.file.Name+`"`)
		p.x.SetHeader("Cache-Control", "no-store")
		p.x.W.WriteHeader(http.StatusOK)
	}
	if p.x.R.Method == http.MethodHead {
		return errNoBody
	}
	return nil
}

// SendFile responds with a file that write produces. It returns an error if nothing has
// been sent yet. Later it breaks the connection, so that an incomplete file is not taken
// as complete.
func (x *Exchange) SendFile(write func(*File) error) error {
	file := &File{}
	sent := &pieces{x: x, file: file}
	file.Writer = bufio.NewWriterSize(sent, fileBuffer)
	err := write(file)
	if err == nil {
		err = cmp.Or(file.Flush(), sent.begin())
	}
	switch {
	case err == nil, errors.Is(err, errNoBody):
		return nil
	case !sent.begun:
		return err
	}
	x.Explain(err)
	panic(http.ErrAbortHandler)
}

// Download serves an operation with a service method that answers with a file, for callers
// with a session. A refused attempt is audited under the action.
func Download[In any](s *Endpoints, op api.Op[api.None, api.File], action audit.Action,
	fn func(ctx context.Context, by db.Caller, in In, to *File) error) Route {
	bind := newBinder[In](s.now).of(op)
	return routeOf(op, func(x *Exchange) {
		if !s.enter(x) {
			return
		}
		in, err := bind.request(x, nil)
		if err != nil {
			x.Fail(err)
			return
		}
		if err := x.SendFile(func(to *File) error { return fn(x.R.Context(), x.Caller, in, to) }); err != nil {
			s.refuse(x, action, err)
		}
	})
}

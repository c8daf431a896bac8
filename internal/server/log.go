package server

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"bursar/internal/web"
)

// Log is where the server tells what it does, a line of JSON each. The lines of
// requests are by far the most, so they are put together by hand, in the form that
// all others have from slog.
type Log struct {
	*slog.Logger
	out   io.Writer
	lines sync.Pool // of *[]byte
}

// NewLog writes lines of a level and above. Each is one call of out.Write, and they
// come one after another.
func NewLog(out io.Writer, level slog.Level) *Log {
	out = &oneAtATime{out: out}
	return &Log{
		Logger: slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level})),
		out:    out,
		lines:  sync.Pool{New: func() any { return new([]byte) }},
	}
}

// request tells of a request that was answered.
func (l *Log) request(x *web.Exchange, method string, at time.Time, took time.Duration) {
	if !l.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	kept := l.lines.Get().(*[]byte)
	defer l.lines.Put(kept)
	line := append((*kept)[:0], `{"time":"`...)
	line = at.AppendFormat(line, time.RFC3339Nano)
	line = append(line, `","level":"INFO","msg":"request","request_id":`...)
	line = web.AppendString(line, x.RequestID)
	line = append(line, `,"method":`...)
	line = web.AppendString(line, method)
	line = append(line, `,"route":`...)
	line = web.AppendString(line, x.Route)
	line = append(line, `,"status":`...)
	line = strconv.AppendInt(line, int64(x.Status), 10)
	line = append(line, `,"duration":`...)
	line = strconv.AppendInt(line, int64(took), 10)
	line = append(line, `,"actor":`...)
	line = web.AppendString(line, x.Caller.ID)
	line = append(line, `,"ip":`...)
	line = web.AppendString(line, x.IP)
	line = append(line, "}\n"...)
	*kept = line
	_, _ = l.out.Write(line) // there is nowhere else to tell
}

// oneAtATime is a writer that many may use.
type oneAtATime struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *oneAtATime) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

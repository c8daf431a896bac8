// Package bare is the least that a Go server on the same SQLite driver can do to answer: the
// limit that Bursar is compared with. It does not authenticate, validate or log.
package bare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// Config selects what to serve.
type Config struct {
	Listen      string
	Path        string // SQLite file of the product
	WorkspaceID string
	SourceID    string // entry of the workspace whose rows a create copies
	Me          string // body of GET /me
}

// Serve answers until ctx ends:
//
//	GET  /me      writes the bytes that the product answers with
//	GET  /list    writes the newest 25 entries, found by the query that the product runs
//	POST /create  inserts an entry and its audit row, on disk before the answer
func Serve(ctx context.Context, c Config) error {
	s := &server{config: c, readers: make(chan *reader, 2*max(2, runtime.GOMAXPROCS(0)))}
	for range cap(s.readers) {
		r, err := openReader(c)
		if err != nil {
			return err
		}
		defer r.close()
		s.readers <- r
	}
	var err error
	if s.writer, err = startWriter(c); err != nil {
		return err
	}
	defer s.writer.stop()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /me", s.me)
	mux.HandleFunc("GET /list", s.list)
	mux.HandleFunc("POST /create", s.create)
	return listen(ctx, c.Listen, mux)
}

// listen answers requests until ctx ends.
func listen(ctx context.Context, address string, mux *http.ServeMux) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		return web.Close()
	}
}

type server struct {
	config  Config
	readers chan *reader
	writer  *writer
}

// write sends the headers that the product sends.
func write(w http.ResponseWriter, body []byte) {
	h := w.Header()
	h["Cache-Control"] = []string{"no-store"}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	h["X-Request-Id"] = []string{"req_01m7f4dmeb000sgqgd6d7veyf4"}
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	_, _ = w.Write(body) // fails only if the client has gone
}

func (s *server) me(w http.ResponseWriter, _ *http.Request) { write(w, []byte(s.config.Me)) }

func (s *server) list(w http.ResponseWriter, _ *http.Request) {
	r := <-s.readers
	body, err := r.page()
	s.readers <- r
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	write(w, body)
}

func (s *server) create(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		var id string
		_, fields, _ := bytes.Cut(body, []byte(`"fields":`)) // the last property
		if id, err = s.writer.create(string(bytes.TrimSuffix(fields, []byte("}")))); err == nil {
			write(w, []byte(`{"ok":true,"data":{"id":"`+id+`"}}`))
			return
		}
	}
	http.Error(w, err.Error(), http.StatusInternalServerError)
}

func open(path string) (*sqlite3.Conn, error) {
	conn, err := sqlite3.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	err = conn.Exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -8192; PRAGMA wal_autocheckpoint = 4000`)
	if err == nil {
		err = conn.BusyTimeout(10 * time.Second)
	}
	if err == nil {
		_, err = conn.Config(sqlite3.DBCONFIG_ENABLE_QPSG, true)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("configure the store: %w", err), conn.Close())
	}
	return conn, nil
}

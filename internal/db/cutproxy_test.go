package db_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// cut is a moment at which the proxy breaks a connection.
type cut int32

const (
	cutNever       cut = iota
	cutBeforeSent      // the server never gets COMMIT
	cutBeforeTold      // the server has committed, and its answer is lost
	cutWhileItRuns     // the client gets a broken connection, and the server commits later
)

// cancelRequest is the code of a connection that only cancels the statement of another.
const cancelRequest = 80877102

// cutProxy passes PostgreSQL's protocol on, and breaks the connection of the next COMMIT if it was
// asked to.
type cutProxy struct {
	url  string       // of the database, through the proxy
	late atomic.Int64 // how late answers arrive, in nanoseconds

	network, address string // of the server

	mu   sync.Mutex
	next cut
	open []net.Conn
}

// newCutProxy stands before a database until the end of the test.
func newCutProxy(t *testing.T, database string) *cutProxy {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	p := &cutProxy{network: "unix", address: query.Get("host") + "/.s.PGSQL." + query.Get("port")}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(listener.Addr().String())
	query.Set("host", host)
	query.Set("port", port)
	u.RawQuery = query.Encode()
	p.url = u.String()
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		p.cutAll()
		all.Wait()
	})
	return p
}

// cutAll breaks all connections.
func (p *cutProxy) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		_ = c.Close()
	}
	p.open = nil
}

// cutNext breaks the connection of the next COMMIT.
func (p *cutProxy) cutNext(at cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = at
}

func (p *cutProxy) take() cut {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.next
	p.next = cutNever
	return at
}

func (p *cutProxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial(p.network, p.address)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	p.open = append(p.open, client, server)
	p.mu.Unlock()
	answers := &answers{client: client, late: &p.late}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(answers, server)
		_ = client.Close()
	})
	p.pass(client, server, answers)
	_ = client.Close()
	if !answers.discarding() {
		_ = server.Close()
	}
	both.Wait() // a server that still works on a COMMIT is left to end it
}

// answers is the way back to the client.
type answers struct {
	client io.Writer
	late   *atomic.Int64

	mu      sync.Mutex
	discard bool
	ended   chan struct{} // closed when the server has answered what was discarded
}

func (a *answers) Write(b []byte) (int, error) {
	a.mu.Lock()
	discard, ended := a.discard, a.ended
	a.mu.Unlock()
	if !discard {
		time.Sleep(time.Duration(a.late.Load()))
		return a.client.Write(b)
	}
	// ReadyForQuery is the last message of an answer: 'Z', a length of 5 and the state.
	if len(b) >= 6 && bytes.Equal(b[len(b)-6:len(b)-1], []byte{'Z', 0, 0, 0, 5}) {
		close(ended)
		return 0, errors.New("the connection is cut")
	}
	return len(b), nil
}

func (a *answers) startDiscarding() (ended chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.discard, a.ended = true, make(chan struct{})
	return a.ended
}

func (a *answers) discarding() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.discard
}

// pass forwards the messages of the client, batch by batch, until the connection ends or is cut.
func (p *cutProxy) pass(client io.Reader, server io.Writer, back *answers) {
	// The first message has no type.
	length := make([]byte, 4)
	if _, err := io.ReadFull(client, length); err != nil {
		return
	}
	first := make([]byte, binary.BigEndian.Uint32(length)-4)
	if _, err := io.ReadFull(client, first); err != nil {
		return
	}
	if binary.BigEndian.Uint32(first) == cancelRequest {
		return // a network that breaks one connection may lose the request to cancel what it did as well
	}
	if _, err := server.Write(append(length, first...)); err != nil {
		return
	}
	commits := map[string]bool{} // the prepared statements that are COMMIT
	var batch []byte
	hasCommit := false
	for {
		head := make([]byte, 5)
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		batch = append(append(batch, head...), body...)
		texts := bytes.SplitN(body, []byte{0}, 3)
		switch head[0] {
		case 'P': // Parse: the name of the statement and its text
			if string(texts[1]) == "COMMIT" {
				commits[string(texts[0])] = true
			}
		case 'B': // Bind: the names of the portal and of the statement
			hasCommit = hasCommit || commits[string(texts[1])]
		}
		if head[0] != 'S' && head[0] != 'Q' && head[0] != 'X' && head[0] != 'H' && head[0] != 'p' {
			continue // the batch is not complete
		}
		at := cutNever
		if hasCommit {
			at = p.take()
		}
		hasCommit = false
		if at == cutBeforeSent {
			return
		}
		var ended chan struct{}
		if at != cutNever {
			ended = back.startDiscarding()
		}
		if _, err := server.Write(batch); err != nil {
			return
		}
		batch = batch[:0]
		if at == cutBeforeTold {
			<-ended
		}
		if at != cutNever {
			return
		}
	}
}

// Package smtptest runs a real SMTP server in a test and collects the messages that it receives.
package smtptest

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"bursar/internal/wait"
)

// Security is how a server encrypts its connections.
type Security int

// A server uses plaintext, offers STARTTLS, or uses TLS from the start.
const (
	Clear Security = iota
	StartTLS
	ImplicitTLS
)

// Host is a name in the certificate of a server, besides 127.0.0.1 and localhost.
const Host = "mail.example.com"

// Options are the options of a server. With a User it accepts mail from that user only,
// and it requires the password whether or not the connection is encrypted.
type Options struct {
	Security       Security
	User, Password string
	HangsUp        bool // after every message, without a reply
}

// Server is a mail server on 127.0.0.1 that stops at the end of its test.
type Server struct {
	URL     string         // smtp://user:password@127.0.0.1:port, or smtps://
	Address string         // 127.0.0.1:port
	RootCAs *x509.CertPool // trusted for the server's certificate; nil without TLS

	options Options

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at every change of the fields below
	received []Received
	counts   Counts
	down     bool
	refusals int
	code     int
}

// Counts are the numbers of what a server has received.
type Counts struct {
	Dropped  int // connections while it was down
	Logins   int // attempts to sign in
	Messages int // messages offered, refused ones included
}

// Start runs a server until the test ends.
func Start(t testing.TB, options Options) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen for mail: %v", err)
	}
	s := &Server{Address: listener.Addr().String(), options: options, changed: make(chan struct{})}
	server := smtp.NewServer(smtp.BackendFunc(s.newSession))
	server.Domain = Host
	server.AllowInsecureAuth = true
	server.EnableSMTPUTF8 = true
	server.ErrorLog = log.New(io.Discard, "", 0)

	listener = &gate{Listener: listener, server: s}
	address := url.URL{Scheme: "smtp", Host: s.Address}
	if options.User != "" {
		address.User = url.UserPassword(options.User, options.Password)
	}
	if options.Security != Clear {
		server.TLSConfig, s.RootCAs = certificate(t)
	}
	if options.Security == ImplicitTLS {
		address.Scheme = "smtps"
		listener = tls.NewListener(listener, server.TLSConfig)
	}
	s.URL = address.String()

	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // ends when it is closed
	t.Cleanup(func() {
		server.Close()
		serving.Wait()
	})
	return s
}

// Down drops every connection from this point on, like a server that is starting.
func (s *Server) Down() { s.change(func() { s.down = true }) }

// Up ends Down.
func (s *Server) Up() { s.change(func() { s.down = false }) }

// Refuse makes the server reject the next messages with a code. The reply quotes the
// recipient and the text, as those of real servers may.
func (s *Server) Refuse(code, times int) { s.change(func() { s.code, s.refusals = code, times }) }

// Wait returns the received messages as soon as there are at least n.
func (s *Server) Wait(t testing.TB, n int) []Received {
	t.Helper()
	s.until(t, func() bool { return len(s.received) >= n })
	return s.Received()
}

// WaitFor returns as soon as enough returns true for the counts.
func (s *Server) WaitFor(t testing.TB, enough func(Counts) bool) {
	t.Helper()
	s.until(t, func() bool { return enough(s.counts) })
}

// Received returns the messages so far.
func (s *Server) Received() []Received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Received(nil), s.received...)
}

// Counts returns the counts so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

func (s *Server) change(apply func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	apply()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) until(t testing.TB, holds func() bool) {
	t.Helper()
	timeout := time.After(wait.Limit())
	for {
		s.mu.Lock()
		done, changed, counts, received := holds(), s.changed, s.counts, len(s.received)
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("the mail did not arrive: received %d, seen %+v", received, counts)
		}
	}
}

// gate rejects connections while a server is down.
type gate struct {
	net.Listener
	server *Server
}

func (g *gate) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		dropped := false
		g.server.change(func() {
			if dropped = g.server.down; dropped {
				g.server.counts.Dropped++
			}
		})
		if !dropped {
			return conn, nil
		}
		conn.Close()
	}
}

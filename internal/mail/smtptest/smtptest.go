// Package smtptest runs a real SMTP server in a test and collects what it is sent.
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

// Security is how a server encrypts.
type Security int

// A server speaks in clear, offers STARTTLS, or is TLS from the start.
const (
	Clear Security = iota
	StartTLS
	ImplicitTLS
)

// Host is a name, besides 127.0.0.1 and localhost, that the certificate of a
// server is good for.
const Host = "mail.example.com"

// Options say what a server is like. With a User it takes mail from them alone,
// and it asks for the password whether or not the connection is encrypted.
type Options struct {
	Security       Security
	User, Password string
	HangsUp        bool // after every message, without a goodbye
}

// Server is a mail server on 127.0.0.1 that ends with its test.
type Server struct {
	URL     string         // smtp://user:password@127.0.0.1:port, or smtps://
	Address string         // 127.0.0.1:port
	RootCAs *x509.CertPool // vouches for the server; nil for one in clear

	options Options

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at every change of what follows
	received []Received
	counts   Counts
	down     bool
	refusals int
	code     int
}

// Counts are what a server has seen so far.
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

// Down drops every connection from now on, as a server does that is starting.
func (s *Server) Down() { s.change(func() { s.down = true }) }

// Up ends Down.
func (s *Server) Up() { s.change(func() { s.down = false }) }

// Refuse answers the next messages with a code. The answer quotes the recipient
// and the text, as those of real servers may.
func (s *Server) Refuse(code, times int) { s.change(func() { s.code, s.refusals = code, times }) }

// Wait returns what was received as soon as it is n messages or more.
func (s *Server) Wait(t testing.TB, n int) []Received {
	t.Helper()
	s.until(t, func() bool { return len(s.received) >= n })
	return s.Received()
}

// WaitFor returns as soon as what the server has seen is enough.
func (s *Server) WaitFor(t testing.TB, enough func(Counts) bool) {
	t.Helper()
	s.until(t, func() bool { return enough(s.counts) })
}

// Received is what was received so far.
func (s *Server) Received() []Received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Received(nil), s.received...)
}

// Counts are what the server has seen so far.
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

// gate keeps connections out while a server is down.
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

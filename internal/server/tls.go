package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"bursar/internal/config"
)

// encryption is the TLS configuration of the server.
type encryption struct {
	config     *tls.Config                           // nil for plain HTTP
	challenges func(other http.Handler) http.Handler // answers ACME challenges over plain HTTP
}

func newEncryption(c config.Serve, log *slog.Logger) (encryption, error) {
	switch {
	case c.TLSCert != "":
		pair := &certificate{certFile: c.TLSCert, keyFile: c.TLSKey, log: log}
		if err := pair.load(); err != nil {
			return encryption{}, err
		}
		return encryption{
			config:     &tls.Config{GetCertificate: pair.get},
			challenges: func(other http.Handler) http.Handler { return other },
		}, nil
	case len(c.ACME.Domains) > 0:
		manager := &autocert.Manager{
			Prompt:     autocert.AcceptTOS,
			Cache:      autocert.DirCache(c.ACME.Cache),
			HostPolicy: autocert.HostWhitelist(c.ACME.Domains...),
			Email:      c.ACME.Email,
			Client:     &acme.Client{DirectoryURL: c.ACME.DirectoryURL}, // by default Let's Encrypt
		}
		return encryption{manager.TLSConfig(), manager.HTTPHandler}, nil
	}
	return encryption{}, nil
}

// certificate is a certificate and its key in files. Every handshake checks whether they
// have changed, so that a renewal needs no restart and ends no connection.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu   sync.Mutex
	seen string // the state of the files when they were last read
	pair *tls.Certificate
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state() == c.seen {
		return c.pair, nil
	}
	if err := c.load(); err != nil {
		c.log.Error("the old certificate stays in use, because the new one cannot be read", "error", err.Error())
	} else {
		c.log.Info("the certificate has changed", "valid_until", c.pair.Leaf.NotAfter)
	}
	return c.pair, nil
}

// load reads the files. It records their state even if they are broken, so that each
// broken state is logged once.
func (c *certificate) load() error {
	c.seen = c.state()
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	c.pair = &pair
	return nil
}

// state returns a text that changes when a file is written, replaced or removed.
func (c *certificate) state() (text string) {
	for _, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return err.Error()
		}
		text += fmt.Sprintln(info.ModTime().UnixNano(), info.Size())
	}
	return text
}

// ServeRedirects serves plain HTTP on a separate address until stop is called. It answers
// ACME challenges and redirects browsers to the public address. Requests for anything but
// a page get an error: a program that sends its token in plaintext should fail early.
func (s *Server) ServeRedirects(address, publicURL string) (stop func(), err error) {
	redirect := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("Authorization") != "" {
			http.Error(w, "use "+publicURL, http.StatusBadRequest)
			return
		}
		target := publicURL + r.URL.EscapedPath()
		if r.URL.RawQuery != "" {
			target += "?" + r.URL.RawQuery
		}
		http.Redirect(w, r, target, http.StatusMovedPermanently)
	})
	return serveAside(address, "redirects", s.encryption.challenges(redirect), s.log.Logger)
}

package e2e_test

import (
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"

	"bursar/internal/db/dbtest"
)

// authority is Pebble, the ACME server that Let's Encrypt tests clients with.
type authority struct {
	directory string
	roots     string // file with the certificate of the server itself
	issued    *x509.CertPool
}

// newAuthority starts an authority that checks names at these ports, at which the
// machine would have 443 and 80.
func newAuthority(t *testing.T, tlsPort, httpPort int) authority {
	t.Helper()
	logger, store := log.New(io.Discard, "", 0), db.NewMemoryStore()
	issuer := ca.New(logger, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {}})
	checks := va.New(logger, httpPort, tlsPort, false, resolver(t), store)
	front := wfe.New(logger, store, checks, issuer, []string{"pebble.example.com"}, false, false, 1, 1)
	server := httptest.NewTLSServer(front.Handler())
	t.Cleanup(server.Close)
	issued := x509.NewCertPool()
	issued.AppendCertsFromPEM(issuer.GetRootCert(0).PEM())
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return authority{server.URL + wfe.DirectoryPath, write(t, filepath.Join(t.TempDir(), "roots.pem"), string(own)), issued}
}

// resolver is a name server for which every name is this machine.
func resolver(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{Listener: listener, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg).SetReply(question)
		if asked := question.Question[0]; asked.Qtype == dns.TypeA {
			answer.Answer = []dns.RR{&dns.A{
				Hdr: dns.RR_Header{Name: asked.Name, Rrtype: dns.TypeA, Class: dns.ClassINET},
				A:   net.IPv4(127, 0, 0, 1),
			}}
		}
		_ = w.WriteMsg(answer) // whoever asked notices
	})}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = server.ActivateAndServe() // ends when the listener is closed
	}()
	t.Cleanup(func() { _ = listener.Close(); <-stopped })
	return listener.Addr().String()
}

func portOf(t *testing.T, address string) int {
	t.Helper()
	_, text, err := net.SplitHostPort(strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestCertificatesComeFromAnAuthority(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "darwin" && os.Getenv("CI") != "true" {
		t.Skip("a program on this system trusts no authority of a test's own: it ignores SSL_CERT_FILE")
	}
	t.Run("TLS-ALPN-01", func(t *testing.T) {
		t.Parallel()
		listen := freePort(t)
		a := newAuthority(t, portOf(t, listen), portOf(t, freePort(t)))
		a.serves(t, "--listen", listen)
	})
	t.Run("HTTP-01", func(t *testing.T) {
		t.Parallel()
		plain := freePort(t)
		target, err := url.Parse("http://" + plain)
		if err != nil {
			t.Fatal(err)
		}
		// At port 80, which is not ours to take, a request names the host alone.
		port80 := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = "pay.example.com"
		}})
		t.Cleanup(port80.Close)
		a := newAuthority(t, portOf(t, freePort(t)), portOf(t, port80.URL))
		a.serves(t, "--listen", "127.0.0.1:0", "--http-listen", plain)
	})
}

// serves demands that a server gets a certificate, keeps it for the next start, and
// gets none for other names.
func (a authority) serves(t *testing.T, flags ...string) {
	t.Helper()
	store := open(t)
	flags = append(flags, "--acme-domain", "pay.example.com", "--acme-email", "ops@example.com")
	run := func(directory string) (serial string) {
		p := spawn(t, []string{"SSL_CERT_FILE=" + a.roots}, append(append(at(store), flags...), "--acme-directory-url", directory)...)
		response, err := browser(p.address(), a.issued).Get("https://pay.example.com/readyz")
		if err != nil {
			t.Fatalf("%v\n%s", err, p.Log)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("/readyz answers %d", response.StatusCode)
		}
		if _, err := browser(p.address(), a.issued).Get("https://other.example.com/readyz"); err == nil {
			t.Error("another name has a certificate")
		}
		private(t, store.Config.Dir)
		p.terminate(t)
		return response.TLS.PeerCertificates[0].SerialNumber.String()
	}
	first := run(a.directory)
	if second := run("https://127.0.0.1:1/nowhere"); first != second {
		t.Error("the next start does not have the certificate of the first")
	}
}

func TestCertificatesOfAnAuthorityNeedAFolderBesidePostgreSQL(t *testing.T) {
	t.Parallel()
	store := dbtest.Postgres(t)
	got := command(t, nil, append([]string{"serve", "--acme-domain", "pay.example.com"}, at(store)...)...)
	if got.Code != 2 || !strings.Contains(got.Err, "--acme-cache") {
		t.Errorf("exit code %d: %s", got.Code, got.Err)
	}
}

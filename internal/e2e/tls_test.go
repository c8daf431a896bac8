package e2e_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/setup"
	"bursar/internal/wait"
)

// browser visits https://pay.example.com at an address and trusts these authorities.
func browser(address string, trusted *x509.CertPool) *http.Client {
	return &http.Client{
		Timeout:       wait.Limit(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: trusted},
			ForceAttemptHTTP2: true,
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, address)
			},
		},
	}
}

// address is where the server listens.
func (p *process) address() string { return strings.TrimPrefix(p.URL, "http://") }

// ready asks the server whether it is ready and says whether a connection was used again.
func ready(t *testing.T, client *http.Client) (reused bool) {
	t.Helper()
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet, "https://pay.example.com/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("/readyz answers %d: %v", response.StatusCode, err)
	}
	return reused
}

func TestCertificatesAreReadAgainWithoutDroppingConnections(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "pay.crt"), filepath.Join(dir, "pay.key")
	old := selfSigned(t, dir)
	p := start(t, dbtest.SQLite(t), "--tls-cert", cert, "--tls-key", key, "--public-url", "https://pay.example.com")
	early := browser(p.address(), old)
	ready(t, early)

	renewed := selfSigned(t, dir)
	ready(t, browser(p.address(), renewed))
	if _, err := browser(p.address(), old).Get("https://pay.example.com/readyz"); err == nil {
		t.Error("the old certificate is still in use")
	}
	if !ready(t, early) {
		t.Error("a connection with the old certificate was dropped")
	}

	broken := func() (lines int) {
		for _, line := range p.lines(t) {
			if line["level"] == "ERROR" && strings.Contains(line["msg"].(string), "certificate") {
				lines++
			}
		}
		return lines
	}
	write(t, cert, "nonsense")
	ready(t, browser(p.address(), renewed))
	ready(t, browser(p.address(), renewed))
	wait.Until(t, "the broken certificate is logged", func() bool { return broken() > 0 })
	if lines := broken(); lines != 1 {
		t.Errorf("one broken certificate is logged %d times", lines)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	ready(t, browser(p.address(), renewed))
	ready(t, browser(p.address(), selfSigned(t, dir)))
	p.terminate(t)
}

func TestABrokenCertificateStopsTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	selfSigned(t, dir)
	broken := write(t, filepath.Join(dir, "broken"), "nonsense")
	for name, files := range map[string][2]string{
		"missing": {filepath.Join(dir, "nowhere"), filepath.Join(dir, "pay.key")},
		"broken":  {broken, filepath.Join(dir, "pay.key")},
		"swapped": {filepath.Join(dir, "pay.key"), filepath.Join(dir, "pay.crt")},
	} {
		got := command(t, nil, "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--tls-cert", files[0], "--tls-key", files[1])
		if got.Code != 1 || !strings.Contains(got.Err, "read the certificate") || got.Out != "" {
			t.Errorf("%s: exit code %d\n%s%s", name, got.Code, got.Out, got.Err)
		}
	}
}

func TestPlainRequestsAreSentToTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	selfSigned(t, dir)
	p := start(t, dbtest.SQLite(t), "--tls-cert", filepath.Join(dir, "pay.crt"), "--tls-key", filepath.Join(dir, "pay.key"),
		"--public-url", "https://pay.example.com", "--http-listen", "127.0.0.1:0")
	plain := browser(strings.TrimPrefix(p.aside(t, "redirects"), "http://"), nil)
	response, err := plain.Get("http://pay.example.com/w/main/directory?q=a%20b")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if got := response.Header.Get("Location"); response.StatusCode != http.StatusMovedPermanently || got != "https://pay.example.com/w/main/directory?q=a%20b" {
		t.Errorf("a page is answered with %d and %q", response.StatusCode, got)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://pay.example.com/v1/auth/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer x")
	if response, err = plain.Do(request); err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusBadRequest {
		t.Errorf("a token in the clear is answered with %d", response.StatusCode)
	}
}

func TestPlainHTTPBeyondLoopbackIsADecision(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	selfSigned(t, dir)
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0", "pay.example.com:0"} {
		got := command(t, nil, "serve", "--data", t.TempDir(), "--listen", listen)
		if got.Code != 2 {
			t.Errorf("--listen %s: exit code %d\n%s", listen, got.Code, got.Err)
		}
		for _, way := range []string{"--tls-cert", "--acme-domain", "--trusted-proxies", "--insecure-http"} {
			if !strings.Contains(got.Err, way) {
				t.Errorf("--listen %s: the error does not name %s: %s", listen, way, got.Err)
			}
		}
	}
	for name, way := range map[string][]string{
		"TLS":      {"--tls-cert", filepath.Join(dir, "pay.crt"), "--tls-key", filepath.Join(dir, "pay.key")},
		"a proxy":  {"--trusted-proxies", "10.0.0.0/8"},
		"insecure": {"--insecure-http"},
	} {
		t.Run(name, func(t *testing.T) {
			start(t, dbtest.SQLite(t), append(way, "--listen", "0.0.0.0:0")...).terminate(t)
		})
	}
}

func TestTheFirstStartBeyondLoopbackPrintsNoSecrets(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		if store.Engine == "sqlite" {
			store = open(t)
		}
		p := start(t, store, "--listen", "0.0.0.0:0", "--insecure-http")
		wait.Until(t, "the server names the file", func() bool {
			return strings.HasSuffix(p.Out.String(), "\n\n") && strings.Contains(p.Out.String(), "link works once")
		})
		secret := regexp.MustCompile(`b(k|ln)_\w{10}`)
		if said := p.Out.String() + p.Log.String(); secret.MatchString(said) {
			t.Errorf("the server prints a secret:\n%s", said)
		}
		path := regexp.MustCompile(`Secrets +(/.*first-admin\.txt)\n`).FindStringSubmatch(p.Out.String())
		if path == nil {
			t.Fatalf("the output names no file:\n%s", p.Out)
		}
		private(t, filepath.Dir(path[1]))
		text, err := os.ReadFile(path[1])
		if err != nil {
			t.Fatal(err)
		}
		made := setup.Result{APIKey: pick(t, string(text), "bk")}
		servertest.Remote(t, p.URL, made).Admin(t).Get("/v1/auth/me").OK()
		pick(t, string(text), "bln")
		if files, err := filepath.Glob(filepath.Join(filepath.Dir(path[1]), "first-admin*")); err != nil || len(files) != 1 {
			t.Errorf("the folder has %v: %v", files, err)
		}
		p.terminate(t)
		again := start(t, store, "--listen", "0.0.0.0:0", "--insecure-http")
		if again.Out.String() != "" {
			t.Errorf("the second start prints:\n%s", again.Out)
		}
	})
}

package e2e_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"debug/elf"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bursar/internal/db/dbtest"
	"bursar/internal/wait"
)

// tool finds a program that a test needs. `make test` installs it where it can; in CI
// its absence is a failure.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + name)
	}
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed", name)
	}
	if err != nil {
		t.Skipf("%s is not installed: 'make test' installs it where it can", name)
	}
	return path
}

// deployed reads a file of deploy/ and replaces what depends on the machine.
func deployed(t *testing.T, name string, replace ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../deploy", name))
	if err != nil {
		t.Fatalf("read a file of deploy: %v", err)
	}
	for i := 0; i+1 < len(replace); i += 2 {
		if !strings.Contains(string(text), replace[i]) {
			t.Fatalf("%s does not contain %q", name, replace[i])
		}
	}
	return strings.NewReplacer(replace...).Replace(string(text))
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatalf("write a file: %v", err)
	}
	return path
}

func TestSystemdAcceptsTheUnit(t *testing.T) {
	t.Parallel()
	analyze := tool(t, "systemd-analyze")
	dir := t.TempDir()
	unit := write(t, filepath.Join(dir, "bursar.service"), deployed(t, "bursar.service", "/usr/local/bin/bursar", program))
	verify := func(t *testing.T) {
		out, err := exec.Command(analyze, "verify", unit).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("systemd-analyze verify: %v\n%s", err, out)
		}
	}
	t.Run("behind a proxy", verify)
	dropIns := unit + ".d"
	if err := os.Mkdir(dropIns, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dropIns, "tls.conf"), deployed(t, "bursar-tls.conf"))
	t.Run("with TLS", verify)
	write(t, filepath.Join(dropIns, "backup.conf"), deployed(t, "bursar-backup.conf"))
	t.Run("with a backup", verify)
}

// The container's image is empty but for the binary: it runs as a user without
// privileges, and the data folder and that of the backup are all that it can write to.
func TestTheBinaryRunsInAnEmptyRootWithoutPrivileges(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI must run as root: changing the root folder needs it")
		}
		t.Skip("changing the root folder needs root")
	}
	if underRace() {
		t.Skip("a program that looks for data races is not static")
	}
	root := t.TempDir()
	if err := os.Link(program, filepath.Join(root, "bursar")); err != nil {
		t.Fatal(err)
	}
	file, err := elf.Open(program)
	if err != nil {
		t.Fatalf("read the binary: %v", err)
	}
	defer file.Close()
	for _, program := range file.Progs {
		if program.Type == elf.PT_INTERP {
			t.Error("the binary is not static: it needs a dynamic linker")
		}
	}
	data, backup := filepath.Join(root, "data"), filepath.Join(root, "backup")
	for _, folder := range []string{data, backup} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(folder, 65532, 65532); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{root, filepath.Dir(root), filepath.Dir(filepath.Dir(root))} {
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p := launch(t, nil, func(cmd *exec.Cmd) {
		cmd.Path, cmd.Dir, cmd.Env = "/bursar", "/", []string{"BURSAR_DATA=/data", "BURSAR_BACKUP=/backup", "BURSAR_LISTEN=0.0.0.0:0", "BURSAR_TRUSTED_PROXIES=10.0.0.0/8"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	})
	if status := statusAt(t, http.DefaultClient, p.URL+"/readyz"); status != http.StatusOK {
		t.Errorf("/readyz answers %d", status)
	}
	if _, err := os.Stat(filepath.Join(data, "first-admin.txt")); err != nil {
		t.Errorf("the secrets of the first start have no file: %v", err)
	}
	wait.Until(t, "the backup can be restored", func() bool {
		return command(t, nil, "backup", "status", "--from", backup, "--max-age", "0").Code == 0
	})
	p.terminate(t)
}

func TestNginxServesBursarAsConfigured(t *testing.T) {
	t.Parallel()
	nginx := tool(t, "nginx")
	p := start(t, dbtest.SQLite(t), "--public-url", "https://pay.example.com", "--trusted-proxies", "127.0.0.1/32")
	dir := t.TempDir()
	certificate := selfSigned(t, dir)
	secure, plain := freePort(t), freePort(t)
	site := deployed(t, "nginx.conf",
		"server 127.0.0.1:8080;", "server "+strings.TrimPrefix(p.URL, "http://")+";",
		"listen 443 ssl;", "listen "+secure+" ssl;",
		"listen 80;", "listen "+plain+";",
		"/etc/nginx/pay.example.com", filepath.Join(dir, "pay"))
	config := write(t, filepath.Join(dir, "nginx.conf"), fmt.Sprintf(
		"daemon off;\nmaster_process off;\npid %[1]s/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\nclient_body_temp_path %[1]s/body;\nproxy_temp_path %[1]s/proxy;\nfastcgi_temp_path %[1]s/fastcgi;\nuwsgi_temp_path %[1]s/uwsgi;\nscgi_temp_path %[1]s/scgi;\n%[2]s\n}\n", dir, site))
	cmd := exec.Command(nginx, "-p", dir, "-c", config)
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatalf("start nginx: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })

	client := &http.Client{
		Timeout:       wait.Limit(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: certificate},
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				port := map[string]string{"pay.example.com:443": secure, "pay.example.com:80": plain}[address]
				return new(net.Dialer).DialContext(ctx, network, port)
			},
		},
	}
	wait.Until(t, "nginx answers", func() bool {
		response, err := client.Get("https://pay.example.com/healthz")
		if err == nil {
			_ = response.Body.Close()
		}
		return err == nil && response.StatusCode == http.StatusOK
	})
	for url, want := range map[string]int{
		"https://pay.example.com/docs":       http.StatusOK,
		"https://pay.example.com/signin":     http.StatusOK,
		"https://pay.example.com/v1/auth/me": http.StatusUnauthorized,
		"https://pay.example.com/metrics":    http.StatusNotFound,
		"https://pay.example.com/readyz":     http.StatusNotFound,
		"http://pay.example.com/signin":      http.StatusMovedPermanently,
	} {
		if got := statusAt(t, client, url); got != want {
			t.Errorf("%s answers %d, want %d", url, got, want)
		}
	}
	t.Run("a client cannot claim another address", func(t *testing.T) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://pay.example.com/v1/auth/me", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Forwarded-For", "203.0.113.9")
		response, err := client.Do(request)
		if err != nil {
			t.Fatalf("ask through nginx: %v\n%s", err, log.String())
		}
		_ = response.Body.Close()
		p.terminate(t)
		if strings.Contains(p.Log.String(), "203.0.113.9") {
			t.Error("the server believed an X-Forwarded-For that the client sent")
		}
	})
}

func statusAt(t *testing.T, client *http.Client, url string) int {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		t.Fatalf("GET %s: %v", url, err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body) // only the status matters
	return response.StatusCode
}

// freePort is a loopback address that no one listens on at the moment. It lies below the
// ports that systems give to anyone who asks for any, so that no test beside this one is given
// it before the program listens on it.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+mathrand.IntN(20_000)))
		if err == nil {
			defer listener.Close()
			return listener.Addr().String()
		}
	}
	t.Fatal("found no free port")
	return ""
}

// selfSigned writes pay.crt and pay.key for pay.example.com into a folder.
func selfSigned(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"pay.example.com"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "pay.crt"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, filepath.Join(dir, "pay.key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return pool
}

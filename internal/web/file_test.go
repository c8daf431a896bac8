package web

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
)

// download runs an endpoint that answers with a file, behind a real server.
func download(t *testing.T, configure func(*http.Server), write func(to *File) error) (*http.Response, string, error) {
	t.Helper()
	route := Download(tinySite(), api.Op[api.None, api.File]{}, audit.AuditExported, func(_ context.Context, _ db.Caller, _ struct{}, to *File) error {
		to.Type, to.Name = "text/plain", "file.txt"
		return write(to)
	})
	listener := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route.Endpoint(&Exchange{W: w, R: r, Log: slog.New(slog.DiscardHandler)})
	}))
	configure(listener.Config)
	listener.Start()
	defer listener.Close()
	answer, err := http.Get(listener.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer, string(body), err
}

func asItIs(*http.Server) {}

// The server's write timeout is over before the file begins.
func TestADownloadMayTakeLongerThanTheWriteTimeout(t *testing.T) {
	const timeout = time.Millisecond
	text := strings.Repeat("0123456789", 100_000)
	_, body, err := download(t, func(s *http.Server) { s.WriteTimeout = timeout }, func(to *File) error {
		<-time.After(2 * timeout)
		_, err := to.WriteString(text)
		return err
	})
	if err != nil || body != text {
		t.Errorf("%d bytes arrived of %d: %v", len(body), len(text), err)
	}
}

func TestADownloadThatFailsIsAnErrorOrBreaksOff(t *testing.T) {
	failure := errors.New("the store went away")
	answer, body, err := download(t, asItIs, func(to *File) error {
		_, _ = to.WriteString("a beginning that is not sent yet")
		return failure
	})
	if answer.StatusCode != http.StatusInternalServerError || answer.Header.Get("Content-Type") != "application/json" || strings.Contains(body, "beginning") || err != nil {
		t.Errorf("early: %d %s %v", answer.StatusCode, body, err)
	}
	answer, body, err = download(t, asItIs, func(to *File) error {
		_, _ = to.WriteString(strings.Repeat("x", fileBuffer+1))
		return failure
	})
	if answer.StatusCode != http.StatusOK || err == nil {
		t.Errorf("late: %d, %d bytes look whole", answer.StatusCode, len(body))
	}
}

func TestAnEmptyDownloadIsAFile(t *testing.T) {
	answer, body, err := download(t, asItIs, func(*File) error { return nil })
	if answer.StatusCode != http.StatusOK || body != "" || err != nil || answer.Header.Get("Content-Disposition") != `attachment; filename="file.txt"` {
		t.Errorf("%d %v %q %v", answer.StatusCode, answer.Header, body, err)
	}
}

package web

import (
	"context"
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

// uploaded sends a body to an endpoint that takes files, behind a real server.
func uploaded(t *testing.T, timeout time.Duration, most int64, length int64, body io.Reader) (status int, received string) {
	t.Helper()
	route := Receive(tinySite(), api.Op[api.File, struct{}]{}, audit.ImportStarted, most, func(_ context.Context, _ db.Caller, _ struct{}, body *Upload) (struct{}, error) {
		text, err := io.ReadAll(body)
		received = string(text)
		if err == nil {
			_, err = body.End()
		}
		return struct{}{}, err
	})
	listener := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route.Endpoint(&Exchange{W: w, R: r, Log: slog.New(slog.DiscardHandler)})
	}))
	listener.Config.ReadTimeout, listener.Config.WriteTimeout = timeout, timeout
	listener.Start()
	defer listener.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, listener.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	request.ContentLength = length
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode, received
}

// slowBody sends two pieces, and the second long after the server's read timeout is over.
type slowBody struct {
	pause time.Duration
	sent  int
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.sent++; b.sent > 2 {
		return 0, io.EOF
	}
	if b.sent == 2 {
		<-time.After(b.pause)
	}
	return copy(p, "piece\n"), nil
}

func TestAnUploadMayTakeLongerThanTheReadTimeout(t *testing.T) {
	t.Parallel()
	const timeout = 2 * time.Second // in which the headers must arrive, on a busy machine too
	if status, received := uploaded(t, timeout, 100, -1, &slowBody{pause: timeout + timeout/4}); status != http.StatusOK || received != "piece\npiece\n" {
		t.Errorf("%d %q", status, received)
	}
}

func TestAnUploadThatIsTooLargeIsRefused(t *testing.T) {
	for name, length := range map[string]int64{"before it is read, if it tells its length": 101, "while it arrives, if it does not": -1} {
		status, received := uploaded(t, time.Minute, 100, length, strings.NewReader(strings.Repeat("x", 101)))
		if status != http.StatusRequestEntityTooLarge || length > 0 && received != "" {
			t.Errorf("%s: %d %q", name, status, received)
		}
	}
}

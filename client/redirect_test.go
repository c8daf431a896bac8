package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"bursar/client"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestRedirectsToAnotherHostAreNotFollowed(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { reached.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+r.URL.Path, status)
		}))
		c := dial(t, home.URL, client.WithToken("secret"))
		_, read := c.Auth.Me(t.Context())
		_, change := c.Directory.Delete(t.Context(), "entry_x")
		_, device := c.Auth.PollDeviceCode(t.Context(), "K7MPXQ", "verifier")
		for _, err := range []error{read, change, device} {
			if e := refused(t, err); e.Status != status || !strings.Contains(e.Message, other.URL) {
				t.Errorf("%d: %+v", status, e)
			}
		}
		home.Close()
	}
	if got := reached.Load(); got != 0 {
		t.Errorf("the other host got %d requests", got)
	}
}

// A proxy may move a path on its own host, but never make a GET of a change.
func TestRedirectsAtHomeAreFollowedWithTheSameMethod(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rest, ok := strings.CutPrefix(r.URL.Path, "/old"); ok {
			http.Redirect(w, r, rest, http.StatusFound)
			return
		}
		n.Server.ServeHTTP(w, r)
	}))
	defer home.Close()
	c := dial(t, home.URL+"/old", client.WithToken(n.Admin(t).Token))
	me(t, c)
	_, err := c.Tags.Create(t.Context(), client.TagCreateParams{WorkspaceID: n.First.WorkspaceID, Name: "a"})
	if e := refused(t, err); e.Status != http.StatusFound {
		t.Errorf("a redirected change: %+v", e)
	}
}

func TestRedirectsInACircleEnd(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer home.Close()
	if _, err := dial(t, home.URL).Auth.Me(t.Context()); err == nil {
		t.Error("no error")
	}
	if got := reached.Load(); got != 10 {
		t.Errorf("%d requests, want 10: a circle is not walked again", got)
	}
}

package server_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/server"
	"bursar/internal/wait"
	"bursar/internal/web"
)

// A line of a request is what slog would have made of it.
func TestLineOfARequestIsAsAllOthersAre(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("", 3600))
	x := &web.Exchange{RequestID: "req_1", Route: "GET /v1/auth/me", Status: 404, IP: `fe80::1%"\x`}
	x.Caller.ID = "usr_1"
	var got, want bytes.Buffer
	server.NewLog(&got, slog.LevelInfo).Request(x, "GET", at, 1500*time.Microsecond)
	line := slog.NewRecord(at, slog.LevelInfo, "request", 0)
	line.Add("request_id", "req_1", "method", "GET", "route", "GET /v1/auth/me", "status", 404,
		"duration", 1500*time.Microsecond, "actor", "usr_1", "ip", `fe80::1%"\x`)
	if err := slog.NewJSONHandler(&want, nil).Handle(t.Context(), line); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("slog's line and ours: %s", diff)
	}
	if !json.Valid(got.Bytes()) {
		t.Errorf("not JSON: %s", &got)
	}
}

func TestRequestsAreNotLoggedBelowTheLevel(t *testing.T) {
	var got bytes.Buffer
	server.NewLog(&got, slog.LevelWarn).Request(&web.Exchange{}, "GET", time.Now(), 0)
	if got.Len() > 0 {
		t.Errorf("logged: %s", &got)
	}
}

func TestLinesDoNotMix(t *testing.T) {
	const each = 200
	var got bytes.Buffer
	log := server.NewLog(&got, slog.LevelInfo)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range each {
				log.Request(&web.Exchange{RequestID: "req_1"}, "GET", time.Now(), 0)
			}
		})
		all.Go(func() {
			for range each {
				log.Info("something else")
			}
		})
	}
	all.Wait()
	lines := bytes.Split(bytes.TrimSuffix(got.Bytes(), []byte("\n")), []byte("\n"))
	if len(lines) != 8*each {
		t.Errorf("%d lines, want %d", len(lines), 8*each)
	}
	for _, line := range lines {
		if !json.Valid(line) {
			t.Fatalf("not JSON: %s", line)
		}
	}
}

// Lines that follow each other closely share a write; none waits for long, none is
// out of order, and what is not of a request takes those before it along.
func TestLinesOfRequestsShareAWrite(t *testing.T) {
	var out writes
	log := server.NewLog(&out, slog.LevelInfo)
	log.Gather(time.Minute)
	at := time.Now()
	say := func(id string, after time.Duration) {
		log.Request(&web.Exchange{RequestID: id}, "GET", at.Add(after), 0)
	}
	say("first", 0)
	say("second", time.Microsecond)
	say("third", 2*time.Microsecond)
	if got := out.ids(); !slices.Equal(got, []string{"first"}) {
		t.Errorf("written at once: %v", got)
	}
	log.Info("something", "request_id", "fourth")
	say("fifth", 3*time.Microsecond)
	log.Flush()
	if got := out.ids(); !slices.Equal(got, []string{"first", "second,third,fourth", "fifth"}) {
		t.Errorf("written in the end: %v", got)
	}
	log.Gather(time.Millisecond)
	say("sixth", time.Hour)
	say("seventh", time.Hour+time.Microsecond)
	defer func() {
		if t.Failed() {
			t.Logf("written are %v", out.ids())
		}
	}()
	wait.Until(t, "gathered lines are written", func() bool { return len(out.ids()) >= 5 })
}

// writes notes what each call of Write brought.
type writes struct {
	mu  sync.Mutex
	all []string
}

func (w *writes) Write(p []byte) (int, error) {
	var ids []string
	for line := range bytes.Lines(p) {
		var fields struct {
			ID string `json:"request_id"`
		}
		if err := json.Unmarshal(line, &fields); err != nil {
			return 0, err
		}
		ids = append(ids, fields.ID)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, strings.Join(ids, ","))
	return len(p), nil
}

func (w *writes) ids() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.all)
}

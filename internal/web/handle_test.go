package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// tinySite lets everyone in and has no store: what is refused for its form must
// not need one.
func tinySite() *Endpoints {
	return &Endpoints{
		Authenticate: func(*Exchange) (audit.Actor, error) { return audit.Actor{Type: audit.User, ID: "usr_1"}, nil },
		Count:        func(*Exchange, string, int) error { return nil },
		Admit:        func(*Exchange) error { return nil },
	}
}

type tinyInput struct {
	Text string     `json:"text" required:"true"`
	Free api.Fields `json:"free"`
}

type tinyOutput struct {
	Text string     `json:"text"`
	Free api.Fields `json:"free,omitzero"`
}

func echo(_ context.Context, _ db.Caller, in tinyInput) (tinyOutput, error) {
	return tinyOutput(in), nil
}

// echoOp is the operation of echo.
var echoOp api.Op[tinyInput, tinyOutput]

// call sends a body to an endpoint, telling its length or not.
func call(endpoint Endpoint, method string, body []byte, tellLength bool) *httptest.ResponseRecorder {
	var reader io.Reader = bytes.NewReader(body)
	if !tellLength {
		reader = io.NopCloser(reader)
	}
	w := httptest.NewRecorder()
	endpoint(&Exchange{W: w, R: httptest.NewRequest(method, "/", reader), RequestID: "req_1", Log: slog.New(slog.DiscardHandler)})
	return w
}

type errorBody struct {
	OK    *bool
	Error struct{ Code, Message string }
	Data  *tinyOutput
}

func FuzzJSONBody(f *testing.F) {
	for _, seed := range []string{
		"", " ", "{}", `{"text":"a"}`, `{"text":"a","free":{"b":1.00,"a":"\u00e9"}}`, `{"text":"a"}{}`, `[]`, `null`, `{"text":1,"x":2}`,
		`{"text":"\ud800"}`, "{\"text\":\"\xff\"}", `{"text":"a","text":"a"}`, strings.Repeat("[", 11000), "\x00", `{"text":"` + strings.Repeat("x", 100) + `"}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	endpoints := []Endpoint{Change(tinySite(), echoOp, audit.EntryCreated, echo).Endpoint, Open(tinySite(), echoOp, echo).Endpoint}
	f.Fuzz(func(t *testing.T, body []byte, tellLength bool) {
		var first string
		for i, endpoint := range endpoints {
			w := call(endpoint, http.MethodPost, body, tellLength)
			got := w.Body.String()
			var answer errorBody
			if err := json.Unmarshal([]byte(got), &answer); err != nil || answer.OK == nil {
				t.Fatalf("%q is answered by %q: %v", body, got, err)
			}
			switch {
			case w.Code == http.StatusOK && *answer.OK && answer.Data != nil && json.Valid(body):
			case w.Code == http.StatusBadRequest && !*answer.OK && answer.Error.Code == "VALIDATION_ERROR" && answer.Error.Message != "":
			default:
				t.Fatalf("%q is answered by %d %s", body, w.Code, got)
			}
			if w.Header().Get("Content-Type") != "application/json" {
				t.Fatalf("%q is answered with %v", body, w.Header())
			}
			if i > 0 && got != first {
				t.Fatalf("%q is answered by %s and by %s", body, first, got)
			}
			first = got
		}
	})
}

func TestBodyIsReadUpToItsLimit(t *testing.T) {
	endpoint := Change(tinySite(), echoOp, audit.EntryCreated, echo).Endpoint
	for _, tellLength := range []bool{true, false} {
		for size, want := range map[int]int{maxBody: http.StatusOK, maxBody + 1: http.StatusRequestEntityTooLarge} {
			body := `{"text":"` + strings.Repeat("x", size-len(`{"text":""}`)) + `"}`
			w := call(endpoint, http.MethodPost, []byte(body), tellLength)
			if w.Code != want {
				t.Errorf("%d bytes, length told %v: %d %.200s", size, tellLength, w.Code, w.Body)
			}
		}
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("secret cause") }

func TestBodyThatBreaksOffIsTheClientsFault(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/", brokenReader{})
	Open(tinySite(), echoOp, echo).Endpoint(&Exchange{W: w, R: r, Log: slog.New(slog.DiscardHandler)})
	if w.Code != http.StatusBadRequest || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("answered by %d %s", w.Code, w.Body)
	}
}

func TestUnexpectedFailureIsLoggedAndNotShown(t *testing.T) {
	var log bytes.Buffer
	w := httptest.NewRecorder()
	fail := func(context.Context, db.Caller, struct{}) (struct{}, error) {
		return struct{}{}, errors.New("SQL at row 7")
	}
	x := &Exchange{W: w, R: httptest.NewRequest(http.MethodGet, "/", nil), RequestID: "req_9", Log: slog.New(slog.NewTextHandler(&log, nil))}
	Read(tinySite(), api.Op[api.None, struct{}]{}, fail).Endpoint(x)
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "SQL") || !strings.Contains(w.Body.String(), "req_9") {
		t.Errorf("answered by %d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "SQL at row 7") || !strings.Contains(log.String(), "req_9") {
		t.Errorf("logged %s", log.String())
	}
}

func TestStrangerIsTurnedAwayBeforeTheBodyIsLookedAt(t *testing.T) {
	site := tinySite()
	site.Authenticate = func(*Exchange) (audit.Actor, error) {
		return audit.Actor{}, fault.New(api.CodeUnauthorized, "who are you")
	}
	w := call(Change(site, echoOp, audit.EntryCreated, echo).Endpoint, http.MethodPost, []byte("{"), true)
	if w.Code != http.StatusUnauthorized || w.Header().Get("Www-Authenticate") == "" {
		t.Errorf("answered by %d %s %v", w.Code, w.Body, w.Header())
	}
}

func TestInputWithoutTheBodyOfItsOperationIsAMistakeInTheProgram(t *testing.T) {
	type other struct {
		Text *string    `json:"text"`
		Free api.Fields `json:"free"`
	}
	type more struct {
		tinyInput
		More string `json:"more"`
	}
	for name, build := range map[string]func(){
		"no body":         func() { Open(tinySite(), api.Op[tinyInput, struct{}]{}, serving[struct{}]) },
		"another type":    func() { Open(tinySite(), api.Op[tinyInput, struct{}]{}, serving[other]) },
		"more":            func() { Open(tinySite(), api.Op[tinyInput, struct{}]{}, serving[more]) },
		"a body to a GET": func() { Read(tinySite(), api.Op[api.None, struct{}]{}, serving[tinyInput]) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("the input is accepted")
				}
			}()
			build()
		})
	}
}

func serving[In any](context.Context, db.Caller, In) (struct{}, error) { return struct{}{}, nil }

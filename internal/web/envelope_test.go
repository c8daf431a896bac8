package web

import (
	"encoding/json"
	"testing"

	"bursar/api"
	"bursar/internal/fault"
)

type flatAnswer struct {
	Code string `json:"code"`
	At   int64  `json:"at"`
}

func (flatAnswer) Flat() {}

func TestSuccessEnvelope(t *testing.T) {
	cases := map[string]struct {
		out  any
		want string
	}{
		"an object":     {struct{ ID string }{"a<b>\u2028"}, `{"ok":true,"data":{"ID":"a<b>` + "\u2028" + `"}}`},
		"raw JSON":      {json.RawMessage(`{"z":1.00,"a":"\u0041\/<","n":1E400}`), `{"ok":true,"data":{"z":1.00,"a":"\u0041\/<","n":1E400}}`},
		"a flat one":    {flatAnswer{"ABC", 5}, `{"ok":true,"code":"ABC","at":5,"data":{"code":"ABC","at":5}}`},
		"an empty list": {NewPage(Window{Limit: everything}, []string{}, func(s string) string { return s }), `{"ok":true,"data":[]}`},
		"a nil list":    {NewPage(Window{Limit: everything}, []string(nil), func(s string) string { return s }), `{"ok":true,"data":[]}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := appendAnswer([]byte("before "), c.out)
			if err != nil || string(got) != "before "+c.want {
				t.Errorf("got %s, %v, want %s", got, err, c.want)
			}
		})
	}
}

func TestAnswerThatCannotBeEncodedIsAnError(t *testing.T) {
	if got, err := appendAnswer(nil, func() {}); err == nil {
		t.Errorf("a function became %s", got)
	}
	if got, err := appendAnswer(nil, struct{ Text string }{"\xff"}); err == nil && !json.Valid(got) {
		t.Errorf("invalid UTF-8 became %q", got)
	}
}

func TestErrorEnvelope(t *testing.T) {
	cases := map[string]struct {
		fault *fault.Fault
		want  string
	}{
		"without details": {fault.Missing("entry"), `{"ok":false,"error":{"code":"RESOURCE_NOT_FOUND","message":"entry not found"}}`},
		"with details":    {fault.Denied("ws.read", fault.Scope{WorkspaceID: "ws_1"}), `{"ok":false,"error":{"code":"FORBIDDEN","message":"permission ws.read is required","details":{"permission":"ws.read"}}}`},
		"with violations": {fault.Invalid("limit", "is wrong").(*fault.Fault), `{"ok":false,"error":{"code":"VALIDATION_ERROR","message":"limit is wrong","details":{"fields":[{"field":"limit","constraint":"is wrong"}]}}}`},
		"invalid UTF-8":   {fault.New(api.CodeValidation, "no %s", "\xff"), `{"ok":false,"error":{"code":"VALIDATION_ERROR","message":"no ` + "\ufffd" + `"}}`},
		"what cannot be":  {&fault.Fault{Code: api.CodeValidation, Details: func() {}}, `{"ok":false,"error":{"code":"INTERNAL_ERROR","message":"the error could not be described"}}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := string(appendFault(nil, c.fault)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

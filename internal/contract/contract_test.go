package contract_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bursar/api/openapi"
	"bursar/internal/contract"
)

const entry = `{"ok":true,"data":{"id":"entry_01jd2q4s6t8v0w2x4y6z8a0b2c"}}`

func TestCheckResponse(t *testing.T) {
	checker := newChecker(t)
	me := `{"ok":true,"data":{"id":"usr_01jd2m6f9e2d4c6b8a0z9y7x5w","email":"","name":"Batch"}}`
	const tags = `{"ok":true,"data":[]`
	tests := []struct {
		name, method, path string
		status             int
		header             http.Header
		body               string
		want               string // part of the error; empty when the answer is good
	}{
		{name: "good", method: "GET", path: "/v1/auth/me", body: me},
		{name: "head", method: "HEAD", path: "/v1/auth/me"},
		{name: "good with a query", method: "GET", path: "/v1/directory/tags?workspace_id=x", body: tags + `}`},
		{name: "last page", method: "GET", path: "/v1/directory/tags?limit=1", body: tags + `,"has_more":false}`},
		{name: "page", method: "GET", path: "/v1/directory/tags?limit=1", body: tags + `,"has_more":true,"cursor":"c"}`},
		{name: "page without cursor", method: "GET", path: "/v1/directory/tags", body: tags + `,"has_more":true}`, want: "cursor"},
		{name: "cursor on the last page", method: "GET", path: "/v1/directory/tags", body: tags + `,"has_more":false,"cursor":"c"}`, want: "not"},
		{name: "unknown path", method: "GET", path: "/v1/auth/you", body: me, want: "GET /v1/auth/you is not documented"},
		{name: "outside the base", method: "GET", path: "/auth/me", body: me, want: "not documented"},
		{name: "unknown method", method: "PUT", path: "/v1/auth/me", body: me, want: "PUT /v1/auth/me is not documented"},
		{name: "unknown status", method: "GET", path: "/v1/auth/me", status: 201, body: me, want: "does not document the status 201"},
		{name: "unknown field", method: "GET", path: "/v1/auth/me", body: strings.Replace(me, `"name"`, `"age":3,"name"`, 1), want: "age"},
		{name: "unknown field beside data", method: "GET", path: "/v1/auth/me", body: strings.Replace(me, `"ok"`, `"age":3,"ok"`, 1), want: "age"},
		{name: "missing field", method: "GET", path: "/v1/auth/me", body: strings.Replace(me, `"email":"",`, ``, 1), want: "email"},
		{name: "wrong type", method: "GET", path: "/v1/auth/me", body: strings.Replace(me, `"Batch"`, `7`, 1), want: "name"},
		{name: "wrong id", method: "GET", path: "/v1/auth/me", body: strings.Replace(me, `usr_`, `ws_`, 1), want: "pattern"},
		{name: "not JSON", method: "GET", path: "/v1/auth/me", body: `{`, want: "not JSON"},
		{name: "data after the body", method: "GET", path: "/v1/auth/me", body: me + `{}`, want: "not JSON"},
		{name: "wrong content type", method: "GET", path: "/v1/auth/me", header: http.Header{"Content-Type": {"text/html"}}, body: me, want: "content type"},
		{name: "no request id", method: "GET", path: "/v1/auth/me", header: http.Header{"X-Request-Id": nil}, body: me, want: "X-Request-Id"},
		{name: "request id of digits", method: "GET", path: "/v1/auth/me", header: http.Header{"X-Request-Id": {"42"}}, body: me},
		{name: "error", method: "GET", path: "/v1/auth/me", status: 401, body: fault("UNAUTHORIZED")},
		{name: "another code", method: "GET", path: "/v1/auth/me", status: 401, body: fault("INVALID_CREDENTIALS"), want: "code"},
		{name: "entry not found", method: "GET", path: "/v1/directory/e", status: 404, body: fault("NOT_FOUND")},
		{name: "wrong not found", method: "GET", path: "/v1/directory/e", status: 404, body: fault("RESOURCE_NOT_FOUND"), want: "code"},
		{name: "rate limited", method: "GET", path: "/v1/auth/me", status: 429, header: http.Header{"Retry-After": {"2"}}, body: fault("RATE_LIMITED")},
		{name: "no Retry-After", method: "GET", path: "/v1/auth/me", status: 429, body: fault("RATE_LIMITED"), want: "Retry-After"},
		{name: "Retry-After in words", method: "GET", path: "/v1/auth/me", status: 429, header: http.Header{"Retry-After": {"soon"}}, body: fault("RATE_LIMITED"), want: "Retry-After"},
		{name: "literal before parameter", method: "PATCH", path: "/v1/directory/tags/e", body: entry, want: "applies_to"},
		{name: "literal without the method", method: "POST", path: "/v1/directory/tags/restore", body: entry, want: "not documented"},
		{name: "empty parameter", method: "GET", path: "/v1/directory/", body: entry, want: "not documented"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			header := http.Header{"Content-Type": {"application/json; charset=utf-8"}, "X-Request-Id": {"r"}}
			for name, values := range test.header {
				header[name] = values
			}
			if test.status == 0 {
				test.status = http.StatusOK
			}
			err := checker.CheckResponse(httptest.NewRequest(test.method, test.path, nil), test.status, header, []byte(test.body))
			expect(t, err, test.want)
		})
	}
}

func TestUndocumentedErrorNamesWhatIsUnknown(t *testing.T) {
	checker := newChecker(t)
	var undocumented *contract.UndocumentedError
	err := checker.CheckResponse(httptest.NewRequest("GET", "/v1/workspaces/x", nil), 418, http.Header{}, nil)
	if !errors.As(err, &undocumented) || undocumented.Status != 418 || undocumented.Path != "/v1/workspaces/{id}" {
		t.Errorf("got %v", err)
	}
}

func TestCheckUnrouted(t *testing.T) {
	checker := newChecker(t)
	header := http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"r"}}
	expect(t, checker.CheckUnrouted(404, header, []byte(fault("RESOURCE_NOT_FOUND"))), "")
	expect(t, checker.CheckUnrouted(404, header, []byte(fault("NOT_FOUND"))), "code")
	expect(t, checker.CheckUnrouted(405, header, []byte(fault("METHOD_NOT_ALLOWED"))), "Allow")
	header.Set("Allow", "GET")
	expect(t, checker.CheckUnrouted(405, header, []byte(fault("METHOD_NOT_ALLOWED"))), "")
	expect(t, checker.CheckUnrouted(500, header, []byte(fault("INTERNAL_ERROR"))), "not documented outside operations")
}

func TestNewRefusesWhatIsNoDocument(t *testing.T) {
	for _, document := range []string{"", `["a"]`, `{"paths": {`, `{"openapi": "3.1.0", "paths": {}}`,
		`{"paths": {"/a": {"get": {"responses": {"200": {"$ref": "#/components/responses/None"}}}}}}`} {
		if _, err := contract.New(func() ([]byte, error) { return []byte(document), nil }); err == nil {
			t.Errorf("%q was taken for a document", document)
		}
	}
}

func BenchmarkCheckResponse(b *testing.B) {
	checker, err := contract.New(openapi.JSON)
	if err != nil {
		b.Fatal(err)
	}
	header := http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"r"}}
	request := httptest.NewRequest("POST", "/v1/directory", nil)
	for b.Loop() {
		if err := checker.CheckResponse(request, 200, header, []byte(entry)); err != nil {
			b.Fatal(err)
		}
	}
}

func newChecker(t *testing.T) *contract.Checker {
	t.Helper()
	checker, err := contract.New(openapi.JSON)
	if err != nil {
		t.Fatal(err)
	}
	return checker
}

func fault(code string) string {
	return `{"ok":false,"error":{"code":"` + code + `","message":"No."}}`
}

func expect(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil {
		t.Errorf("unexpected: %v", err)
	}
	if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("got %v, want an error about %q", err, want)
	}
}

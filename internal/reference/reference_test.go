package reference_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"bursar/api/openapi"
	"bursar/internal/contract"
	"bursar/internal/reference"
)

func TestPageNamesEveryOperation(t *testing.T) {
	checker, err := contract.New(openapi.YAML())
	if err != nil {
		t.Fatal(err)
	}
	page := get(t, handler(t), "/docs").Body.String()
	for _, operation := range checker.Operations() {
		method, path, _ := strings.Cut(operation, " ")
		heading := `<span class="badge ` + method + `">` + method + `</span> <code class="path">` + path + `</code>`
		if strings.Count(page, heading) != 1 {
			t.Errorf("%s is on the page %d times", operation, strings.Count(page, heading))
		}
	}
}

func TestPageShowsTheParts(t *testing.T) {
	page := get(t, handler(t), "/docs").Body.String()
	for name, want := range map[string]string{
		"the way back":        `<a class="download" href="/">Console</a>`,
		"the introduction":    `<h2 id="idempotency">Idempotency</h2>`,
		"a table":             `<td><code>IDEMPOTENCY_CONFLICT</code></td>`,
		"a parameter":         `<code>limit</code> <span class="type">integer</span>`,
		"its rule":            `<span class="rule">1 to 100</span> <span class="rule">default 25</span>`,
		"a body field":        `<code>applies_to</code> <span class="type">string</span>`,
		"a nested field":      `<code>receiving_methods[].is_default</code>`,
		"a request":           `<b>POST</b> /v1/directory/tags`,
		"an example":          `<span class="key">&#34;applies_to&#34;</span>: <span class="string">&#34;person&#34;</span>`,
		"an error code":       `<span class="status">422</span> <code>TAG_EXISTS</code> <code>TAG_IN_USE</code>`,
		"an error's meaning":  `<td>Somebody holds the role.</td>`,
		"a public operation":  `<span>No credential</span>`,
		"a token's exchange":  `<span>API key or client id and secret</span>`,
		"markdown in a field": `in Unix <strong>seconds</strong>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is missing: %s", name, want)
		}
	}
}

func TestPageKeepsToItself(t *testing.T) {
	page := get(t, handler(t), "/docs").Body.String()
	links := regexp.MustCompile(`(?i)\s(?:src|href)\s*=\s*"([^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(links) < 50 {
		t.Fatalf("only %d links were found", len(links))
	}
	for _, link := range links {
		target := link[1]
		if fragment, ok := strings.CutPrefix(target, "#"); ok {
			if strings.Count(page, ` id="`+fragment+`"`) != 1 {
				t.Errorf("%s does not lead to exactly one place", target)
			}
		} else if target != "/docs/style.css" && target != "/openapi.json" && target != "/" {
			t.Errorf("the page refers to %s", target)
		}
	}
	for _, forbidden := range []string{"<script", "<style", " style=", " onclick="} {
		if strings.Contains(page, forbidden) {
			t.Errorf("the page contains %q, which its policy blocks", forbidden)
		}
	}
}

func TestHeaders(t *testing.T) {
	pages := handler(t)
	for path, contentType := range map[string]string{"/docs": "text/html; charset=utf-8", "/docs/style.css": "text/css; charset=utf-8"} {
		answer := get(t, pages, path)
		for name, want := range map[string]string{
			"Content-Type":            contentType,
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options":  "nosniff",
			"Cache-Control":           "no-cache",
		} {
			if got := answer.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		again := httptest.NewRequest("GET", path, nil)
		again.Header.Set("If-None-Match", answer.Header().Get("ETag"))
		recorder := httptest.NewRecorder()
		pages.ServeHTTP(recorder, again)
		if recorder.Code != http.StatusNotModified {
			t.Errorf("%s: asked again, status %d, want 304", path, recorder.Code)
		}
	}
}

func TestStatuses(t *testing.T) {
	for _, test := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/docs", 200}, {"HEAD", "/docs", 200}, {"HEAD", "/docs/style.css", 200},
		{"POST", "/docs", 405}, {"GET", "/docs/other", 404}, {"GET", "/docs/page.html", 404},
	} {
		recorder := httptest.NewRecorder()
		handler(t).ServeHTTP(recorder, httptest.NewRequest(test.method, test.path, nil))
		if recorder.Code != test.want {
			t.Errorf("%s %s: status %d, want %d", test.method, test.path, recorder.Code, test.want)
		}
		if test.method == "HEAD" && recorder.Body.Len() > 0 {
			t.Errorf("HEAD %s has a body", test.path)
		}
		if recorder.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%s %s has no policy", test.method, test.path)
		}
	}
}

func TestDescriptionsCannotInjectMarkup(t *testing.T) {
	document := `
openapi: 3.1.0
info: {title: '<script>a</script>', version: '1', description: '<script>b</script> [x](javascript:alert(1))'}
tags: [{name: A, description: '<img src=x onerror=c>'}]
paths:
  /a:
    get:
      operationId: a
      tags: [A]
      summary: '<script>d</script>'
      description: '<script>e</script>'
      responses:
        '200': {description: Good., content: {application/json: {schema: {type: object}, example: {'<script>f</script>': '</code><script>g'}}}}
`
	answer := get(t, reference.New([]byte(document)).Handler(), "/docs")
	for _, forbidden := range []string{"<script", "<img", "javascript:"} {
		if strings.Contains(answer.Body.String(), forbidden) {
			t.Errorf("%q reached the page", forbidden)
		}
	}
}

func TestBrokenDocumentIsAnHonestFailure(t *testing.T) {
	for _, document := range []string{"", "- a", "a: {", "paths: {/a: {get: {tags: [None]}}}"} {
		recorder := httptest.NewRecorder()
		reference.New([]byte(document)).Handler().ServeHTTP(recorder, httptest.NewRequest("GET", "/docs", nil))
		if recorder.Code != http.StatusInternalServerError {
			t.Errorf("%q: status %d, want 500", document, recorder.Code)
		}
	}
}

func handler(t *testing.T) http.Handler {
	t.Helper()
	return reference.New(openapi.YAML()).Handler()
}

func get(t *testing.T, pages http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	recorder := httptest.NewRecorder()
	pages.ServeHTTP(recorder, httptest.NewRequest("GET", path, nil))
	if recorder.Code != http.StatusOK {
		t.Fatalf("GET %s: status %d: %s", path, recorder.Code, recorder.Body)
	}
	return recorder
}

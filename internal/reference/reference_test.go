package reference_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"bursar/api"
	"bursar/api/openapi"
	"bursar/internal/reference"
)

func TestPageNamesEveryOperation(t *testing.T) {
	page := get(t, handler(t), "/docs").Body.String()
	headers := regexp.MustCompile(`(?s)<header>.*?</header>`).FindAllString(page, -1)
	for _, operation := range api.Operations() {
		named := 0
		for _, header := range headers {
			if strings.Contains(visible(header)+" ", " "+operation.String()+" ") {
				named++
			}
		}
		if named != 1 {
			t.Errorf("%d sections are about %s, want 1", named, operation)
		}
	}
}

// visible is the text of some HTML as a reader sees it, with single spaces.
func visible(page string) string {
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")
	text = strings.Join(strings.Fields(html.UnescapeString(text)), " ")
	return strings.ReplaceAll(text, " : ", ": ")
}

func TestPageShowsTheParts(t *testing.T) {
	page := visible(get(t, handler(t), "/docs").Body.String())
	for name, want := range map[string]string{
		"the introduction":    "Idempotency",
		"a table":             "IDEMPOTENCY_CONFLICT",
		"a parameter":         "limit integer",
		"its rule":            "1 to 100 default 25",
		"a body field":        "applies_to string",
		"a nested field":      "receiving_methods[].is_default",
		"a request":           "POST /v1/directory/tags",
		"an example":          `"applies_to": "person"`,
		"an error code":       "422 TAG_EXISTS TAG_IN_USE",
		"an error's meaning":  "At least one member has this role.",
		"a public operation":  "No credential",
		"a token's exchange":  "API key or client id and secret",
		"markdown in a field": "in Unix seconds",
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
			t.Errorf("%s: requested again, status %d, want 304", path, recorder.Code)
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
	answer := get(t, reference.New(func() ([]byte, error) { return []byte(document), nil }).Handler(), "/docs")
	for _, forbidden := range []string{"<script", "<img", "javascript:"} {
		if strings.Contains(answer.Body.String(), forbidden) {
			t.Errorf("%q reached the page", forbidden)
		}
	}
}

func TestBrokenDocumentIsAnHonestFailure(t *testing.T) {
	for _, document := range []string{"", "- a", "a: {", "paths: {/a: {get: {tags: [None]}}}"} {
		recorder := httptest.NewRecorder()
		reference.New(func() ([]byte, error) { return []byte(document), nil }).Handler().ServeHTTP(recorder, httptest.NewRequest("GET", "/docs", nil))
		if recorder.Code != http.StatusInternalServerError {
			t.Errorf("%q: status %d, want 500", document, recorder.Code)
		}
	}
}

func handler(t *testing.T) http.Handler {
	t.Helper()
	return reference.New(openapi.JSON).Handler()
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

// Package reference renders the OpenAPI document as a page for people. The page is one HTML document and one style sheet. It needs no
// script and loads nothing from other hosts.
package reference

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

//go:embed page.html
var pageTemplate string

//go:embed style.css
var styleSheet []byte

const policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Reference is the page. It is rendered on the first request.
type Reference struct {
	render func() ([]byte, error)
}

// New returns a page that renders the document on the first request. load returns the document as JSON or YAML.
func New(load func() ([]byte, error)) *Reference {
	return &Reference{render: sync.OnceValues(func() ([]byte, error) { return renderPage(load) })}
}

func renderPage(load func() ([]byte, error)) ([]byte, error) {
	contract, err := load()
	if err != nil {
		return nil, err
	}
	source, err := parse(contract)
	if err != nil {
		return nil, err
	}
	content, err := source.page()
	if err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	parsed, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("parse the page template: %w", err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, content); err != nil {
		return nil, fmt.Errorf("render the page: %w", err)
	}
	return out.Bytes(), nil
}

// Handler serves /docs and /docs/style.css.
func (r *Reference) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /docs", func(w http.ResponseWriter, req *http.Request) {
		page, err := r.render()
		if err != nil {
			slog.ErrorContext(req.Context(), "the reference cannot be rendered", "error", err)
			http.Error(w, "The reference cannot be shown.", http.StatusInternalServerError)
			return
		}
		serve(w, req, "text/html; charset=utf-8", page)
	})
	mux.HandleFunc("GET /docs/style.css", func(w http.ResponseWriter, req *http.Request) {
		serve(w, req, "text/css; charset=utf-8", styleSheet)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		mux.ServeHTTP(w, req)
	})
}

// serve lets a browser cache the content but revalidate it each time, so that a new version shows at once.
func serve(w http.ResponseWriter, req *http.Request, contentType string, content []byte) {
	sum := sha256.Sum256(content)
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
	http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(content))
}

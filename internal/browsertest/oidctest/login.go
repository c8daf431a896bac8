package oidctest

import (
	"context"
	"html/template"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"testing"
)

const loginPath = "/login/username" // where zitadel's example client sends users

// login is the page where a user signs in.
type login struct {
	store    *store
	callback func(ctx context.Context, request string) string
}

func form() *template.Template {
	return template.Must(template.New("login").Parse(`<!doctype html>
<html lang="en"><head><title>Sign in to the provider</title><meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><main><h1>Sign in to the provider</h1>{{with .Wrong}}<p role="alert">{{.}}</p>{{end}}
<form method="post" action="` + loginPath + `"><input type="hidden" name="id" value="{{.Request}}">
<p><label>Email <input name="email" type="email" required></label></p>
<p><label>Password <input name="password" type="password" required></label></p>
<p><button>Sign in</button></p></form></main></body></html>`))
}

type question struct{ Request, Wrong string }

func (l *login) show(w http.ResponseWriter, r *http.Request) {
	l.ask(w, question{Request: r.FormValue("authRequestID")})
}

func (l *login) check(w http.ResponseWriter, r *http.Request) {
	request := r.FormValue("id")
	if err := l.store.CheckUsernamePassword(r.FormValue("email"), r.FormValue("password"), request); err != nil {
		l.ask(w, question{Request: request, Wrong: err.Error()})
		return
	}
	http.Redirect(w, r, l.callback(r.Context(), request), http.StatusFound)
}

func (l *login) ask(w http.ResponseWriter, q question) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := form().Execute(w, q); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

var requestID = regexp.MustCompile(`name="id" value="([^"]+)"`)

// SignIn signs a user in without a browser. location is the address to which a client of
// the provider would send them. It returns the parameters that the provider sends back to
// the client.
func SignIn(t testing.TB, location, email, password string) url.Values {
	t.Helper()
	address, err := url.Parse(location)
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var back url.Values
	client := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Host != address.Host {
			back = r.URL.Query()
			return http.ErrUseLastResponse
		}
		return nil
	}}
	page, err := client.Get(location)
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	text, err := io.ReadAll(page.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := requestID.FindSubmatch(text)
	if found == nil {
		t.Fatalf("the provider shows %s", text)
	}
	sent, err := client.PostForm(address.Scheme+"://"+address.Host+loginPath, url.Values{"id": {string(found[1])}, "email": {email}, "password": {password}})
	if err != nil {
		t.Fatal(err)
	}
	sent.Body.Close()
	if back == nil {
		t.Fatalf("the provider did not send %s back: %d", email, sent.StatusCode)
	}
	return back
}

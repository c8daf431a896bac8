package oidctest

import (
	"context"
	"html/template"
	"net/http"
)

const loginPath = "/login/username" // where zitadel's example client sends users

// login is the page that asks a user who they are.
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

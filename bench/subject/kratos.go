package subject

import (
	"context"
	"net/http"
	"path/filepath"
	"strconv"

	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/report"
)

// KratosSQLite is Ory Kratos, whose identities stand for entries.
func KratosSQLite(ctx context.Context, setup Setup) (*Subject, error) {
	dir := filepath.Join(setup.Dir, "kratos-sqlite")
	return newKratosSubject(ctx, setup, "sqlite", "SQLite", func(context.Context) (string, error) {
		return "sqlite://" + filepath.Join(dir, "kratos.db") + "?_fk=true", nil
	})
}

// KratosPostgres is Ory Kratos with a database of the shared server.
func KratosPostgres(ctx context.Context, setup Setup) (*Subject, error) {
	return newKratosSubject(ctx, setup, "postgres", "PostgreSQL", func(ctx context.Context) (string, error) { return setup.Postgres.database(ctx, "kratos") })
}

func newKratosSubject(ctx context.Context, setup Setup, engine, title string, dsn func(context.Context) (string, error)) (*Subject, error) {
	s := &Subject{Subject: report.Subject{Name: "kratos-" + engine, Title: "Kratos on " + title}}
	var err error
	s.Binary, s.Version, err = setup.peer(ctx, "kratos", "sqlite", "github.com/ory/kratos")
	s.Stores = []Store{{Rows: setup.Sizes.Main, Fill: func(ctx context.Context) (*Server, error) {
		dsn, err := dsn(ctx)
		if err != nil {
			return nil, err
		}
		return newKratos(ctx, s.Binary, filepath.Join(setup.Dir, s.Name), dsn, setup.Sizes.Main)
	}}}
	return s, err
}

func newKratos(ctx context.Context, binary, dir, dsn string, entries int) (*Server, error) {
	out, err := output(ctx, binary, "setup", "--dir", dir, "--dsn", dsn, "--entries", strconv.Itoa(entries))
	if err != nil {
		return nil, err
	}
	k := &kratos{}
	if err := decode(out, k, "kratos setup"); err != nil {
		return nil, err
	}
	public, err := freeAddress()
	if err != nil {
		return nil, err
	}
	admin, err := freeAddress()
	if err != nil {
		return nil, err
	}
	k.public, k.admin = "http://"+public, "http://"+admin
	return &Server{Size: entries, client: k, probe: k.probe(),
		path: binary, args: []string{"serve", "--dir", dir, "--dsn", dsn, "--public", public, "--admin", admin}}, nil
}

type kratos struct {
	SessionToken  string   `json:"session_token"`
	IdentityIDs   []string `json:"identity_ids"`
	public, admin string
}

func (k *kratos) probe() Probe {
	return Probe{URL: k.public + "/sessions/whoami", Header: map[string]string{"X-Session-Token": k.SessionToken}}
}

func (k *kratos) signIn(context.Context) (Probe, error) { return k.probe(), nil }

func (k *kratos) requests(_ context.Context, w plan.Workload) (base string, requests []load.Request, ok bool, err error) {
	r := load.Request{Method: http.MethodGet, IDs: k.IdentityIDs}
	json := map[string]string{"Content-Type": "application/json"}
	switch w.Kind {
	case plan.WhoAmI:
		r.Path, r.Header = "/sessions/whoami", k.probe().Header
		return k.public, []load.Request{r}, true, nil
	case plan.List:
		r.Path = "/admin/identities?page_size=25"
	case plan.Read:
		r.Path = "/admin/identities/{id}"
	case plan.Update:
		r.Method, r.Path, r.Header = http.MethodPatch, "/admin/identities/{id}", json
		r.Body = `[{"op":"replace","path":"/traits/name","value":"Ada {n}"}]`
	case plan.Create:
		r.Method, r.Path, r.Header = http.MethodPost, "/admin/identities", json
		r.Body = `{"schema_id":"person","traits":{"email":"ada{n}@example.com","name":"Ada {n}"}}`
	default:
		return "", nil, false, nil
	}
	return k.admin, []load.Request{r}, w.Filter == "", nil
}

package subject

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"

	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/proc"
	"bursar/bench/report"
)

// KratosSQLite is Ory Kratos, whose identities stand for entries.
func KratosSQLite(binary, version, dir string, sizes plan.Sizes) *Subject {
	s := &Subject{Binary: binary, Subject: report.Subject{Name: "kratos-sqlite", Title: "Kratos on SQLite", Version: version}}
	dir = filepath.Join(dir, "kratos-sqlite")
	s.Jobs = []Job{{Title: s.Title, Size: sizes.Main, Rows: sizes.Main, Do: func(ctx context.Context) (*Server, error) {
		return newKratos(ctx, binary, dir, "sqlite://"+filepath.Join(dir, "kratos.db")+"?_fk=true", sizes.Main)
	}}}
	return s
}

// KratosPostgres is Ory Kratos with a database of the shared server.
func KratosPostgres(binary, version, dir string, pg *Postgres, sizes plan.Sizes) *Subject {
	s := &Subject{Subject: report.Subject{Name: "kratos-postgres", Title: "Kratos on PostgreSQL", Version: version}}
	s.Jobs = []Job{{Title: s.Title, Size: sizes.Main, Rows: sizes.Main, Do: func(ctx context.Context) (*Server, error) {
		dsn, err := pg.database(ctx, "kratos")
		if err != nil {
			return nil, err
		}
		return newKratos(ctx, binary, filepath.Join(dir, "kratos-postgres"), dsn, sizes.Main)
	}}}
	return s
}

func newKratos(ctx context.Context, binary, dir, dsn string, entries int) (*Server, error) {
	out, err := proc.Output(ctx, proc.Command{Path: binary, Args: []string{"setup", "--dir", dir, "--dsn", dsn, "--entries", strconv.Itoa(entries)}})
	if err != nil {
		return nil, err
	}
	k := &kratos{}
	if err := json.Unmarshal(out, k); err != nil {
		return nil, fmt.Errorf("set up Kratos: it printed %.200q: %w", out, err)
	}
	public, err := proc.FreeAddress()
	if err != nil {
		return nil, err
	}
	admin, err := proc.FreeAddress()
	if err != nil {
		return nil, err
	}
	k.public, k.admin = "http://"+public, "http://"+admin
	return &Server{Size: entries, speaker: k, Probe: k.probe(),
		Command: proc.Command{Path: binary, Args: []string{"serve", "--dir", dir, "--dsn", dsn, "--public", public, "--admin", admin}},
	}, nil
}

type kratos struct {
	SessionToken  string   `json:"session_token"`
	IdentityIDs   []string `json:"identity_ids"`
	public, admin string
}

func (k *kratos) probe() proc.Probe {
	return proc.Probe{URL: k.public + "/sessions/whoami", Header: map[string]string{"X-Session-Token": k.SessionToken}}
}

func (k *kratos) signIn(context.Context) (proc.Probe, error) { return k.probe(), nil }

func (k *kratos) ask(_ context.Context, w plan.Work) (Task, bool, error) {
	if w.Filter != "" {
		return Task{}, false, nil
	}
	json := map[string]string{"Content-Type": "application/json"}
	c := load.Call{IDs: k.IdentityIDs}
	switch w.Kind {
	case plan.WhoAmI:
		c.Method, c.Path, c.Header = http.MethodGet, "/sessions/whoami", k.probe().Header
		return Task{Base: k.public, Calls: []load.Call{c}}, true, nil
	case plan.List:
		c.Method, c.Path = http.MethodGet, "/admin/identities?page_size=25"
	case plan.Read:
		c.Method, c.Path = http.MethodGet, "/admin/identities/{id}"
	case plan.Update:
		c.Method, c.Path, c.Header = http.MethodPatch, "/admin/identities/{id}", json
		c.Body = `[{"op":"replace","path":"/traits/name","value":"Ada {n}"}]`
	case plan.Create:
		c.Method, c.Path, c.Header = http.MethodPost, "/admin/identities", json
		c.Body = `{"schema_id":"person","traits":{"email":"ada{n}@example.com","name":"Ada {n}"}}`
	default:
		return Task{}, false, nil
	}
	return Task{Base: k.admin, Calls: []load.Call{c}}, true, nil
}

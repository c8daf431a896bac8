package subject

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/proc"
	"bursar/bench/report"
)

// PocketBase is PocketBase with the durability that it ships with: a commit may be
// lost when the machine fails.
func PocketBase(binary, version, dir string, sizes plan.Sizes) *Subject {
	s := &Subject{Binary: binary, Subject: report.Subject{Name: "pocketbase", Title: "PocketBase", Version: version}}
	for _, size := range []int{0, sizes.Main} {
		logs := 0
		if size > 0 {
			logs = sizes.Largest()
		}
		s.Jobs = append(s.Jobs, pocketBaseJob(s, binary, filepath.Join(dir, fmt.Sprintf("pocketbase-%d", size)), size, logs, "NORMAL"))
	}
	return s
}

// PocketBaseFull has commits on disk before the answer. It is only asked to write:
// reads are the same.
func PocketBaseFull(binary, version, dir string, sizes plan.Sizes) *Subject {
	s := &Subject{Subject: report.Subject{Name: "pocketbase-full", Title: "PocketBase, synchronous=FULL", Version: version}}
	s.Jobs = []Job{pocketBaseJob(s, binary, filepath.Join(dir, "pocketbase-full"), sizes.Main, 0, "FULL")}
	return s
}

func pocketBaseJob(s *Subject, binary, dir string, entries, logs int, synchronous string) Job {
	return Job{Title: fmt.Sprintf("%s, %s rows", s.Title, plan.Number(entries)), Size: entries, Rows: entries + logs/8,
		Do: func(ctx context.Context) (*Server, error) {
			out, err := proc.Output(ctx, proc.Command{Path: binary, Args: []string{"fill", "--dir", dir,
				"--entries", strconv.Itoa(entries), "--logs", strconv.Itoa(logs)}})
			if err != nil {
				return nil, err
			}
			p := &pocketBase{writesOnly: synchronous == "FULL", entries: entries}
			if err := json.Unmarshal(out, p); err != nil {
				return nil, fmt.Errorf("fill %s: it printed %.200q: %w", s.Title, out, err)
			}
			address, err := proc.FreeAddress()
			if err != nil {
				return nil, err
			}
			p.base = "http://" + address
			data, err := os.Stat(filepath.Join(dir, "data.db"))
			if err != nil {
				return nil, fmt.Errorf("measure the store: %w", err)
			}
			return &Server{Size: entries, Logs: logs, Bytes: data.Size(), speaker: p,
				Command: proc.Command{Path: binary, Args: []string{"serve", "--dir", dir, "--http", address, "--synchronous", synchronous}},
				Probe:   p.probe(),
			}, nil
		}}
}

type pocketBase struct {
	Token          string   `json:"token"`
	UserID         string   `json:"user_id"`
	SuperuserToken string   `json:"superuser_token"`
	Workspace      string   `json:"workspace"`
	EntryIDs       []string `json:"entry_ids"`

	base       string
	entries    int
	writesOnly bool
}

func (p *pocketBase) probe() proc.Probe {
	return proc.Probe{URL: p.base + "/api/collections/users/records/" + p.UserID, Header: map[string]string{"Authorization": p.Token}}
}

func (p *pocketBase) signIn(context.Context) (proc.Probe, error) { return p.probe(), nil }

func (p *pocketBase) call(method, path, body string) load.Call {
	header := map[string]string{"Authorization": p.Token}
	if body != "" {
		header["Content-Type"] = "application/json"
	}
	return load.Call{Method: method, Path: path, Header: header, Body: body, IDs: p.EntryIDs}
}

func (p *pocketBase) ask(_ context.Context, w plan.Work) (Task, bool, error) {
	const records = "/api/collections/directory/records"
	if p.writesOnly && w.Kind != plan.Create && w.Kind != plan.Update {
		return Task{}, false, nil
	}
	var c load.Call
	switch w.Kind {
	case plan.WhoAmI:
		c = p.call(http.MethodGet, "/api/collections/users/records/"+p.UserID, "")
	case plan.List, plan.Deep:
		query, ok := p.query(w)
		if !ok {
			return Task{}, false, nil
		}
		c = p.call(http.MethodGet, records+"?"+query.Encode(), "")
	case plan.Read:
		c = p.call(http.MethodGet, records+"/{id}", "")
	case plan.Update:
		c = p.call(http.MethodPatch, records+"/{id}", `{"fields":{"email":"ada{n}@example.com"}}`)
	case plan.Create:
		c = p.call(http.MethodPost, records, `{"workspace":"`+p.Workspace+
			`","type":"person","label":"Ada Lovelace {n}","status":"active","fields":{"first-name":"Ada","last-name":"Lovelace {n}","email":"ada{n}@example.com"}}`)
	case plan.Token:
		c = p.call(http.MethodPost, "/api/collections/users/auth-refresh", "")
	case plan.Audit:
		query, ok := logQuery(w)
		if !ok {
			return Task{}, false, nil
		}
		c = p.call(http.MethodGet, "/api/logs?"+query.Encode(), "")
		c.Header = map[string]string{"Authorization": p.SuperuserToken}
	default:
		return Task{}, false, nil
	}
	return Task{Base: p.base, Calls: []load.Call{c}}, true, nil
}

func (p *pocketBase) query(w plan.Work) (url.Values, bool) {
	filter := "workspace='" + p.Workspace + "'"
	query := url.Values{"perPage": {"25"}, "sort": {"-id"}, "skipTotal": {"1"}}
	switch w.Filter {
	case "":
	case plan.Counted:
		query.Del("skipTotal")
	case "type":
		filter += " && type='person'"
	case "status":
		filter += " && status='active'"
	default:
		return nil, false
	}
	query.Set("filter", "("+filter+")")
	if w.Kind == plan.Deep {
		query.Set("page", strconv.Itoa(w.Before()/25+1))
	}
	return query, true
}

// logQuery asks for the log as PocketBase's own dashboard does, newest first.
func logQuery(w plan.Work) (url.Values, bool) {
	query := url.Values{"perPage": {"25"}, "sort": {"-@rowid"}, "skipTotal": {"1"}}
	switch w.Filter {
	case "":
	case plan.Counted:
		query.Del("skipTotal")
	case "level":
		query.Set("filter", "(level=8)")
	default:
		return nil, false
	}
	return query, true
}

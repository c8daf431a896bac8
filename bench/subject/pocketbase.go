package subject

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/report"
)

// PocketBase is PocketBase with the durability that it ships with: a power failure may undo
// commits.
func PocketBase(ctx context.Context, setup Setup) (*Subject, error) {
	s := &Subject{Subject: report.Subject{Name: "pocketbase", Title: "PocketBase"}}
	return s, s.addPocketBase(ctx, setup, "NORMAL", [2]int{0, 0}, [2]int{setup.Sizes.Main, setup.Sizes.Largest()})
}

// PocketBaseFull has commits on disk before the answer. Only its writes are measured, because
// reads are the same.
func PocketBaseFull(ctx context.Context, setup Setup) (*Subject, error) {
	s := &Subject{Subject: report.Subject{Name: "pocketbase-full", Title: "PocketBase, synchronous=FULL"}}
	s.Import = func(ctx context.Context, lines int) (rate, bare float64, err error) {
		other := &Subject{Subject: s.Subject}
		setup := setup
		setup.Dir = filepath.Join(setup.Dir, "import-"+rand.Text())
		if err := other.addPocketBase(ctx, setup, "FULL", [2]int{0, 0}); err != nil {
			return 0, 0, err
		}
		server, err := other.Stores[0].Fill(ctx)
		if err == nil {
			err = server.SignIn(ctx)
		}
		if err != nil {
			return 0, 0, err
		}
		took, err := server.client.(*pocketBase).batches(ctx, lines)
		return float64(lines) / took.Seconds(), 0, errors.Join(err, server.Stop())
	}
	return s, s.addPocketBase(ctx, setup, "FULL", [2]int{setup.Sizes.Main, 0})
}

// batches creates records by the batch API, some batches at once, and returns how long that took.
func (p *pocketBase) batches(ctx context.Context, records int) (time.Duration, error) {
	const senders, most = 4, 500
	bodies := make(chan string, senders)
	failed := make(chan error, senders)
	began := time.Now()
	for range senders {
		go func() {
			var err error
			for body := range bodies {
				if err == nil {
					header := map[string]string{"Authorization": p.Token, "Content-Type": "application/json"}
					err = call(ctx, http.DefaultClient, http.MethodPost, p.base+"/api/batch", header, body, nil)
				}
			}
			failed <- err
		}()
	}
	for at := 0; at < records; at += most {
		var requests []string
		for i := at; i < min(at+most, records); i++ {
			requests = append(requests, fmt.Sprintf(`{"method":"POST","url":"/api/collections/directory/records","body":{"workspace":%q,"type":"person","label":"Ada Lovelace %d",`+
				`"status":"active","fields":{"first-name":"Ada","last-name":"Lovelace %d","email":"ada%d@example.com"}}}`, p.Workspace, i, i, i))
		}
		bodies <- `{"requests":[` + strings.Join(requests, ",") + `]}`
	}
	close(bodies)
	var err error
	for range senders {
		err = errors.Join(err, <-failed)
	}
	return time.Since(began), err
}

// addPocketBase builds PocketBase and adds stores with so many entries and log rows each.
func (s *Subject) addPocketBase(ctx context.Context, setup Setup, synchronous string, sizes ...[2]int) (err error) {
	s.Binary, s.Version, err = setup.peer(ctx, "pocketbase", "", "github.com/pocketbase/pocketbase")
	for _, size := range sizes {
		entries, logs := size[0], size[1]
		dir := filepath.Join(setup.Dir, fmt.Sprintf("%s-%d", s.Name, entries))
		s.Stores = append(s.Stores, Store{Rows: entries + logs/8, Fill: func(ctx context.Context) (*Server, error) {
			out, err := output(ctx, s.Binary, "fill", "--dir", dir, "--entries", strconv.Itoa(entries), "--logs", strconv.Itoa(logs))
			if err != nil {
				return nil, err
			}
			p := &pocketBase{writesOnly: synchronous == "FULL"}
			if err := decode(out, p, "pocketbase fill"); err != nil {
				return nil, err
			}
			address, err := freeAddress()
			if err != nil {
				return nil, err
			}
			p.base = "http://" + address
			data, err := os.Stat(filepath.Join(dir, "data.db"))
			if err != nil {
				return nil, fmt.Errorf("measure the store: %w", err)
			}
			return &Server{Size: entries, Logs: logs, Bytes: data.Size(), client: p, probe: p.probe(),
				path: s.Binary, args: []string{"serve", "--dir", dir, "--http", address, "--synchronous", synchronous}}, nil
		}})
	}
	return err
}

type pocketBase struct {
	Token          string   `json:"token"`
	UserID         string   `json:"user_id"`
	SuperuserToken string   `json:"superuser_token"`
	Workspace      string   `json:"workspace"`
	EntryIDs       []string `json:"entry_ids"`

	base       string
	writesOnly bool
}

func (p *pocketBase) probe() Probe {
	return Probe{URL: p.base + "/api/collections/users/records/" + p.UserID, Header: map[string]string{"Authorization": p.Token}}
}

func (p *pocketBase) signIn(context.Context) (Probe, error) { return p.probe(), nil }

func (p *pocketBase) request(method, path, body string) load.Request {
	header := map[string]string{"Authorization": p.Token}
	if body != "" {
		header["Content-Type"] = "application/json"
	}
	return load.Request{Method: method, Path: path, Header: header, Body: body, IDs: p.EntryIDs}
}

func (p *pocketBase) requests(_ context.Context, w plan.Workload) (base string, requests []load.Request, ok bool, err error) {
	const records = "/api/collections/directory/records"
	if p.writesOnly && w.Kind != plan.Create && w.Kind != plan.Update {
		return "", nil, false, nil
	}
	var r load.Request
	switch w.Kind {
	case plan.WhoAmI:
		r = p.request(http.MethodGet, "/api/collections/users/records/"+p.UserID, "")
	case plan.List, plan.Deep:
		query, ok := p.query(w)
		if !ok {
			return "", nil, false, nil
		}
		r = p.request(http.MethodGet, records+"?"+query.Encode(), "")
	case plan.Read:
		r = p.request(http.MethodGet, records+"/{id}", "")
	case plan.Update:
		r = p.request(http.MethodPatch, records+"/{id}", `{"fields":{"email":"ada{n}@example.com"}}`)
	case plan.Create:
		r = p.request(http.MethodPost, records, `{"workspace":"`+p.Workspace+
			`","type":"person","label":"Ada Lovelace {n}","status":"active","fields":{"first-name":"Ada","last-name":"Lovelace {n}","email":"ada{n}@example.com"}}`)
	case plan.Token:
		r = p.request(http.MethodPost, "/api/collections/users/auth-refresh", "")
	case plan.Audit:
		query, ok := logQuery(w)
		if !ok {
			return "", nil, false, nil
		}
		r = p.request(http.MethodGet, "/api/logs?"+query.Encode(), "")
		r.Header = map[string]string{"Authorization": p.SuperuserToken}
	default:
		return "", nil, false, nil
	}
	return p.base, []load.Request{r}, true, nil
}

func (p *pocketBase) query(w plan.Workload) (url.Values, bool) {
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

// logQuery reads the newest log rows, as PocketBase's own dashboard does.
func logQuery(w plan.Workload) (url.Values, bool) {
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

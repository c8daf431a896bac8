package subject

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/proc"
)

func (b *bursar) signIn(ctx context.Context) (proc.Probe, error) {
	var made struct {
		Data struct {
			Token string `json:"token"`
		} `json:"data"`
	}
	if err := call(ctx, http.MethodPost, b.base+"/v1/auth/token", map[string]string{"Authorization": "Bearer " + b.key}, &made); err != nil {
		return proc.Probe{}, err
	}
	b.token = made.Data.Token
	return proc.Probe{URL: b.base + "/v1/auth/me", Header: b.header()}, nil
}

func (b *bursar) header() map[string]string {
	return map[string]string{"Authorization": "Bearer " + b.token}
}

func (b *bursar) get(path string, query url.Values) load.Call {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return load.Call{Method: http.MethodGet, Path: path, Header: b.header()}
}

func (b *bursar) change(method, path, body string) load.Call {
	header := b.header()
	header["Content-Type"] = "application/json"
	header["Idempotency-Key"] = "bench-{n}"
	return load.Call{Method: method, Path: path, Header: header, Body: body}
}

func (b *bursar) ask(ctx context.Context, w plan.Work) (Task, bool, error) {
	t := Task{Base: b.base}
	switch w.Kind {
	case plan.WhoAmI:
		t.Calls = []load.Call{b.get("/v1/auth/me", nil)}
	case plan.List:
		query, ok := b.query(w.Filter, 25)
		t.Calls = []load.Call{b.get("/v1/directory", query)}
		return t, ok, nil
	case plan.Deep:
		query, ok := b.query(w.Filter, 25)
		cursor, err := b.cursor(ctx, w)
		query.Set("cursor", cursor)
		t.Calls = []load.Call{b.get("/v1/directory", query)}
		return t, ok, err
	case plan.Audit:
		path, query, ok := b.auditQuery(w.Filter)
		t.Calls = []load.Call{b.get(path, query)}
		return t, ok, nil
	case plan.Read:
		t.Calls = []load.Call{b.read()}
	case plan.Update:
		update := b.change(http.MethodPatch, "/v1/directory/{id}", `{"fields":{"email":"ada{n}@example.com"}}`)
		update.IDs = b.ids()
		t.Calls = []load.Call{update}
	case plan.Create:
		t.Calls = []load.Call{b.create()}
	case plan.Token:
		t.Calls = []load.Call{{Method: http.MethodPost, Path: "/v1/auth/token", Header: map[string]string{"Authorization": "Bearer " + b.key}}}
	case plan.Mixed:
		query, _ := b.query("", 25)
		t.Calls = mix(b.get("/v1/directory", query), b.read(), b.get("/v1/auth/me", nil), b.create())
	default:
		return Task{}, false, nil
	}
	return t, true, nil
}

// mix is the mixed load: nine reads, mostly lists, for each create.
func mix(list, read, whoAmI, create load.Call) []load.Call {
	list.Weight, read.Weight, whoAmI.Weight, create.Weight = 60, 15, 15, 10
	return []load.Call{list, read, whoAmI, create}
}

func (b *bursar) create() load.Call {
	return b.change(http.MethodPost, "/v1/directory", `{"workspace_id":"`+b.plan.WorkspaceID+
		`","type":"person","fields":{"first-name":"Ada","last-name":"Lovelace {n}","email":"ada{n}@example.com"}}`)
}

func (b *bursar) read() load.Call {
	read := b.get("/v1/directory/{id}", nil)
	read.IDs = b.ids()
	return read
}

// ids are those of entries spread over the whole store.
func (b *bursar) ids() []string {
	n := min(sharedIDs, b.plan.Entries)
	out := make([]string, n)
	for i := range out {
		out[i] = b.plan.EntryID(i * b.plan.Entries / n)
	}
	return out
}

func (b *bursar) query(filter string, limit int) (url.Values, bool) {
	query := url.Values{"workspace_id": {b.plan.WorkspaceID}, "limit": {strconv.Itoa(limit)}}
	switch filter {
	case "", plan.Plain:
	case "type":
		query.Set("type", "person")
	case "status":
		query.Set("status", "active")
	case "tag":
		query.Set("tag", b.plan.TagID())
	default:
		return query, false
	}
	return query, true
}

func (b *bursar) auditQuery(filter string) (path string, query url.Values, ok bool) {
	query, _ = b.query("", 25)
	deed := b.plan.Deed(0)
	switch filter {
	case plan.Directory:
		return "/v1/directory", query, true
	case "":
	case "actor":
		query.Set("actor", deed.ActorID)
	case "action":
		query.Set("action", deed.Action)
	case "resource_type":
		query.Set("resource_type", deed.ResourceType)
	case "resource_id":
		query.Set("resource_id", deed.ResourceID)
	case "outcome":
		query.Set("outcome", deed.Outcome)
	case "span": // rows are a millisecond apart
		query.Set("from", strconv.FormatInt(b.plan.Now-int64(b.plan.Entries/2), 10))
		query.Set("to", strconv.FormatInt(b.plan.Now-int64(b.plan.Entries/4), 10))
	default:
		return "", nil, false
	}
	return "/v1/audit", query, true
}

// cursor walks to a deep page, as a client would.
func (b *bursar) cursor(ctx context.Context, w plan.Work) (string, error) {
	if cursor, ok := b.deep[w.Filter]; ok {
		return cursor, nil
	}
	const perPage = 100
	query, _ := b.query(w.Filter, perPage)
	for passed := 0; passed < w.Before(); passed += perPage {
		query.Set("limit", strconv.Itoa(min(perPage, w.Before()-passed)))
		var page struct {
			Cursor  string `json:"cursor"`
			HasMore bool   `json:"has_more"`
		}
		if err := call(ctx, http.MethodGet, b.base+"/v1/directory?"+query.Encode(), b.header(), &page); err != nil {
			return "", fmt.Errorf("walk to a deep page: %w", err)
		}
		if !page.HasMore {
			return "", fmt.Errorf("walk to a deep page: the list ends after %d rows", passed)
		}
		query.Set("cursor", page.Cursor)
	}
	b.deep[w.Filter] = query.Get("cursor")
	return b.deep[w.Filter], nil
}

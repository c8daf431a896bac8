package subject

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"bursar/bench/load"
	"bursar/bench/plan"
)

func (b *bursar) signIn(ctx context.Context) (Probe, error) {
	var made struct {
		Data struct {
			Token string `json:"token"`
		} `json:"data"`
	}
	if err := call(ctx, http.DefaultClient, http.MethodPost, b.base+"/v1/auth/token", map[string]string{"Authorization": "Bearer " + b.key}, "", &made); err != nil {
		return Probe{}, err
	}
	b.token = made.Data.Token
	return Probe{URL: b.base + "/v1/auth/me", Header: b.header()}, nil
}

func (b *bursar) header() map[string]string {
	return map[string]string{"Authorization": "Bearer " + b.token}
}

func (b *bursar) get(path string, query url.Values) load.Request {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return load.Request{Method: http.MethodGet, Path: path, Header: b.header()}
}

func (b *bursar) change(method, path, body string) load.Request {
	header := b.header()
	header["Content-Type"] = "application/json"
	header["Idempotency-Key"] = "bench-{n}"
	return load.Request{Method: method, Path: path, Header: header, Body: body}
}

func (b *bursar) requests(ctx context.Context, w plan.Workload) (base string, requests []load.Request, ok bool, err error) {
	base, requests, ok, err = b.build(ctx, w)
	if err == nil && ok && w.Rows() > 0 {
		err = b.checkPage(ctx, w, requests[0])
	}
	return base, requests, ok, err
}

// checkPage makes sure that a list is full: an empty one would be answered faster.
func (b *bursar) checkPage(ctx context.Context, w plan.Workload, r load.Request) error {
	want := 25
	if w.Filter == "resource_id" {
		want = min(25, w.Store/100) // a hundred resources share all rows
	}
	var page struct{ Data []any }
	err := call(ctx, http.DefaultClient, r.Method, b.base+r.Path, r.Header, "", &page)
	if err == nil && len(page.Data) < want {
		err = fmt.Errorf("%s has %d rows instead of %d", r.Path, len(page.Data), want)
	}
	return err
}

func (b *bursar) build(ctx context.Context, w plan.Workload) (base string, requests []load.Request, ok bool, err error) {
	one := func(r load.Request) (string, []load.Request, bool, error) {
		return b.base, []load.Request{r}, true, nil
	}
	if b.variant != "" && (w.Kind != plan.Create || w.Callers != plan.Callers) {
		return "", nil, false, nil
	}
	switch w.Kind {
	case plan.WhoAmI:
		return one(b.get("/v1/auth/me", nil))
	case plan.List, plan.Deep:
		query, ok := b.query(w.Filter, 25)
		if ok && w.Kind == plan.Deep {
			cursor, err := b.cursor(ctx, w)
			if err != nil {
				return "", nil, false, err
			}
			query.Set("cursor", cursor)
		}
		return b.base, []load.Request{b.get("/v1/directory", query)}, ok, nil
	case plan.Audit:
		path, query, ok := b.auditQuery(w.Filter)
		return b.base, []load.Request{b.get(path, query)}, ok, nil
	case plan.Read:
		return one(b.read())
	case plan.Update:
		update := b.change(http.MethodPatch, "/v1/directory/{id}", `{"fields":{"email":"ada{n}@example.com"}}`)
		update.IDs = b.ids()
		return one(update)
	case plan.Create:
		return one(b.newEntry())
	case plan.Token:
		return one(load.Request{Method: http.MethodPost, Path: "/v1/auth/token", Header: map[string]string{"Authorization": "Bearer " + b.key}})
	case plan.Mixed:
		query, _ := b.query("", 25)
		return b.base, mix(b.get("/v1/directory", query), b.read(), b.get("/v1/auth/me", nil), b.newEntry()), true, nil
	}
	return "", nil, false, nil
}

// mix is the mixed load: nine reads for each create, most of them lists.
func mix(list, read, whoAmI, create load.Request) []load.Request {
	list.Weight, read.Weight, whoAmI.Weight, create.Weight = 12, 3, 3, 2
	return []load.Request{list, read, whoAmI, create}
}

func (b *bursar) newEntry() load.Request {
	return b.change(http.MethodPost, "/v1/directory", `{"workspace_id":"`+b.plan.WorkspaceID+
		`","type":"person","fields":{"first-name":"Ada","last-name":"Lovelace {n}","email":"ada{n}@example.com"}}`)
}

func (b *bursar) read() load.Request {
	read := b.get("/v1/directory/{id}", nil)
	read.IDs = b.ids()
	return read
}

// sharedIDs is the number of entries that single reads and updates use in turn.
const sharedIDs = 500

// ids returns ids of entries that are spread over the whole store.
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
		query.Set("tag", b.plan.TagID)
	default:
		return query, false
	}
	return query, true
}

func (b *bursar) auditQuery(filter string) (path string, query url.Values, ok bool) {
	query, _ = b.query("", 25)
	row := b.plan.Audited(0)
	switch filter {
	case plan.Directory:
		return "/v1/directory", query, true
	case "":
	case "actor":
		query.Set("actor", row.ActorID)
	case "action":
		query.Set("action", row.Action)
	case "resource_type":
		query.Set("resource_type", row.ResourceType)
	case "resource_id":
		query.Set("resource_id", row.ResourceID)
	case "outcome":
		query.Set("outcome", row.Outcome)
	case "span": // rows are a millisecond apart
		query.Set("from", strconv.FormatInt(b.plan.Now-int64(b.plan.Entries/2), 10))
		query.Set("to", strconv.FormatInt(b.plan.Now-int64(b.plan.Entries/4), 10))
	default:
		return "", nil, false
	}
	return "/v1/audit", query, true
}

// cursor follows the pages to a deep one, as a client would.
func (b *bursar) cursor(ctx context.Context, w plan.Workload) (string, error) {
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
		if err := call(ctx, http.DefaultClient, http.MethodGet, b.base+"/v1/directory?"+query.Encode(), b.header(), "", &page); err != nil {
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

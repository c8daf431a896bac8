package console

import (
	"net/url"
	"slices"
	"strings"
)

const (
	// pageSize is how many rows a page of the directory has.
	pageSize = "25"

	// maxSteps bounds how far one can go back page by page. Beyond, the way back
	// is to the first page.
	maxSteps = 50
)

// steps lead from a page of a list to others; "" where there is none.
type steps struct{ First, Previous, Next string }

// filters are the named parts of the address that are not empty.
func (v *visit) filters(names ...string) url.Values {
	given := v.R.URL.Query()
	query := url.Values{}
	for _, name := range names {
		if value := strings.TrimSpace(given.Get(name)); value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// listQuery asks a service for the page of a list that the address names.
func (v *visit) listQuery(filters url.Values) url.Values {
	query := url.Values{"workspace_id": {v.workspace.ID}, "limit": {pageSize}}
	for name, values := range filters {
		query[name] = values
	}
	if cursor := v.R.URL.Query().Get("cursor"); cursor != "" {
		query.Set("cursor", cursor)
	}
	return query
}

// steps make the addresses of the pages around this one. A list only knows the
// way on, so the address remembers the cursors that led here.
func (v *visit) steps(path string, filters url.Values, next string) steps {
	given := v.R.URL.Query()
	here, been := given.Get("cursor"), given["before"]
	at := func(cursor string, before []string) string {
		query := url.Values{}
		for name, values := range filters {
			query[name] = values
		}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		if len(before) > 0 {
			query["before"] = before[max(0, len(before)-maxSteps):]
		}
		return withQuery(path, query)
	}
	var s steps
	if here != "" {
		s.First = at("", nil)
	}
	if n := len(been); here != "" && n > 0 {
		s.Previous = at(been[n-1], been[:n-1])
	}
	if next != "" {
		trail := slices.Clone(been)
		if here != "" {
			trail = append(trail, here)
		}
		s.Next = at(next, trail)
	}
	return s
}

func withQuery(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

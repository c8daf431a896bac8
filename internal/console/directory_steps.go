package console

import (
	"net/url"
	"slices"
	"strings"
)

const (
	// pageSize is the number of rows on a page.
	pageSize = "25"

	// maxSteps limits how many earlier pages the URL remembers. Beyond that, only the
	// first page can be reached.
	maxSteps = 50
)

// steps are the links to other pages of a list; "" if there is no such page.
type steps struct{ First, Previous, Next string }

// filters returns the named query parameters that are not empty.
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

// listQuery is the service query for the page of a list that the URL names.
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

// steps builds the links to the neighbouring pages. A list only has a cursor for
// its next page, so the URL carries the cursors of the pages before this one.
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

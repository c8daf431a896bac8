package console

import (
	"net/url"
	"slices"
	"strings"

	"bursar/internal/web"
)

const (
	// pageSize is the number of rows on a page.
	pageSize = "25"

	// maxTrail is the maximum number of earlier pages in the URL. Beyond that, only the first page can be reached.
	maxTrail = 50
)

// pageLinks are the links to other pages of a list, or "" if there is no such page.
type pageLinks struct{ First, Previous, Next string }

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

// pageParams returns the page of a list that the URL selects.
func (v *visit) pageParams() web.PageParams {
	return web.PageParams{Limit: new(pageSize), Cursor: optional(v.R.URL.Query().Get("cursor"))}
}

// pageLinks returns the links to the neighboring pages. A list only has a cursor for its next page, so the URL contains the cursors of
// earlier pages.
func (v *visit) pageLinks(path string, filters url.Values, next string) pageLinks {
	given := v.R.URL.Query()
	current, earlier := given.Get("cursor"), given["before"]
	at := func(cursor string, before []string) string {
		query := url.Values{}
		for name, values := range filters {
			query[name] = values
		}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		if len(before) > 0 {
			query["before"] = before[max(0, len(before)-maxTrail):]
		}
		return withQuery(path, query)
	}
	var s pageLinks
	if current != "" {
		s.First = at("", nil)
	}
	if n := len(earlier); current != "" && n > 0 {
		s.Previous = at(earlier[n-1], earlier[:n-1])
	}
	if next != "" {
		trail := slices.Clone(earlier)
		if current != "" {
			trail = append(trail, current)
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

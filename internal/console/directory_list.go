package console

import (
	"net/url"
	"slices"
)

// longestList is the maximum length of a list's address in the links to its entries.
const longestList = 2000

// hereQuery returns the query of the shown list: its filters, its order and its page.
func (v *visit) hereQuery(filters url.Values) string {
	given := v.R.URL.Query()
	query := url.Values{}
	for name, values := range filters {
		query[name] = values
	}
	for _, name := range []string{"cursor", "before"} {
		if values := given[name]; len(values) > 0 {
			query[name] = values
		}
	}
	if text := query.Encode(); len(text) <= longestList {
		return text
	}
	query.Del("before") // keep the page, without the trail of earlier pages
	return query.Encode()
}

// listQuery returns the query of the list that the visitor came from, or selected entries on. It omits anything that is not part of a list.
func (v *visit) listQuery() string {
	text := v.R.URL.Query().Get("list")
	if text == "" {
		text = v.form.Get("list")
	}
	given, err := url.ParseQuery(text)
	if err != nil || len(text) > longestList {
		return ""
	}
	for name := range given {
		if !slices.Contains(append(filterNames(), "cursor", "before"), name) {
			given.Del(name)
		}
	}
	return given.Encode()
}

// listPath returns the address of that list.
func (v *visit) listPath() string {
	if query := v.listQuery(); query != "" {
		return v.path("directory") + "?" + query
	}
	return v.path("directory")
}

// entryPath returns the address of an entry's page, or of one below it, with a way back to that list.
func (v *visit) entryPath(parts ...string) string {
	path := v.path(append([]string{"directory"}, parts...)...)
	if query := v.listQuery(); query != "" {
		return path + "?list=" + url.QueryEscape(query)
	}
	return path
}

package console

import (
	"net/url"
	"slices"
)

// longestList is how much of a list's address the links to its entries carry.
const longestList = 2000

// hereQuery is the address of the list that is shown: its filters, its order and its page.
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
	query.Del("before") // the page stays, without the way to the ones before it
	return query.Encode()
}

// listQuery is the list that somebody has come from to an entry, or selected entries of: what is
// not part of a list is left out.
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

// listPath is the address of that list.
func (v *visit) listPath() string {
	if query := v.listQuery(); query != "" {
		return v.path("directory") + "?" + query
	}
	return v.path("directory")
}

// entryPath is the address of an entry's page, or of one below it, that leads back to that list.
func (v *visit) entryPath(parts ...string) string {
	path := v.path(append([]string{"directory"}, parts...)...)
	if query := v.listQuery(); query != "" {
		return path + "?list=" + url.QueryEscape(query)
	}
	return path
}

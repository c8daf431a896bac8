package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"bursar/internal/web"
)

// router finds the route of a path, segment by segment, a literal before a parameter. The
// standard library's ServeMux rejects /directory/tags/{id} together with
// /directory/{id}/restore as ambiguous. It also answers unclean paths and wrong methods
// with its own pages.
type router struct {
	literals map[string]*router
	param    *router
	name     string // of the parameter that leads to this node

	path    string
	allow   string
	methods map[string]method
}

type method struct {
	route    string
	endpoint web.Endpoint
}

func newRouter(routes []web.Route) *router {
	root := &router{}
	for _, r := range routes {
		root.add(r)
	}
	return root
}

func (n *router) add(r web.Route) {
	for segment := range strings.SplitSeq(r.Path[1:], "/") {
		n = n.child(segment)
	}
	n.path = r.Path
	if n.methods == nil {
		n.methods = map[string]method{}
	}
	n.methods[r.Method] = method{r.Method + " " + r.Path, r.Endpoint}
	if r.Method == http.MethodGet {
		n.methods[http.MethodHead] = n.methods[http.MethodGet]
	}
	var allowed []string
	for m := range n.methods {
		allowed = append(allowed, m)
	}
	slices.Sort(allowed)
	n.allow = strings.Join(allowed, ", ")
}

func (n *router) child(segment string) *router {
	if name, ok := strings.CutPrefix(segment, "{"); ok {
		if n.param == nil {
			n.param = &router{name: strings.TrimSuffix(name, "}")}
		}
		// Two routes may use different names for the same segment.
		if n.param.name != strings.TrimSuffix(name, "}") {
			n.param.name += "|" + strings.TrimSuffix(name, "}")
		}
		return n.param
	}
	if n.literals == nil {
		n.literals = map[string]*router{}
	}
	if n.literals[segment] == nil {
		n.literals[segment] = &router{}
	}
	return n.literals[segment]
}

// find returns the node of a path, or nil, and sets its parameters in the request.
func (n *router) find(r *http.Request) *router {
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/")
	for more := true; ok && more; {
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		if next := n.literals[segment]; next != nil {
			n = next
			continue
		}
		value, err := url.PathUnescape(segment)
		if n.param == nil || value == "" || err != nil {
			return nil
		}
		n = n.param
		for name := range strings.SplitSeq(n.name, "|") {
			r.SetPathValue(name, value)
		}
	}
	if !ok || n.methods == nil {
		return nil
	}
	return n
}

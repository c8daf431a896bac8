package contract

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

type operation struct {
	method, path string
	segments     []string
	answers      map[int]*answer
}

func (s *source) operations() ([]operation, error) {
	var all []operation
	for path, item := range object(s.root["paths"]) {
		base := base(object(item))
		if base == "" {
			base = s.base()
		}
		for method, details := range object(item) {
			method = strings.ToUpper(method)
			if !slices.Contains([]string{"GET", "PUT", "POST", "DELETE", "PATCH"}, method) {
				continue
			}
			known := operation{method: method, path: base + path, answers: map[int]*answer{}}
			known.segments = strings.Split(known.path, "/")
			pointer := "/paths/" + escape(path) + "/" + strings.ToLower(method) + "/responses/"
			for code := range object(object(details)["responses"]) {
				status, err := strconv.Atoi(code)
				if err != nil {
					return nil, fmt.Errorf("%s %s: the status %q is not a number", method, path, code)
				}
				if known.answers[status], err = s.answer(pointer + code); err != nil {
					return nil, fmt.Errorf("%s %s: status %d: %w", method, path, status, err)
				}
			}
			all = append(all, known)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("the OpenAPI document has no operations")
	}
	slices.SortFunc(all, func(a, b operation) int {
		return cmp.Or(slices.CompareFunc(a.segments, b.segments, literalFirst), cmp.Compare(a.method, b.method))
	})
	return all, nil
}

// base returns the path before all paths that name none of their own.
func (s *source) base() string { return base(s.root) }

func base(of map[string]any) string {
	servers, _ := of["servers"].([]any)
	if len(servers) == 0 {
		return ""
	}
	url, _ := object(servers[0])["url"].(string)
	return strings.TrimSuffix(url, "/")
}

func (o *operation) matches(segments []string) bool {
	return slices.EqualFunc(o.segments, segments, func(known, given string) bool {
		if isParameter(known) {
			return given != ""
		}
		return known == given
	})
}

func literalFirst(a, b string) int {
	if isParameter(a) != isParameter(b) {
		if isParameter(b) {
			return -1
		}
		return 1
	}
	return cmp.Compare(a, b)
}

func isParameter(segment string) bool {
	return strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}")
}

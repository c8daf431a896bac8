package load

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

const (
	numberMark = "{n}"
	idMark     = "{id}"
)

// request is a call as it goes over the wire, cut at its marks.
type request struct {
	label  string // for errors: GET /path
	head   []string
	body   []string
	ids    []string
	turn   atomic.Int64 // of ids
	static []byte       // the whole request, where it has no marks
	noBody bool         // the answer has none, whatever its headers say
	length bool         // a Content-Length is sent
}

func newRequest(c Call, host, prefix string) (*request, error) {
	r := &request{label: c.Method + " " + c.Path, ids: c.IDs, noBody: c.Method == http.MethodHead}
	if err := checkCall(c); err != nil {
		return nil, fmt.Errorf("%s: %w", r.label, err)
	}
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s%s HTTP/1.1\r\n", c.Method, prefix, c.Path)
	hosted := false
	names := make([]string, 0, len(c.Header))
	for name := range c.Header {
		names = append(names, name)
		hosted = hosted || strings.EqualFold(name, "Host")
	}
	slices.Sort(names)
	if !hosted {
		fmt.Fprintf(&head, "Host: %s\r\n", host)
	}
	for _, name := range names {
		fmt.Fprintf(&head, "%s: %s\r\n", name, c.Header[name])
	}
	r.length = c.Body != "" || c.Method == http.MethodPost || c.Method == http.MethodPut || c.Method == http.MethodPatch
	r.head, r.body = cut(head.String()), cut(c.Body)
	if slices.Contains(append(slices.Clone(r.head), r.body...), idMark) && len(c.IDs) == 0 {
		return nil, fmt.Errorf("%s: has {id} but no IDs", r.label)
	}
	if len(r.head) == 1 && len(r.body) <= 1 {
		r.static = r.render(nil, 0, "")
	}
	return r, nil
}

func checkCall(c Call) error {
	switch {
	case c.Method == "" || strings.ContainsAny(c.Method, " \r\n"):
		return fmt.Errorf("method %q", c.Method)
	case !strings.HasPrefix(c.Path, "/") || strings.ContainsAny(c.Path, " \r\n"):
		return fmt.Errorf("path %q is none", c.Path)
	case c.Weight < 0:
		return fmt.Errorf("weight %d", c.Weight)
	}
	for name, value := range c.Header {
		if strings.EqualFold(name, "Content-Length") || strings.EqualFold(name, "Transfer-Encoding") {
			return fmt.Errorf("header %s is set by the generator", name)
		}
		if name == "" || strings.ContainsAny(name, ": \r\n") || strings.ContainsAny(value, "\r\n") {
			return fmt.Errorf("header %q: %q", name, value)
		}
	}
	return nil
}

// cut splits s before and after each mark; the marks stay in the list.
func cut(s string) []string {
	var pieces []string
	for s != "" {
		at, mark := len(s), ""
		for _, m := range []string{numberMark, idMark} {
			if i := strings.Index(s, m); i >= 0 && i < at {
				at, mark = i, m
			}
		}
		if at > 0 {
			pieces = append(pieces, s[:at])
		}
		if mark != "" {
			pieces = append(pieces, mark)
		}
		s = s[at+len(mark):]
	}
	return pieces
}

// next appends the call's next request to buf, or gives the one it always sends.
func (r *request) next(buf []byte, numbers *counter) []byte {
	if r.static != nil {
		return r.static
	}
	id := ""
	if len(r.ids) > 0 {
		id = r.ids[(r.turn.Add(1)-1)%int64(len(r.ids))]
	}
	return r.render(buf, numbers.number(), id)
}

func (r *request) render(buf []byte, n int64, id string) []byte {
	var digits [20]byte
	number := strconv.AppendInt(digits[:0], n, 10)
	buf = fill(buf, r.head, number, id)
	if r.length {
		buf = append(buf, "Content-Length: "...)
		buf = strconv.AppendInt(buf, int64(filled(r.body, len(number), len(id))), 10)
		buf = append(buf, "\r\n"...)
	}
	buf = append(buf, "\r\n"...)
	return fill(buf, r.body, number, id)
}

func fill(buf []byte, pieces []string, number []byte, id string) []byte {
	for _, p := range pieces {
		switch p {
		case numberMark:
			buf = append(buf, number...)
		case idMark:
			buf = append(buf, id...)
		default:
			buf = append(buf, p...)
		}
	}
	return buf
}

func filled(pieces []string, number, id int) (size int) {
	for _, p := range pieces {
		switch p {
		case numberMark:
			size += number
		case idMark:
			size += id
		default:
			size += len(p)
		}
	}
	return size
}

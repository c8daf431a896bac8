package load

import (
	"fmt"
	"strings"
)

// scriptBlock is how many numbers a thread of wrk may use up in one run. Lua's
// numbers are whole up to 2^53, so there are some millions of such blocks.
const scriptBlock = 1_000_000_000

// script writes a plan for wrk, in Lua. Requests are spelled out here, in the
// bytes that the other generators send: wrk.format would build each from tables.
func script(p *plan, threads int, first int64, report string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "local threads, first, block, report = %d, %d, %d, %s\n", threads, first, scriptBlock, quote(report))
	s.WriteString("local calls, ids, order = {}, {}, {")
	for _, call := range p.order {
		fmt.Fprintf(&s, "%d,", call+1)
	}
	s.WriteString("}\n")
	for i, r := range p.requests {
		if r.static != nil {
			fmt.Fprintf(&s, "calls[%d] = %s\n", i+1, quote(string(r.static)))
			continue
		}
		fmt.Fprintf(&s, "ids[%d] = {", i+1)
		for _, id := range r.ids {
			s.WriteString(quote(id) + ",")
		}
		fmt.Fprintf(&s, "}\ncalls[%d] = function(n, id) return %s end\n", i+1, expression(r))
	}
	if len(p.requests) == 1 && p.requests[0].static != nil {
		s.WriteString(scriptSame)
	} else {
		s.WriteString(scriptVaried)
	}
	s.WriteString(scriptDone)
	return s.String()
}

// expression is r in Lua, where n and id are strings.
func expression(r *request) string {
	terms := spell(nil, r.head)
	if r.length {
		fixed, numbers, ids := filled(r.body, 0, 0), filled(r.body, 1, 0), filled(r.body, 0, 1)
		terms = append(terms, quote("Content-Length: "),
			fmt.Sprintf("(%d + %d * #n + %d * #id)", fixed, numbers-fixed, ids-fixed), quote("\r\n"))
	}
	terms = append(terms, quote("\r\n"))
	return strings.Join(spell(terms, r.body), " .. ")
}

func spell(terms, pieces []string) []string {
	for _, p := range pieces {
		switch p {
		case numberMark:
			terms = append(terms, "n")
		case idMark:
			terms = append(terms, "id")
		default:
			terms = append(terms, quote(p))
		}
	}
	return terms
}

// quote is a Lua string of exactly the bytes of text.
func quote(text string) string {
	var s strings.Builder
	s.WriteByte('"')
	for _, b := range []byte(text) {
		if b < ' ' || b > '~' || b == '"' || b == '\\' {
			fmt.Fprintf(&s, `\%03d`, b)
		} else {
			s.WriteByte(b)
		}
	}
	s.WriteByte('"')
	return s.String()
}

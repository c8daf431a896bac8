package web

import (
	"context"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"

	"bursar/internal/db"
	"bursar/internal/fault"
)

const (
	defaultLimit = 25
	maxLimit     = 100
	limitRule    = "must be an integer from 1 to 100"
	// everything is a LIMIT that exceeds any list.
	everything = 1 << 30
)

// PageParams are the parameters of a request for one page of a list.
type PageParams struct {
	Limit  *string `query:"limit"`
	Cursor *string `query:"cursor"`

	size int
}

const cursorRule = "must be a cursor from a previous answer to the same list and filters"

// Validate checks the limit and the form of the cursor. Cursors.Paged checks that the
// cursor belongs to the list.
func (p *PageParams) Validate(v *fault.Violations) {
	if p.Cursor != nil {
		if _, ok := decodeCursor(*p.Cursor); !ok {
			v.Add("cursor", cursorRule)
		}
	}
	if p.Limit == nil {
		return
	}
	n, err := strconv.Atoi(*p.Limit)
	if err != nil || n < 1 || n > maxLimit || strconv.Itoa(n) != *p.Limit {
		v.Add("limit", limitRule)
		return
	}
	p.size = n
}

// Window is the requested page of a list.
type Window struct {
	After string // the position that the page begins after
	Limit int    // how many rows to read: one more than the page shows, to detect another page

	paged   bool
	scope   string
	cursors *Cursors
}

// Order is the start position of a list, before all others.
type Order string

const (
	// Ascending is less than every position.
	Ascending Order = ""
	// Descending is greater than every position.
	Descending Order = "~"
)

// Paged returns the window of a list that is always paged.
func (c *Cursors) Paged(p PageParams, order Order, scope ...string) (Window, error) {
	w := Window{After: string(order), paged: true, scope: scopeText(scope), cursors: c}
	w.Limit = defaultLimit + 1
	if p.size > 0 {
		w.Limit = p.size + 1
	}
	if p.Cursor != nil {
		after, ok := c.open(w.scope, *p.Cursor)
		if !ok {
			return Window{}, fault.Invalid("cursor", cursorRule)
		}
		w.After = after
	}
	return w, nil
}

// Unpaged returns the window of a list that is paged only when the request asks for it.
func (c *Cursors) Unpaged(p PageParams, order Order, scope ...string) (Window, error) {
	if p.Limit == nil && p.Cursor == nil {
		return Window{After: string(order), Limit: everything}, nil
	}
	return c.Paged(p, order, scope...)
}

// Shown returns how many of the rows that were read are part of the page.
func (w Window) Shown(read int) int { return min(read, w.Limit-1) }

// tail appends the end of a page, after its rows.
func (w Window) tail(dst []byte, read int, last string) []byte {
	if !w.paged {
		return append(dst, '}')
	}
	cursor, more := w.next(read, last)
	if !more {
		return append(dst, `,"has_more":false}`...)
	}
	dst = append(dst, `,"cursor":"`...)
	dst = append(dst, cursor...)
	return append(dst, `","has_more":true}`...)
}

func (w Window) next(read int, last string) (cursor string, more bool) {
	if !w.paged || read < w.Limit {
		return "", false
	}
	return w.cursors.make(w.scope, last), true
}

// listOf is a page of a list of T.
type listOf[T any] interface{ of(T) }

func (Page[T]) of(T)      {}
func (*JSONPage[T]) of(T) {}

// encoded is a page of any type whose rows are encoded.
type encoded interface {
	finish() []byte
	release()
}

// Page is one page of a list, as rows.
type Page[T any] struct {
	rows   []T
	window Window
	read   int
	last   string
}

// NewPage returns a page of the rows that were read for a window.
func NewPage[T any](w Window, rows []T, position func(T) string) Page[T] {
	l := Page[T]{rows: rows[:w.Shown(len(rows))], window: w, read: len(rows)}
	if len(l.rows) > 0 {
		l.last = position(l.rows[len(l.rows)-1])
	}
	return l
}

// ReadUnpaged reads a list, oldest first, that is paged only when the request asks for
// it. load gets the position to start after and how many rows to read.
func ReadUnpaged[T any](ctx context.Context, d *db.DB, c *Cursors, p PageParams, position func(T) string,
	load func(q db.Q, after string, take int) ([]T, error), scope ...string) (Page[T], error) {
	window, err := c.Unpaged(p, Ascending, scope...)
	if err != nil {
		return Page[T]{}, err
	}
	var rows []T
	err = d.Read(ctx, func(q db.Q) (err error) {
		rows, err = load(q, window.After, window.Limit)
		return err
	})
	if err != nil {
		return Page[T]{}, err
	}
	return NewPage(window, rows, position), nil
}

// Rows returns the rows of the page.
func (l Page[T]) Rows() []T { return l.rows }

// Next returns the cursor of the next page. more reports whether there is one.
func (l Page[T]) Next() (cursor string, more bool) { return l.window.next(l.read, l.last) }

func (l Page[T]) appendListing(dst []byte) ([]byte, error) {
	data, err := json.Marshal(l.rows)
	if err != nil {
		return nil, fmt.Errorf("encode a list: %w", err)
	}
	dst = append(dst, `{"ok":true,"data":`...)
	dst = append(dst, data...)
	return l.window.tail(dst, l.read, l.last), nil
}

// JSONPage is one page of a list of T whose rows are encoded as JSON directly from the database.
type JSONPage[T any] struct {
	window Window
	pooled *[]byte // the pool's buffer for body
	body   []byte
	read   int
	last   []byte
}

const listingStart = `{"ok":true,"data":[`

// NewJSONPage starts the page of a window.
func NewJSONPage[T any](w Window) *JSONPage[T] {
	pooled := w.cursors.pages.get()
	return &JSONPage[T]{window: w, pooled: pooled, body: append(*pooled, listingStart...)}
}

// Row adds a row: write appends its JSON. Rows after the end of the page are only
// counted.
func (e *JSONPage[T]) Row(position []byte, write func(dst []byte) []byte) {
	e.read++
	if e.read >= e.window.Limit {
		return
	}
	if e.read > 1 {
		e.body = append(e.body, ',')
	}
	e.body = write(e.body)
	e.last = append(e.last[:0], position...)
}

// Clear removes the rows that were added, so that a query can run again.
func (e *JSONPage[T]) Clear() { e.body, e.read = e.body[:len(listingStart)], 0 }

// Rows returns the rows of the page as a JSON array.
func (e *JSONPage[T]) Rows() []byte {
	return append(e.body[len(listingStart)-1:len(e.body):len(e.body)], ']')
}

// Next returns the cursor of the next page. more reports whether there is one.
func (e *JSONPage[T]) Next() (cursor string, more bool) { return e.window.next(e.read, string(e.last)) }

// finish returns the whole answer, which is valid until release.
func (e *JSONPage[T]) finish() []byte {
	e.body = e.window.tail(append(e.body, ']'), e.read, string(e.last))
	return e.body
}

// release returns the memory of the page to the pool.
func (e *JSONPage[T]) release() {
	*e.pooled = e.body
	e.window.cursors.pages.put(e.pooled)
	e.pooled, e.body = nil, nil
}

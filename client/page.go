package client

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Page is one page of a list.
type Page[T any] struct {
	Items []T
	// Cursor is the start of the next page of the same list with the same filters. It is empty on the last page.
	Cursor string
	// HasMore reports whether there is a next page.
	HasMore bool
}

// ListParams select one page of a list that is otherwise returned whole.
type ListParams struct {
	// Limit is the largest number of items on a page, 1 to 100. Without Limit and Cursor
	// the whole list is returned.
	Limit int
	// Cursor is the cursor of the previous page.
	Cursor string
}

// maxLimit is the largest page size, which reads a whole list with the fewest requests.
const maxLimit = 100

func (p ListParams) query() query { return query{}.number("limit", p.Limit).text("cursor", p.Cursor) }

// at returns the parameters for the page at a cursor.
func (p ListParams) at(cursor string) ListParams { return ListParams{pageSize(p.Limit), cursor} }

// pageSize returns the page size that All uses: the largest, unless limit is set.
func pageSize(limit int) int { return cmp.Or(limit, maxLimit) }

// query is the query of a request. It omits empty values.
type query url.Values

func (q query) text(name, value string) query {
	if value != "" {
		url.Values(q).Set(name, value)
	}
	return q
}

func (q query) number(name string, value int) query {
	if value != 0 {
		url.Values(q).Set(name, strconv.Itoa(value))
	}
	return q
}

func (q query) time(name string, value time.Time) query {
	if !value.IsZero() {
		url.Values(q).Set(name, strconv.FormatInt(value.UnixMilli(), 10))
	}
	return q
}

// list reads one page.
func list[T any](ctx context.Context, c *Client, q query, first string, rest ...string) (*Page[T], error) {
	path, err := route(first, rest...)
	if err != nil {
		return nil, err
	}
	op := &call{method: http.MethodGet, path: path, query: url.Values(q)}
	response, _, err := c.send(ctx, op)
	if err != nil {
		return nil, err
	}
	page := &Page[T]{}
	around := envelope{Data: &page.Items}
	if err := decode(op, response, &around); err != nil {
		return nil, err
	}
	page.Cursor, page.HasMore = around.Cursor, around.HasMore
	return page, nil
}

// walk yields the items of all pages. It ends after the first error.
func walk[T any](cursor string, next func(cursor string) (*Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := cursor; ; {
			page, err := next(cursor)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if !page.HasMore {
				return
			}
			if page.Cursor == "" || page.Cursor == cursor {
				var none T
				yield(none, errors.New("bursar: the list has more, but the server does not say where"))
				return
			}
			cursor = page.Cursor
		}
	}
}

package client

import (
	"context"
	"errors"
	"iter"
	"maps"
	"net/url"
	"strconv"
	"time"

	"bursar/api"
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
func list[T any](ctx context.Context, c *Client, operation api.Op[api.None, api.Page[T]], q query, ids ...string) (*Page[T], error) {
	op, err := callOf(operation, ids...)
	if err != nil {
		return nil, err
	}
	op.query = q
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

// all yields the items of all pages from the cursor of a query. It ends after the first error.
func all[T any](ctx context.Context, c *Client, operation api.Op[api.None, api.Page[T]], q query, ids ...string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		q, none := maps.Clone(q), *new(T)
		if url.Values(q).Get("limit") == "" {
			q.number("limit", maxLimit)
		}
		for {
			page, err := list(ctx, c, operation, q, ids...)
			if err != nil {
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
			if page.Cursor == "" || page.Cursor == url.Values(q).Get("cursor") {
				yield(none, errors.New("bursar: the list has more, but the server does not say where"))
				return
			}
			q.text("cursor", page.Cursor)
		}
	}
}

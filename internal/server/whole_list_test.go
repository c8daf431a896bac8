package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bursar/internal/server/servertest"
)

// wholeList is a list that comes whole unless it is asked to page.
type wholeList struct {
	path string
	key  string // what tells its rows apart
	// drop makes the row with the key leave the list.
	drop func(c *servertest.Client, key string)
}

// crowded is a tenant whose five lists have five rows and more.
func crowded(t *testing.T, n *servertest.Node) (*servertest.Tenant, map[string]wholeList) {
	x := n.Tenant(t)
	for i := range 4 {
		x.Add(servertest.NewEmail(), "viewer")
		x.Define(fmt.Sprintf("role_%d", i), "ws.read")
		other := n.Tenant(t)
		x.Owner.Join(other.Add(x.Owner.Email(), "admin"))
	}
	for range 5 {
		n.Tenant(t).Add(x.Owner.Email(), "viewer")
	}
	return x, map[string]wholeList{
		"members": {x.Path("/members"), "id", func(c *servertest.Client, key string) { c.Delete(x.Path("/members/" + key)).OK() }},
		"roles":   {x.Path("/roles"), "key", func(c *servertest.Client, key string) { c.Delete(x.Path("/roles/" + key)).OK() }},
		"workspaces": {"/v1/workspaces", "id", func(c *servertest.Client, key string) {
			c.Delete("/v1/workspaces/" + key + "/members/" + c.UserID).OK()
		}},
		"organizations": {"/v1/organizations", "id", nil},
		"invitations":   {"/v1/invitations", "id", func(c *servertest.Client, key string) { c.Post("/v1/invitations/"+key+"/decline", nil).OK() }},
	}
}

// walk reads a list page by page and returns the keys of each page.
func walk(t *testing.T, c *servertest.Client, list wholeList, limit int) (pages [][]string) {
	t.Helper()
	cursor := ""
	for range 100 {
		page := c.Get(fmt.Sprintf("%s?limit=%d%s", list.path, limit, cursor)).OK()
		pages = append(pages, page.Column(list.key))
		next, more := page.Page()
		if more != (next != "") {
			t.Errorf("has_more is %v and the cursor %q", more, next)
		}
		if !more {
			return pages
		}
		cursor = "&cursor=" + next
	}
	t.Fatal("the list does not end")
	return nil
}

func TestWholeListsPageWhenAsked(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, lists := crowded(t, n)
		for name, list := range lists {
			t.Run(name, func(t *testing.T) {
				c := x.Owner.On(t)
				plain := c.Get(list.path).OK()
				whole := plain.Column(list.key)
				if strings.Contains(string(plain.Body), "has_more") || len(whole) < 5 {
					t.Errorf("the whole list is %s", plain.Body)
				}
				for _, limit := range []int{1, 2, len(whole) - 1, len(whole), 100} {
					pages := walk(t, c, list, limit)
					for _, page := range pages[:len(pages)-1] {
						if len(page) != limit {
							t.Errorf("a page of %d has %d rows", limit, len(page))
						}
					}
					if got := slices.Concat(pages...); !slices.Equal(got, whole) {
						t.Errorf("pages of %d give %v, want %v", limit, got, whole)
					}
				}
			})
			t.Run(name+" go on with a cursor alone", func(t *testing.T) {
				c := x.Owner.On(t)
				whole := c.Get(list.path).OK().Column(list.key)
				cursor, _ := c.Get(list.path + "?limit=1").OK().Page()
				rest := c.Get(list.path + "?cursor=" + cursor).OK()
				if _, more := rest.Page(); more || !slices.Equal(rest.Column(list.key), whole[1:]) {
					t.Errorf("the rest is %s", rest.Body)
				}
			})
			t.Run(name+" refuse a bad limit and a foreign cursor", func(t *testing.T) {
				c := x.Owner.On(t)
				for _, limit := range []string{"", "0", "101", "-1", "1.5", "x", "%2B1", "01", "1e1", "99999999999999999999"} {
					c.Get(list.path + "?limit=" + limit).Invalid("limit")
				}
				for _, cursor := range append(foreignCursors(c, lists, name), "", "x", "AAAA", strings.Repeat("A", 60)) {
					c.Get(list.path + "?cursor=" + cursor).Invalid("cursor")
				}
			})
		}
		for name, list := range lists {
			if list.drop == nil {
				continue
			}
			t.Run(name+" go on although the row at the cursor is gone", func(t *testing.T) {
				c := x.Owner.On(t)
				whole := c.Get(list.path).OK().Column(list.key)
				at := len(whole) - 2
				cursor, _ := c.Get(fmt.Sprintf("%s?limit=%d", list.path, at+1)).OK().Page()
				list.drop(c, whole[at])
				if got := c.Get(list.path + "?cursor=" + cursor).OK().Column(list.key); !slices.Equal(got, whole[at+1:]) {
					t.Errorf("it goes on with %v, want %v", got, whole[at+1:])
				}
			})
		}
	})
}

// foreignCursors are good cursors of the other lists.
func foreignCursors(c *servertest.Client, lists map[string]wholeList, but string) (cursors []string) {
	for name, list := range lists {
		if name != but {
			cursor, _ := c.Get(list.path + "?limit=1").OK().Page()
			cursors = append(cursors, cursor)
		}
	}
	return cursors
}

func TestCursorsAreBoundToTheTenant(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, y := n.Tenant(t), n.Tenant(t)
		x.Owner.Join(y.Add(x.Owner.Email(), "admin"))
		y.Owner.Join(x.Add(y.Owner.Email(), "admin"))
		for range 2 {
			n.Tenant(t).Add(x.Owner.Email(), "viewer")
		}
		for _, list := range []string{"/members", "/roles"} {
			cursor, _ := x.Owner.Get(x.Path(list) + "?limit=1").OK().Page()
			x.Owner.Get(y.Path(list) + "?cursor=" + cursor).Invalid("cursor")
		}
		account := x.Account(100_000)
		x.Account(0)
		for i := range 2 {
			x.Owner.AddMethod(x.Entry("Ada"), servertest.Account(fmt.Sprint(1_000_000_000+i)))
			x.Owner.Post("/v1/directory/tags", body{"workspace_id": x.WorkspaceID, "name": servertest.NewEmail()}).OK()
			x.Owner.Post("/v2/payout-requests", body{"source_account_id": account, "amount_cents": 100, "currency": "PHP",
				"settlement_account": body{"bank_account_name": "Ada", "bank_account_number": "1234567890", "bank_code": "BOPIPHMMXXX"}}).Created()
		}
		for _, list := range []string{"/v1/directory", "/v1/directory/tags", "/v1/audit", "/v1/approvals", "/v2/accounts", "/v2/payout-requests"} {
			of := func(z *servertest.Tenant) string { return list + "?limit=1&workspace_id=" + z.WorkspaceID }
			cursor, _ := x.Owner.Get(of(x)).OK().Page()
			if cursor == "" {
				t.Fatalf("%s has one page", list)
			}
			x.Owner.Get(of(y) + "&cursor=" + cursor).Invalid("cursor")
		}
		for _, list := range []string{"/v1/workspaces", "/v1/organizations", "/v1/invitations"} {
			cursor, _ := x.Owner.Get(list + "?limit=1").OK().Page()
			y.Owner.Get(list + "?cursor=" + cursor).Invalid("cursor")
		}
	})
}

package auditlog_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/server/servertest"
)

func TestAuditRowNamesActorAndAction(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		before := n.Clock.Now().UnixMilli()
		id := x.Owner.Do("POST", "/v1/directory", body{"workspace_id": x.WorkspaceID, "type": "person", "fields": body{}, "name": `Ada "A" Lovelace`},
			"X-Request-Id", "tour-1").OK().Text("id")
		row := x.Audit("")[0]
		after := n.Clock.Now().UnixMilli()
		if at, ok := row["timestamp"].(float64); !ok || int64(at) < before || int64(at) > after {
			t.Errorf("the timestamp is %v, want %d to %d", row["timestamp"], before, after)
		}
		if rowID, _ := row["id"].(string); !strings.HasPrefix(rowID, "aud_") {
			t.Errorf("the id is %v", row["id"])
		}
		if text, _ := row["description"].(string); !strings.Contains(text, `Ada "A" Lovelace`) {
			t.Errorf("the description is %v", row["description"])
		}
		for _, checked := range []string{"timestamp", "id", "description"} {
			delete(row, checked)
		}
		email := x.Owner.Email()
		want := body{
			"action": "directory.entry.created", "outcome": "success",
			"actor_name": "User " + email, "actor_email": email, "actor_id": x.Owner.UserID, "actor_type": "api_key",
			"resource_type": "directory_entry", "resource_id": id, "request_id": "tour-1", "ip": "127.0.0.1",
		}
		if diff := cmp.Diff(want, row); diff != "" {
			t.Errorf("want (-), got (+):\n%s", diff)
		}
	})
}

func TestAuditFilters(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.EventfulTenant(t)
		all := x.Audit("")
		columns := map[string]string{"actor": "actor_id", "action": "action", "resource_type": "resource_type", "resource_id": "resource_id", "outcome": "outcome"}

		// expect lists with a filter and demands exactly the rows that match it.
		expect := func(t *testing.T, filter url.Values) {
			t.Helper()
			var want []string
			for _, row := range all {
				if matches(row, filter, columns) {
					want = append(want, row["id"].(string))
				}
			}
			got := x.Owner.On(t).Get(x.AuditPath() + "&limit=100&" + filter.Encode()).OK().Column("id")
			if !slices.Equal(got, want) {
				t.Errorf("%s lists %d rows, want %d", filter.Encode(), len(got), len(want))
			}
		}

		for name, column := range columns {
			t.Run(name, func(t *testing.T) {
				seen := map[string]bool{"no-such-value": true, "": true}
				for _, row := range all {
					seen[row[column].(string)] = true
				}
				for value := range seen {
					expect(t, url.Values{name: {value}})
				}
			})
		}
		t.Run("a span of time includes its ends", func(t *testing.T) {
			newest, oldest, middle := at(all[0]), at(all[len(all)-1]), at(all[len(all)/2])
			for _, span := range []url.Values{
				{"from": {middle}}, {"to": {middle}}, {"from": {middle}, "to": {middle}}, {"from": {oldest}, "to": {newest}},
				{"from": {newest}, "to": {oldest}}, {"from": {"0"}}, {"to": {"0"}},
			} {
				expect(t, span)
			}
		})
		t.Run("all of them together", func(t *testing.T) {
			for _, row := range all {
				whole := url.Values{"from": {at(row)}, "to": {at(row)}}
				for name, column := range columns {
					whole.Set(name, row[column].(string))
				}
				expect(t, whole)
				expect(t, url.Values{"actor": whole["actor"], "outcome": whole["outcome"]})
				expect(t, url.Values{"resource_type": whole["resource_type"], "action": whole["action"], "from": whole["from"]})
			}
		})
		t.Run("a time must be one", func(t *testing.T) {
			for _, value := range []string{"", "x", "-1", "1.5", "99999999999999999999", "2026-01-01"} {
				x.Owner.On(t).Get(x.AuditPath()+"&from="+value+"&to="+value).Invalid("from", "to")
			}
		})
	})
}

func at(row body) string { return fmt.Sprintf("%.0f", row["timestamp"]) }

func matches(row body, filter url.Values, columns map[string]string) bool {
	for name, values := range filter {
		switch stamp := at(row); name {
		case "from":
			if len(stamp) < len(values[0]) || (len(stamp) == len(values[0]) && stamp < values[0]) {
				return false
			}
		case "to":
			if len(stamp) > len(values[0]) || (len(stamp) == len(values[0]) && stamp > values[0]) {
				return false
			}
		default:
			if row[columns[name]] != values[0] {
				return false
			}
		}
	}
	return true
}

func TestAuditPages(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.EventfulTenant(t)
		ids := func(rows []body) (list []string) {
			for _, row := range rows {
				list = append(list, row["id"].(string))
			}
			return list
		}

		t.Run("newest first", func(t *testing.T) {
			got := ids(x.Audit(""))
			if !slices.IsSortedFunc(got, func(a, b string) int { return strings.Compare(b, a) }) {
				t.Errorf("the order is %v", got)
			}
		})

		t.Run("rows that come while paging neither repeat nor hide others", func(t *testing.T) {
			want, got := ids(x.Audit("")), []string{}
			cursor := ""
			for more := true; more; {
				page := x.Owner.On(t).Get(x.AuditPath() + "&limit=4" + cursor).OK()
				got = append(got, page.Column("id")...)
				var next string
				next, more = page.Page()
				cursor = "&cursor=" + next
				x.Entry("Late")
			}
			if !slices.Equal(got, want) {
				t.Errorf("pages give %v, want %v", got, want)
			}
		})

		t.Run("twenty-five are a page", func(t *testing.T) {
			for range 26 {
				x.Entry("More")
			}
			page := x.Owner.On(t).Get(x.AuditPath()).OK()
			if _, more := page.Page(); len(page.List()) != 25 || !more {
				t.Errorf("a page has %d rows, more: %v", len(page.List()), more)
			}
		})

		t.Run("a cursor is good for its filters alone", func(t *testing.T) {
			c, filter := x.Owner.On(t), "&limit=1&action=directory.entry.created"
			cursor, _ := c.Get(x.AuditPath() + filter).OK().Page()
			c.Get(x.AuditPath() + filter + "&cursor=" + cursor).OK()
			for _, other := range []string{"", "&action=directory.entry.updated", filter + "&outcome=success", filter + "&from=0&to=9", filter + "&actor=" + c.UserID} {
				c.Get(x.AuditPath() + other + "&cursor=" + cursor).Invalid("cursor")
			}
			c.Get(x.OrganizationAuditPath() + "&action=directory.entry.created&cursor=" + cursor).Invalid("cursor")
			y := n.Tenant(t)
			y.Owner.Get(y.AuditPath() + "&action=directory.entry.created&cursor=" + cursor).Invalid("cursor")
			c.Get("/v1/directory?workspace_id=" + x.WorkspaceID + "&cursor=" + cursor).Invalid("cursor")
		})

		t.Run("a limit must be 1 to 100", func(t *testing.T) {
			for _, limit := range []string{"", "0", "101", "x"} {
				x.Owner.On(t).Get(x.AuditPath() + "&limit=" + limit).Invalid("limit")
			}
		})
	})
}

func TestAuditRowsCarryTheRequestID(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		create := body{"workspace_id": x.WorkspaceID, "type": "person", "fields": body{}}
		for sent, kept := range map[string]bool{
			"abc-123_X.y:z": true, strings.Repeat("r", 128): true, "0": true,
			"": false, "with space": false, strings.Repeat("r", 129): false, "caf\xc3\xa9": false, "semi;colon": false, "<b>": false,
		} {
			answer := x.Owner.Do("POST", "/v1/directory", create, "X-Request-Id", sent).OK()
			id := answer.Header.Get("X-Request-Id")
			if id == "" || (id == sent) != kept {
				t.Errorf("%q came back as %q", sent, id)
			}
			if got := x.Audit("")[0]["request_id"]; got != id {
				t.Errorf("the row says %v, the answer %q", got, id)
			}
		}
	})
}

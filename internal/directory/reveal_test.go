package directory_test

import (
	"slices"
	"testing"
	"time"

	"bursar/internal/config"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

const revealed = "directory.receiving_method.revealed"

// reveals counts the rows that tell that account numbers of an entry were shown.
func reveals(t *testing.T, n *servertest.Node, entry string) (count int) {
	t.Helper()
	for _, action := range n.Audited(t, entry) {
		if action == revealed {
			count++
		}
	}
	return count
}

func TestShowingAnAccountNumberLeavesARowOnceAnHour(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, func(c *config.Serve) { c.KeySessionTTL = 2 * time.Hour })
		admin, member := n.Admin(t), n.Member(t, "member@example.com", "member")
		entry, other := admin.Entry(servertest.Body{"name": "Ada"}), admin.Entry(nil)
		admin.AddMethod(entry, servertest.Account("0049871234567890"))
		admin.AddMethod(other, servertest.Account("1"))
		see := func(c *servertest.Client, want int) {
			t.Helper()
			c.Get("/v1/directory/" + entry).OK()
			if got := reveals(t, n, entry); got != want {
				t.Errorf("there are %d rows, want %d", got, want)
			}
		}
		see(member, 1)
		see(member, 1)
		see(admin, 2)
		see(n.Login(t, n.First.APIKey), 2) // a second session of the same key
		row := admin.Get("/v1/audit?action=" + revealed + "&workspace_id=" + n.First.WorkspaceID).OK().List()[1]
		for field, want := range map[string]string{
			"actor_id": member.UserID, "resource_type": "directory_entry", "resource_id": entry, "outcome": "success", "description": "Saw account numbers of person Ada",
		} {
			if row[field] != want {
				t.Errorf("%s is %v, want %s", field, row[field], want)
			}
		}
		member.Get("/v1/directory/" + other).OK()
		if got := reveals(t, n, other); got != 1 {
			t.Errorf("another entry has %d rows, want 1", got)
		}

		restarted := servertest.Start(t, store)
		elsewhere := restarted.Holder(t, member.Token)
		see(elsewhere, 2)
		restarted.Clock.Advance(59 * time.Minute)
		see(elsewhere, 2)
		restarted.Clock.Advance(time.Minute)
		see(elsewhere, 3)
	})
}

func TestReadersAtOnceLeaveOneRow(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		nodes := []*servertest.Node{servertest.Start(t, store), servertest.Start(t, store)}
		admin := nodes[0].Admin(t)
		entry := admin.Entry(nil)
		admin.AddMethod(entry, servertest.Account("0049871234567890"))
		answers := servertest.SideBySide(16, func(i int) *servertest.Answer {
			return nodes[i%len(nodes)].Holder(t, admin.Token).Get("/v1/directory/" + entry)
		})
		for _, answer := range answers {
			answer.OK()
		}
		if got := reveals(t, nodes[0], entry); got != 1 {
			t.Errorf("%d rows, want 1", got)
		}
	})
}

// Anyone who sees no number writes nothing.
func TestReadingWithoutAccountNumbersLeavesNoRow(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin, viewer := n.Admin(t), n.Member(t, "viewer@example.com", "viewer")
		entry, bare := admin.Entry(nil), admin.Entry(nil)
		admin.AddMethod(entry, servertest.Account("0049871234567890"))
		n.Unchanged(t, func() {
			viewer.Get("/v1/directory/" + entry).OK()
			admin.Get("/v1/directory/" + bare).OK()
			admin.Entries().OK()
		})
	})
}

// The answer to a PATCH has the number too. One that changes nothing must not show it
// without a row.
func TestAChangeOfNothingThatShowsTheNumberLeavesTheRow(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		entry := admin.Entry(nil)
		path := "/v1/directory/" + entry + "/receiving-methods/" + admin.AddMethod(entry, servertest.Account("0049871234567890"))
		for range 2 {
			if got := admin.Patch(path, servertest.Body{}).OK().Text("account_id"); got != "0049871234567890" {
				t.Errorf("the answer has the number %s", got)
			}
			if got := n.Audited(t, entry); !slices.Equal(got, []string{"directory.entry.created", revealed}) {
				t.Errorf("the log has %v", got)
			}
		}
	})
}

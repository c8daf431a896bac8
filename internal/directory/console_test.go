package directory_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/directory"
	"bursar/internal/server/servertest"
)

// bin lists what can be restored in a workspace, page by page.
func bin(t *testing.T, s servertest.Services, c *servertest.Client, workspaceID string, query ...string) []directory.DeletedEntry {
	t.Helper()
	all := []directory.DeletedEntry{}
	base := append([]string{"workspace_id", workspaceID}, query...)
	for next := base; ; {
		list, err := servertest.Invoke(t, s, c, s.Directory.Deleted, next...)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list.Rows()...)
		cursor, more := list.Next()
		if !more {
			return all
		}
		if len(list.Rows()) == 0 {
			t.Fatal("an empty page that has more behind it")
		}
		next = append(slices.Clone(base), "cursor", cursor)
	}
}

func idsOf(entries []directory.DeletedEntry) []string {
	ids := []string{}
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return ids
}

func TestConsoleDeletedEntriesArePaged(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, y, s := n.Tenant(t), n.Tenant(t), servertest.ServicesOf(t, n.DB, n.Vault)
		var gone []string
		for i := range 27 {
			x.Entry("Live")
			id := x.Entry(fmt.Sprintf("Gone %d", i))
			gone = append(gone, id)
			other := y.Entry("Elsewhere")
			y.Owner.Delete("/v1/directory/" + other).OK()
		}
		// In another order than they were made.
		for _, i := range slices.Concat(oddOf(len(gone)), evenOf(len(gone))) {
			x.Owner.Delete("/v1/directory/" + gone[i]).OK()
		}
		want := slices.Clone(gone)
		slices.Reverse(want)
		for _, limit := range [][]string{nil, {"limit", "1"}, {"limit", "9"}, {"limit", "26"}, {"limit", "27"}, {"limit", "100"}} {
			if got := idsOf(bin(t, s, x.Owner, x.WorkspaceID, limit...)); !slices.Equal(got, want) {
				t.Errorf("with %v: got %v, want %v", limit, got, want)
			}
		}
		first, err := servertest.Invoke(t, s, x.Owner, s.Directory.Deleted, "workspace_id", x.WorkspaceID)
		if err != nil || len(first.Rows()) != 25 {
			t.Fatalf("a page has %d entries, want 25: %v", len(first.Rows()), err)
		}
		cursor, _ := first.Next()

		t.Run("a cursor is good for its list alone", func(t *testing.T) {
			if _, err := servertest.Invoke(t, s, y.Owner, s.Directory.Deleted, "workspace_id", y.WorkspaceID, "cursor", cursor); servertest.FaultCode(err) != api.CodeValidation {
				t.Errorf("in another workspace: %v", err)
			}
			if _, err := servertest.Invoke(t, s, x.Owner, s.Directory.List, "workspace_id", x.WorkspaceID, "cursor", cursor); servertest.FaultCode(err) != api.CodeValidation {
				t.Errorf("in the directory: %v", err)
			}
		})
		t.Run("what was restored meanwhile hides nothing", func(t *testing.T) {
			x.Owner.On(t).Post("/v1/directory/"+first.Rows()[24].ID+"/restore", nil).OK()
			rest, err := servertest.Invoke(t, s, x.Owner, s.Directory.Deleted, "workspace_id", x.WorkspaceID, "cursor", cursor)
			if err != nil || !slices.Equal(idsOf(rest.Rows()), want[25:]) {
				t.Errorf("got %v, want %v: %v", idsOf(rest.Rows()), want[25:], err)
			}
		})
		t.Run("the input is checked", func(t *testing.T) {
			for _, query := range [][]string{{}, {"workspace_id", ""}, {"workspace_id", x.WorkspaceID, "limit", "101"}, {"workspace_id", x.WorkspaceID, "cursor", "x"}} {
				if _, err := servertest.Invoke(t, s, x.Owner, s.Directory.Deleted, query...); servertest.FaultCode(err) != api.CodeValidation {
					t.Errorf("%v: %v", query, err)
				}
			}
		})
	})
}

func oddOf(n int) (list []int) {
	for i := 1; i < n; i += 2 {
		list = append(list, i)
	}
	return list
}

func evenOf(n int) (list []int) {
	for i := 0; i < n; i += 2 {
		list = append(list, i)
	}
	return list
}

func TestConsoleDeletedEntriesCanBeRestored(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		x := n.Tenant(t)
		older := x.Owner.Post("/v1/directory", body{"workspace_id": x.WorkspaceID, "type": "organization", "fields": body{}, "label": "=Acme"}).OK().Text("id")
		newer := x.Entry("Ada")
		// A clock that stands still, so that the very end of the 30 days can be looked at.
		now := time.Now().Truncate(time.Second)
		d := store.OpenAt(t, func() time.Time { return now })
		s := servertest.ServicesOf(t, d, store.Vault(d))
		for _, id := range []string{newer, older} {
			if _, err := servertest.InvokeOn(t, s, x.Owner, s.Directory.Delete, id); err != nil {
				t.Fatal(err)
			}
		}
		deleted := now.UnixMilli()
		purged := now.Add(30 * 24 * time.Hour).UnixMilli()
		want := []directory.DeletedEntry{
			{ID: newer, Type: "person", Label: "Ada", DeletedAt: deleted, PurgedAt: purged},
			{ID: older, Type: "organization", Label: "=Acme", DeletedAt: deleted, PurgedAt: purged},
		}
		expect := func(want []directory.DeletedEntry) {
			t.Helper()
			if diff := cmp.Diff(want, bin(t, s, x.Owner, x.WorkspaceID)); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		}
		expect(want)
		now = now.Add(30*24*time.Hour - time.Millisecond)
		expect(want)
		if _, err := servertest.InvokeOn(t, s, x.Owner, s.Directory.Restore, newer); err != nil {
			t.Errorf("in the last millisecond: %v", err)
		}
		expect(want[1:])
		now = now.Add(time.Millisecond)
		expect([]directory.DeletedEntry{}) // though it is not purged yet
		if _, err := servertest.InvokeOn(t, s, x.Owner, s.Directory.Restore, older); servertest.FaultCode(err) != api.CodeNotFound {
			t.Errorf("too late: %v", err)
		}
		if err := s.Directory.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect([]directory.DeletedEntry{})
	})
}

func TestConsoleTagNames(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, y, s := n.Tenant(t), n.Tenant(t), servertest.ServicesOf(t, n.DB, n.Vault)
		tagged := func(z *servertest.Tenant, tags ...string) string {
			return z.Owner.Post("/v1/directory", body{"workspace_id": z.WorkspaceID, "type": "person", "fields": body{}, "tags": append([]string{}, tags...)}).OK().Text("id")
		}
		several, one, none := tagged(x, "Zeta", "alpha", "Beta", "émile"), tagged(x, "beta"), tagged(x)
		deleted, foreign := tagged(x, "alpha"), tagged(y, "secret")
		x.Owner.Delete("/v1/directory/" + deleted).OK()
		names := func(ids ...string) map[string][]string {
			t.Helper()
			got, err := s.Directory.TagNames(t.Context(), servertest.CallerOf(x.Owner), x.WorkspaceID, ids)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}

		want := map[string][]string{}
		for _, id := range []string{several, one} {
			var entry struct{ Tags []string }
			x.Owner.Get("/v1/directory/" + id).OK().Data(&entry)
			want[id] = entry.Tags
		}
		asked := []string{one, none, deleted, foreign, "entry_nobody", "", several, several}
		if diff := cmp.Diff(want, names(asked...)); diff != "" {
			t.Errorf("want (-), got (+):\n%s", diff)
		}
		if got := names(); len(got) != 0 {
			t.Errorf("without entries: %v", got)
		}
		for _, length := range []int{1, 24, 25, 26, 99, 100} {
			ids := slices.Repeat([]string{"entry_nobody"}, length-1)
			if got := names(append(ids, one)...); !slices.Equal(got[one], []string{"Beta"}) || len(got) != 1 {
				t.Errorf("of %d entries: %v", length, got)
			}
		}
		if _, err := s.Directory.TagNames(t.Context(), servertest.CallerOf(x.Owner), x.WorkspaceID, make([]string, 101)); servertest.FaultCode(err) != api.CodeValidation {
			t.Errorf("of 101 entries: %v", err)
		}
	})
}

func TestConsoleCounts(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, y, s := n.Tenant(t), n.Tenant(t), servertest.ServicesOf(t, n.DB, n.Vault)
		counts := func(z *servertest.Tenant) directory.Counts {
			t.Helper()
			got, err := s.Directory.Counts(t.Context(), servertest.CallerOf(z.Owner), z.WorkspaceID)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		create := func(kind string, tags ...string) string {
			return x.Owner.Post("/v1/directory", body{"workspace_id": x.WorkspaceID, "type": kind, "fields": body{}, "tags": append([]string{}, tags...)}).OK().Text("id")
		}
		if got := counts(x); got != (directory.Counts{}) {
			t.Errorf("an empty directory: %+v", got)
		}
		create("person", "a", "b")
		create("person", "b", "c")
		gone := create("person")
		idle := create("organization", "a")
		x.Owner.Patch("/v1/directory/"+idle, body{"status": "inactive"}).OK()
		x.Owner.Patch("/v1/directory/"+create("person"), body{"status": "inactive"}).OK()
		x.Owner.Patch("/v1/directory/"+gone, body{"status": "inactive"}).OK()
		x.Owner.Delete("/v1/directory/" + gone).OK()
		want := directory.Counts{People: directory.Count{N: 3}, Organizations: directory.Count{N: 1}, Inactive: directory.Count{N: 2}, Tags: directory.Count{N: 3}}
		if got := counts(x); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if got := counts(y); got != (directory.Counts{}) {
			t.Errorf("another workspace: %+v", got)
		}

		fill(t, n, 9_997, func(tx *db.Tx, i int) error {
			return tx.Exec(`INSERT INTO directory_entry (id, workspace_number, type, label, label_sent, name, status, fields, words, created_at, updated_at)
				VALUES ($1, (SELECT number FROM workspace WHERE id = $2), 'person', 'Many', TRUE, '', 'active', '{}', ' many', 0, 0)`,
				db.PackID("entry", db.FirstID("entry", int64(i))), x.WorkspaceID)
		})
		want.People.N = 10_000
		if got := counts(x); got != want {
			t.Errorf("just as many as are counted: got %+v, want %+v", got, want)
		}
		create("person")
		want.People.More = true
		if got := counts(x); got != want {
			t.Errorf("one more: got %+v, want %+v", got, want)
		}
	})
}

// fill makes many rows at once: sql selects from n, which has a column i from 1
// to count. Its parameters begin with $2.
func fill(t *testing.T, n *servertest.Node, count int, insert func(tx *db.Tx, i int) error) {
	t.Helper()
	_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		for i := range count {
			if err := insert(tx, i); err != nil {
				return struct{}{}, audit.Event{}, err
			}
		}
		return struct{}{}, audit.None("made for a test"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

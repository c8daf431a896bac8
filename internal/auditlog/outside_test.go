package auditlog_test

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"unicode"

	"bursar/api"
	"bursar/internal/auditlog"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// outside reads what the operator reads.
func outside(t *testing.T, n *servertest.Node, o auditlog.Outside) (rows []api.AuditEntry) {
	t.Helper()
	for row, err := range o.Rows(t.Context(), n.DB) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// A caller who asks for what belongs to others leaves the same row as one who asks for
// nothing at all, or the row would tell that it exists. Only the operator, and the caller,
// read it.
func TestProbesOfOtherTenantsAreReadByTheOperatorAlone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		theirs, mine := n.Tenant(t), n.Tenant(t)
		entry := theirs.Entry("Ada")
		tag := theirs.Owner.Post("/v1/directory/tags", servertest.Body{"workspace_id": theirs.WorkspaceID, "name": "vip"}).OK().Text("id")
		key := theirs.Owner.Post("/v1/api-keys", servertest.Body{"name": "CI"}).OK().Text("id")
		prober := mine.Owner
		denied := "iam.access.denied"
		logs := func() [2]int {
			return [2]int{theirs.AuditCount() + mine.AuditCount(), len(theirs.Owner.Get(theirs.OrganizationAuditPath()).OK().List()) + len(mine.Owner.Get(mine.OrganizationAuditPath()).OK().List())}
		}
		before := logs()
		for _, probe := range []struct{ method, path, id string }{
			{"GET", "/v1/directory/{id}", entry},
			{"DELETE", "/v1/directory/{id}", entry},
			{"POST", "/v1/directory/{id}/restore", entry},
			{"DELETE", "/v1/directory/tags/{id}", tag},
			{"GET", "/v1/directory?workspace_id={id}", theirs.WorkspaceID},
			{"GET", "/v1/audit/export?workspace_id={id}", theirs.WorkspaceID},
			{"GET", "/v1/workspaces/{id}/members", theirs.WorkspaceID},
			{"DELETE", "/v1/workspaces/{id}/members/" + prober.UserID, theirs.WorkspaceID},
			{"PATCH", "/v1/organizations/{id}/settings", theirs.OrganizationID},
			{"DELETE", "/v1/api-keys/{id}", key},
		} {
			var told [2]string
			for i, id := range []string{probe.id, "nothing_00000000000000000000000000"} {
				seen := len(outside(t, n, auditlog.Outside{Action: &denied}))
				if got := prober.Do(probe.method, strings.Replace(probe.path, "{id}", id, 1), nil); got.Status != http.StatusNotFound {
					t.Fatalf("%s %s: %d", probe.method, probe.path, got.Status)
				}
				rows := outside(t, n, auditlog.Outside{Action: &denied})
				if len(rows) != seen+1 {
					t.Fatalf("%s %s leaves %d rows", probe.method, probe.path, len(rows)-seen)
				}
				if row := rows[0]; row.ResourceID != id || row.ActorID != prober.UserID || row.Outcome != "denied" || row.IP == "" {
					t.Errorf("%s %s leaves %+v", probe.method, probe.path, row)
				}
				told[i] = rows[0].Description
			}
			if told[0] != told[1] {
				t.Errorf("%s %s tells whether it exists: %q", probe.method, probe.path, told)
			}
		}
		if after := logs(); after != before {
			t.Errorf("the logs of the tenants grew from %v to %v", before, after)
		}
		if got := prober.Get("/v1/auth/activity").Rows(denied); len(got) == 0 {
			t.Error("the caller does not read of it")
		}
	})
}

// Honest callers leave no such row: what they miss was deleted, or is in their workspace.
func TestWhatIsMissingAtHomeIsNoProbe(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	x := n.Tenant(t)
	entry := x.Entry("Ada")
	x.Owner.Delete("/v1/directory/" + entry).OK()
	seen := len(outside(t, n, auditlog.Outside{}))
	x.Owner.Get("/v1/directory/"+entry).Fails(http.StatusNotFound, "NOT_FOUND")
	x.Owner.Delete(x.Path("/members/usr_nobody")).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
	if got := len(outside(t, n, auditlog.Outside{})); got != seen {
		t.Errorf("%d rows", got-seen)
	}
}

// A flood leaves as many rows as it takes to see it.
func TestProbesAreRecordedUpToABudget(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		x := n.Tenant(t)
		other := n.Tenant(t)
		denied := "iam.access.denied"
		for range 4 {
			servertest.SideBySide(40, func(int) int { return x.Owner.Get("/v1/directory/nothing_at_all").Status })
		}
		flood := len(outside(t, n, auditlog.Outside{Action: &denied}))
		if flood < 50 || flood > 60 { // one more grows back each minute
			t.Errorf("160 probes left %d rows, want 50", flood)
		}
		other.Owner.Get("/v1/directory/nothing_at_all").Fails(http.StatusNotFound, "NOT_FOUND")
		if got := outside(t, n, auditlog.Outside{Action: &denied}); len(got) != flood+1 || got[0].ActorID != other.Owner.UserID {
			t.Errorf("another caller left %d rows", len(got)-flood)
		}
	})
}

// What a stranger does belongs to no organization.
func TestTheOperatorReadsFailedLoginsOfUnknownAccounts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.TrustProxy())
		n.Exchange(t, "Bearer bk_nonsense", servertest.From("203.0.113.7")...).Fails(http.StatusUnauthorized, "UNAUTHORIZED")
		n.Exchange(t, servertest.Basic("cli_nobody", "wrong"), servertest.From("198.51.100.7")...).Fails(http.StatusUnauthorized, "INVALID_CREDENTIALS")
		failed, denied := "auth.login.failed", "denied"
		addresses := func(o auditlog.Outside) (all []string) {
			for _, row := range outside(t, n, o) {
				all = append(all, row.IP)
			}
			return all
		}
		now := n.Clock.Now().UnixMilli()
		for name, c := range map[string]struct {
			selected auditlog.Outside
			want     []string
		}{
			"the newest first": {auditlog.Outside{Action: &failed}, []string{"198.51.100.7", "203.0.113.7"}},
			"an address":       {auditlog.Outside{Network: netip.MustParsePrefix("203.0.113.7/32")}, []string{"203.0.113.7"}},
			"a network":        {auditlog.Outside{Action: &failed, Network: netip.MustParsePrefix("198.51.100.0/24")}, []string{"198.51.100.7"}},
			"another outcome":  {auditlog.Outside{Action: &failed, Outcome: &denied}, nil},
			"before":           {auditlog.Outside{Action: &failed, To: 1}, nil},
			"after":            {auditlog.Outside{Action: &failed, From: now + 60_000}, nil},
			"a span":           {auditlog.Outside{Action: &failed, From: now - 60_000, To: now + 60_000}, []string{"198.51.100.7", "203.0.113.7"}},
		} {
			if got := addresses(c.selected); !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
		// What belongs to a workspace is for its members.
		x := n.EventfulTenant(t)
		for _, row := range outside(t, n, auditlog.Outside{}) {
			if strings.HasPrefix(row.Action, "directory.") {
				t.Errorf("the operator reads %+v of %s", row, x.WorkspaceID)
			}
		}
	})
}

// Anyone who asks for an id that they made up must not write on the terminal of the operator
// who reads of it.
func TestARowHasNoControlCharacters(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		prober, denied := n.Tenant(t).Owner, "iam.access.denied"
		for _, path := range []string{"/v1/workspaces/%1b%5b2Jgone", "/v1/audit?workspace_id=%1b%5b2Jgone", "/v1/organizations/%c2%9b2J%0agone"} {
			prober.Get(path).Fails(404, "RESOURCE_NOT_FOUND")
			row := outside(t, n, auditlog.Outside{Action: &denied})[0]
			if strings.ContainsFunc(row.Description, unicode.IsControl) || !strings.HasSuffix(row.Description, "gone)") {
				t.Errorf("%s is on record as %q", path, row.Description)
			}
		}
	})
}

package servertest

import (
	"slices"
	"strings"
	"testing"

	"bursar/api"
)

// WhoIsPaid lists the accounts that are paid for each label, name, external id and id of an entry. Under "default", it lists
// those that are paid if none is chosen.
func (x *Tenant) WhoIsPaid(t testing.TB) map[string][]string {
	t.Helper()
	paid := map[string][]string{}
	for _, id := range x.Owner.Walk("/v1/directory?limit=100&workspace_id="+x.WorkspaceID, nil) {
		var e api.Entry
		x.Owner.On(t).Get("/v1/directory/" + id).OK().Data(&e)
		if e.Status != api.StatusActive {
			continue
		}
		for _, key := range []string{"id " + e.ID, "name " + e.Label, "name " + e.Name, "external_id " + e.ExternalID} {
			for _, m := range *e.ReceivingMethods {
				paid[key] = append(paid[key], m.AccountID)
				if m.IsDefault {
					paid["default of "+key] = append(paid["default of "+key], m.AccountID)
				}
			}
		}
	}
	delete(paid, "name ")
	delete(paid, "external_id ")
	delete(paid, "default of name ")
	delete(paid, "default of external_id ")
	return paid
}

// PayeeWatch reports payments that become possible. It reads the directory only when an operation has changed something there.
type PayeeWatch struct {
	tenant *Tenant
	before map[string][]string // who was paid at the start
	rows   []string
}

// WatchPayees begins to watch who is paid in the tenant's workspace.
func (x *Tenant) WatchPayees(t testing.TB) *PayeeWatch {
	t.Helper()
	w := &PayeeWatch{tenant: x, before: x.WhoIsPaid(t), rows: x.payeeRows(t)}
	if len(w.before) < 20 {
		t.Fatalf("before, somebody is paid for %d names and ids", len(w.before))
	}
	return w
}

// Check fails the test if after an operation an account is paid for a name, an external id or an id for which it was not paid before.
func (w *PayeeWatch) Check(t testing.TB, after any) {
	t.Helper()
	rows := w.tenant.payeeRows(t)
	if slices.Equal(rows, w.rows) {
		return
	}
	w.rows = rows
	for key, accounts := range w.tenant.WhoIsPaid(t) {
		for _, account := range accounts {
			if !slices.Contains(w.before[key], account) {
				t.Errorf("after %v, for %s the account %s is paid, before it was %v", after, key, account, w.before[key])
			}
		}
	}
}

// payeeRows reads what decides who is paid in the tenant's workspace.
func (x *Tenant) payeeRows(t testing.TB) []string {
	t.Helper()
	return x.Node.rows(t, 10, `SELECT e.label, e.name, COALESCE(e.external_id, ''), e.status, CAST(COALESCE(e.deleted_at, 0) AS TEXT), COALESCE(m.id, ''),
			COALESCE(m.status, ''), CAST(COALESCE(m.default_since, 0) AS TEXT), CAST(COALESCE(m.payable_at, 0) AS TEXT), CAST(COALESCE(m.version, 0) AS TEXT)
		FROM directory_entry e JOIN workspace w ON w.number = e.workspace_number LEFT JOIN receiving_method m ON m.entry_id = e.id
		WHERE w.id = $1 ORDER BY e.id, m.id`, x.WorkspaceID)
}

// Payees are entries of every kind in a workspace with two approvers, by their labels.
type Payees struct {
	Entries map[string]string
	Methods map[string]string // of the entries that have one
	Merge   string            // a merge that can be undone
}

// Payees creates them in the tenant's workspace.
func (x *Tenant) Payees(t testing.TB) Payees {
	t.Helper()
	p := Payees{map[string]string{}, map[string]string{}, ""}
	add := func(name, number string) string {
		fields := Body{"workspace_id": x.WorkspaceID, "name": name, "external_id": strings.ToUpper(name[:3]), "fields": Body{"email": name[:3] + "@example.com"}}
		p.Entries[name] = x.Owner.Entry(fields)
		if number != "" {
			p.Methods[name] = x.Owner.AddMethod(p.Entries[name], Account(number))
		}
		return p.Entries[name]
	}
	path := func(id string) string { return "/v1/directory/" + id }
	add("Acme Power", "1001")
	add("Tiny", "1002")
	several := add("Several", "1003")
	x.Owner.AddMethod(several, Account("1004"))
	x.Owner.Patch(path(add("Stopped", "1005")), Body{"status": "inactive"}).OK()
	add("Bare", "")
	restored := add("Restored", "1006")
	x.Owner.Delete(path(restored)).OK()
	x.Owner.Post(path(restored)+"/restore", nil).OK()
	x.Owner.Delete(path(add("Gone", "1007"))).OK()
	target, source := add("Whole", "1008"), add("Part", "1009")
	p.Merge = x.Owner.Post(path(target)+"/merge", Body{"sources": []string{source}, "fields": Body{"name": source, "external_id": source}}).OK().Text("id")
	x.Member("admin") // from this point on, changes need a second person
	p.Methods["Waiting"] = x.Owner.Post(path(add("Waiting", ""))+"/receiving-methods", Account("1010")).OK().Text("id")
	return p
}

package server_test

import (
	"context"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

// tour does everything that the product can do, in a filled store.
type tour struct {
	*recorder
	node    *servertest.Node
	town    *town
	keyFile string // of the audit log
	t       *testing.T
}

func (w *tour) everything() {
	for _, o := range operations() {
		w.begin(o.String())
		ask := func() { o.do(w.town.large.Owner, o.ask(w.town.large, w.town.large.Owner)) }
		if strings.HasSuffix(o.Path(), "/proof") {
			w.whileSigning(ask)
		} else {
			ask()
		}
	}
	for _, digits := range []string{"0042", "2025"} {
		w.list(w.town.large.Owner, "/v1/directory", "half of all", "workspace_id", w.town.large.WorkspaceID, "q", digits)
	}
	for share, x := range map[string]*servertest.Tenant{"half of all": w.town.large, "a tenth of all": w.town.middle, "next to nothing": w.town.small} {
		w.directory(x, share)
		w.audit(x, share)
	}
	w.lists()
	w.imports()
	w.doubles()
	w.bulks()
	w.money()
	w.rails()
	w.dispatch()
	w.payouts()
	w.corners()
	w.console()
	w.people()
	w.operator()
	w.vault()
}

// vault gives many workspaces their data keys, and replaces all keys.
func (w *tour) vault() {
	w.begin("data keys")
	for number := range int64(350) {
		w.must(w.node.Vault.Ready(w.t.Context(), 1_000_000+number))
	}
	w.town.change(`UPDATE directory_import_chunk SET sealed_by = (SELECT id FROM vault_key WHERE workspace_number = 1000000 + number % 350) WHERE part = 'refused' AND number < 2000`)
	w.town.change(`UPDATE directory_import_line SET sealed_by = (SELECT id FROM vault_key WHERE workspace_number = 1000000 + line % 350)`)
	w.town.change(`UPDATE directory_merge SET sealed_by = (SELECT id FROM vault_key WHERE workspace_number = 1000000 + directory_merge.created_at % 350) WHERE sealed_by = 1`)
	w.begin("the keys of the vault")
	_, err := w.node.Vault.Reseal(w.t.Context(), db.Caller{}, func(done, total int64) {})
	w.must(err)
	w.town.change(`UPDATE vault_key SET retired_at = $1 WHERE retired_at IS NOT NULL`, 1)
	_, err = db.Write(w.t.Context(), w.node.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("as housekeeping does"), w.node.Vault.Expire(tx) // which would empty other tables
	})
	w.must(err)
	_, err = w.node.Vault.Rotate(w.t.Context(), db.Caller{})
	w.must(err)
	_, err = w.node.Vault.Status(w.t.Context())
	w.must(err)
}

// whileSigning does something that waits until the newest rows of the log are signed.
func (w *tour) whileSigning(act func()) {
	w.node.Clock.Advance(3 * time.Second) // longer than the lease of another node
	node := auditlog.NewSequencer(w.node.DB, w.node.Server.AuditSigner())
	ctx, stop := context.WithCancel(w.t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		turns := time.NewTicker(5 * time.Millisecond) // what runs meanwhile needs the processor, too
		defer turns.Stop()
		for ctx.Err() == nil {
			if err := node.Turn(ctx); err != nil && ctx.Err() == nil {
				w.t.Errorf("sequence the log: %v", err)
			}
			select {
			case <-turns.C:
			case <-ctx.Done():
			}
		}
	})
	act()
	stop()
	done.Wait()
}

// list asks for the first two pages of a list. What has no value is left out.
func (w *tour) list(who *servertest.Client, path, share string, pairs ...string) {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	address := path + "?" + query.Encode()
	w.begin("GET " + address + " with " + share)
	if cursor, more := who.Get(address).OK().Page(); more {
		query.Set("cursor", cursor)
		w.begin("GET " + address + ", the next page, with " + share)
		who.Get(path + "?" + query.Encode()).OK()
	}
}

// directory asks for entries by every combination of filters.
func (w *tour) directory(x *servertest.Tenant, share string) {
	for _, kind := range []string{"", "organization"} {
		for _, status := range []string{"", "inactive"} {
			for _, tag := range []string{"", "common"} {
				for _, words := range []string{"", "payee", "batch07", "payee batch07"} {
					w.list(x.Owner, "/v1/directory", share, "workspace_id", x.WorkspaceID, "type", kind, "status", status, "tag", tag, "q", words)
				}
			}
		}
	}
	w.list(x.Owner, "/v1/directory", share, "workspace_id", x.WorkspaceID, "tag", w.town.tags[0])
	for _, sort := range api.EntrySorts() {
		for _, kind := range []string{"", "organization"} {
			for _, status := range []string{"", "inactive"} {
				for _, tag := range []string{"", "common", w.town.tags[0]} {
					w.list(x.Owner, "/v1/directory", share, "workspace_id", x.WorkspaceID, "type", kind, "status", status, "tag", tag, "sort", sort)
				}
			}
		}
	}
}

// audit asks for the log by every filter, of which some values are common and some
// are rare, and, where there is most, by every two of them.
func (w *tour) audit(x *servertest.Tenant, share string) {
	ago := func(days int) string {
		return strconv.FormatInt(w.town.now-int64(days)*24*time.Hour.Milliseconds(), 10)
	}
	filters := [][2]string{
		{"actor", ""}, {"actor", w.town.accounts[7]}, {"actor", w.town.large.Owner.UserID},
		{"action", "iam.role.deleted"}, {"action", "directory.entry.created"},
		{"resource_type", "role"}, {"resource_type", "directory_entry"}, {"resource_id", w.town.entries[99]}, {"entry_id", w.town.entries[98]},
		{"outcome", "denied"}, {"outcome", "success"}, {"from", ago(50)}, {"to", ago(10)},
	}
	for i, one := range filters {
		for _, other := range filters[i+1:] {
			if x != w.town.large && i > 0 {
				break
			}
			w.list(x.Owner, "/v1/audit", share, "workspace_id", x.WorkspaceID, one[0], one[1], other[0], other[1])
		}
		if one[0] != "entry_id" { // which is in a workspace
			w.list(x.Owner, "/v1/audit", share, "organization_id", x.OrganizationID, one[0], one[1])
			w.list(x.Owner, "/v1/audit/feed", share, "organization_id", x.OrganizationID, one[0], one[1])
		}
		w.list(x.Owner, "/v1/audit/feed", share, "workspace_id", x.WorkspaceID, one[0], one[1], "after", "0")
		w.list(x.Owner, "/v1/audit", share, "workspace_id", x.WorkspaceID, one[0], one[1], "from", ago(50), "to", ago(10))
	}
}

// imports imports a file by every key that makes a line an update, and exports the directory.
func (w *tour) imports() {
	x := w.town.large
	for _, match := range []string{"id", "external_id", "email", "phone", "account"} {
		w.begin("an import matched by " + match)
		id := x.Owner.Post("/v1/directory/imports?format=csv&match="+match+"&workspace_id="+x.WorkspaceID,
			"type,name,external_id,email,phone,tags,method.provider,method.account_name,method.account_id\n"+
				"person,Ada,E-1,ada@example.com,+44 20,vip,bank,Ada,12345678\nperson,Ada L.,E-1,ada@example.com,+44 20,vip,bank,Ada,12345678\nship,,,,,,,,\n").OK().Text("id")
		w.node.RunImports(w.t)
		x.Owner.Get("/v1/directory/imports/" + id + "/refused").OK()
	}
	w.begin("an entry with two accounts")
	imports := "/v1/directory/imports?workspace_id=" + x.WorkspaceID
	x.Owner.Post(imports, `{"type":"person","name":"Two","receiving_methods":[{"provider":"bank","account_name":"A","account_id":"1"},{"provider":"bank","account_name":"A","account_id":"2","is_default":true}]}`).OK()
	w.node.RunImports(w.t)
	w.begin("an import that names an entry")
	x.Owner.Post(imports+"&format=csv", "id,name\n"+x.Entry("Named")+",Ada\n").OK()
	w.node.RunImports(w.t)
	w.begin("a held file that is rehearsed")
	held := "/v1/directory/imports/" + x.Owner.Post(imports+"&hold=true", "type,name\nperson,Ada\n").OK().Text("id")
	x.Owner.Post(held+"/start", body{"dry_run": true}).OK()
	w.node.RunImports(w.t)
	x.Owner.Post(held+"/cancel", nil).OK()
	w.begin("an upload that is given up")
	x.Owner.Post(imports+"&format=csv", "type,name\nperson,"+strings.Repeat("x", 3<<20)).Fails(400, "VALIDATION_ERROR")
	w.begin("an export")
	x.Owner.Get("/v1/directory/export?q=ada&workspace_id=" + x.WorkspaceID).OK()
	w.list(x.Owner, "/v1/directory", "half of all", "workspace_id", x.WorkspaceID, "external_id", "E-1")
	w.begin("an export of some")
	x.Owner.Get("/v1/directory/export?ids=" + x.Owner.Get("/v1/directory?workspace_id=" + x.WorkspaceID).OK().Column("id")[0] + "&workspace_id=" + x.WorkspaceID).OK()
	w.list(x.Owner, "/v1/directory/imports", "half of all", "workspace_id", x.WorkspaceID, "limit", "2")
}

// doubles looks for doubles by every key, of which some are common, and merges and unmerges entries.
func (w *tour) doubles() {
	x := w.town.large
	payee := func(query string, more body) string {
		content := body{"workspace_id": x.WorkspaceID, "type": "person", "name": "Common name", "external_id": servertest.NewEmail(),
			"fields": body{"email": "payee7@example.com", "phone": "+44 20 00000007"}}
		maps.Copy(content, more)
		return x.Owner.Post("/v1/directory"+query, content).OK().Text("id")
	}
	w.begin("a create that warns of doubles")
	one := payee("?on_duplicate=warn", nil)
	w.begin("a create that refuses doubles")
	other := payee("?on_duplicate=refuse", body{"name": "Nobody else", "fields": body{}})
	account := bankAccount()
	for _, id := range []string{one, other} {
		x.Owner.Post("/v1/directory/"+id+"/receiving-methods", account).OK()
	}
	w.begin("doubles")
	x.Owner.Get("/v1/directory/" + one + "/duplicates").OK()
	w.begin("a merge")
	made := x.Owner.Post("/v1/directory/"+one+"/merge", body{"sources": []string{other}}).OK().Text("id")
	w.list(x.Owner, "/v1/directory/merges", "half of all", "workspace_id", x.WorkspaceID)
	w.list(x.Owner, "/v1/directory/merges", "half of all", "workspace_id", x.WorkspaceID, "entry_id", one)
	w.begin("an undo")
	x.Owner.Post("/v1/directory/merges/"+made+"/undo", nil).OK()
	w.begin("a merge that moves a receiving method, and its undo")
	alone := w.node.Tenant(w.t) // so that no second person is asked
	target, source := alone.Entry("Target"), alone.Entry("Source")
	alone.Owner.AddMethod(source, bankAccount())
	moved := alone.Owner.Post("/v1/directory/"+target+"/merge", body{"sources": []string{source}}).OK().Text("id")
	alone.Owner.Post("/v1/directory/merges/"+moved+"/undo", nil).OK()
	w.begin("identities that wait for approval")
	second := w.node.Person(w.t, alone.Member("admin"))
	rename := func(name string) string {
		return alone.Owner.Patch("/v1/directory/"+source, body{"name": name, "external_id": name}).OK().Text("approval_id")
	}
	rename("Somebody")
	second.Approve(rename("Somebody else")).OK()
	w.begin("a deleted entry with others merged into it")
	x.Owner.Post("/v1/directory/"+one+"/merge", body{"sources": []string{other}}).OK()
	x.Owner.Delete("/v1/directory/" + one).OK()
	w.town.change(`UPDATE directory_entry SET deleted_at = 1 WHERE id = $1`, db.PackID("entry", one))
	w.must(w.node.Server.Tidy(w.t.Context()))
}

// bulks makes each change to many entries, at once and as a job, and undoes it.
func (w *tour) bulks() {
	x := w.town.large
	bulk := func(more body) *servertest.Answer {
		more["workspace_id"] = x.WorkspaceID
		return x.Owner.Post("/v1/directory/bulk", more).OK()
	}
	id := x.Owner.Post("/v1/directory", body{"workspace_id": x.WorkspaceID, "type": "person", "name": "Bulky", "external_id": "B-1", "fields": body{}}).OK().Text("id")
	for _, action := range []string{"tag", "untag", "activate", "deactivate", "delete"} {
		w.begin("a bulk: " + action)
		more := body{"action": action, "ids": []string{id}}
		if action == "tag" || action == "untag" {
			more["tag"] = "bulky"
		}
		done := bulk(more)
		x.Owner.Post("/v1/directory/bulk/"+done.Text("id")+"/undo", nil).OK()
		x.Owner.Get("/v1/directory/bulk/" + done.Text("id")).OK()
	}
	w.begin("a bulk as a job")
	job := bulk(body{"action": "activate", "filter": body{"type": "person"}})
	x.Owner.Post("/v1/directory/bulk/"+job.Text("id")+"/cancel", nil).OK()
	bulk(body{"action": "activate", "filter": body{"q": "bulky"}})
}

// lists asks for the other lists, page by page and whole.
func (w *tour) lists() {
	x := w.town.large
	for _, path := range []string{"/v1/api-keys", "/v1/workspaces", "/v1/organizations", "/v1/invitations", "/v1/auth/activity", x.Path("/members"), x.Path("/roles"), x.Path("/clients"), x.OrganizationPath("/owners")} {
		w.list(x.Owner, path, "half of all", "limit", "25")
		w.list(x.Owner, path, "half of all")
	}
	w.begin("a limited key")
	limited := keyOf(w.t, x, body{"permissions": []string{"ws.read"}, "workspace_ids": []string{x.WorkspaceID}})
	for _, path := range []string{"/v1/api-keys", "/v1/workspaces", "/v1/organizations", "/v1/invitations", x.OrganizationPath("")} {
		limited.Get(path).OK()
	}
	limited.Get("/v2/payout-requests/health/instapay?mode=sandbox").OK()
	w.list(w.town.small.Owner, "/v1/auth/activity", "next to nothing")
	w.list(x.Owner, "/v1/directory/tags", "half of all", "workspace_id", x.WorkspaceID, "limit", "25")
}

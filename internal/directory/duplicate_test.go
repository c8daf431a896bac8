package directory_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

// reasons returns what an answer tells about doubles: the reasons by id.
func reasons(list []api.Duplicate) map[string]string {
	all := map[string]string{}
	for _, d := range list {
		all[d.ID] = strings.Join(d.Reasons, " ")
	}
	return all
}

func doublesOf(c *servertest.Client, id string) map[string]string {
	return reasons(servertest.Decoded[api.Duplicates](c.Get("/v1/directory/" + id + "/duplicates").OK()).Duplicates)
}

func TestDuplicatesAreFoundByWhatTheyHaveInCommon(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		admin := n.Admin(t)
		one := admin.Entry(servertest.Body{"name": "José O’Neill-García", "fields": servertest.Body{"email": "jose@example.com", "phone": "+44 (0)20 7946 0958"}})
		admin.AddMethod(one, servertest.Account("DE89 3704 0044 0532 0130 00"))
		email := admin.Entry(servertest.Body{"name": "Pepe", "fields": servertest.Body{"email": "JOSE@example.com"}})
		phone := admin.Entry(servertest.Body{"name": "Front desk", "fields": servertest.Body{"phone": "0044 20 79460958"}})
		name := admin.Entry(servertest.Body{"fields": servertest.Body{"last-name": "GARCIA", "first-name": "Jose Oneill"}})
		account := admin.Entry(servertest.Body{"type": "organization", "name": "Neighbour"})
		admin.AddMethod(account, servertest.Account("DE89370400440532013000"))
		admin.Entry(servertest.Body{"name": "Nobody in particular", "fields": servertest.Body{"phone": "020 7946 0958"}})
		admin.Delete("/v1/directory/" + admin.Entry(servertest.Body{"fields": servertest.Body{"email": "jose@example.com"}})).OK()
		other := n.Tenant(t)
		other.Owner.Post("/v1/directory", servertest.Body{"workspace_id": other.WorkspaceID, "type": "person", "fields": servertest.Body{"email": "jose@example.com"}}).OK()

		want := map[string]string{email: "email", phone: "phone", name: "name", account: "account"}
		if diff := cmp.Diff(want, doublesOf(admin, one)); diff != "" {
			t.Errorf("the doubles:\n%s", diff)
		}
		viewer := n.Member(t, servertest.NewEmail(), "viewer")
		delete(want, account)
		if diff := cmp.Diff(want, doublesOf(viewer, one)); diff != "" {
			t.Errorf("the doubles for whoever may not read methods:\n%s", diff)
		}
		other.Owner.Get("/v1/directory/"+one+"/duplicates").Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
		// What becomes of an entry becomes of its keys.
		admin.Patch("/v1/directory/"+phone, servertest.Body{"fields": servertest.Body{"phone": "+44 20 7946 0000"}, "name": "Jose Oneill Garcia"}).OK()
		if got := doublesOf(admin, one)[phone]; got != "name" {
			t.Errorf("after a change: %q", got)
		}
	})
}

func TestPhoneNumbersAreComparedAsE164(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		admin := n.Admin(t)
		for same, all := range map[string][]string{
			"London":   {"+442079460958", "+44 (0)20 7946 0958", "0044 20 7946 0958", "+44-20-7946-0958", "＋４４ 20 7946 0958"},
			"New York": {"+12125550123", "+1 (212) 555-0123", "001 212 555 0123"},
			"a desk":   {"+1 212 555 0123 ext. 5", "+12125550123 x5"},
			"no land":  {"020 7946 0958", "02079460958"},
			"nowhere":  {"+999 12", "+99912"},
		} {
			first := ""
			for _, number := range all {
				id := admin.Entry(servertest.Body{"name": same + " " + number, "fields": servertest.Body{"phone": number}})
				if first == "" {
					first = id
				} else if got := doublesOf(admin, id)[first]; got != "phone" {
					t.Errorf("%s: %q has %q in common with %q", same, number, got, all[0])
				}
			}
			if got := len(doublesOf(admin, first)); got != len(all)-1 {
				t.Errorf("%s: %d numbers are the same", same, got)
			}
		}
	})
}

func TestDuplicatesAreAllowedReportedOrRefused(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		admin := n.Admin(t)
		ada := servertest.Body{"workspace_id": n.First.WorkspaceID, "type": "person", "name": "Ada Lovelace", "fields": servertest.Body{"email": "ada@example.com"}, "external_id": "E-1"}
		first := admin.Post("/v1/directory", ada).OK().Text("id")
		delete(ada, "external_id")
		if got := admin.Post("/v1/directory", ada).OK().Object(); len(got) != 1 {
			t.Errorf("unasked, the answer of the specification is %v", got)
		}
		told := servertest.Decoded[api.Created](admin.Post("/v1/directory?on_duplicate=warn", ada).OK())
		if got := reasons(told.Duplicates)[first]; got != "email name" || len(told.Duplicates) != 2 {
			t.Errorf("warned of %v", told.Duplicates)
		}
		if got := admin.Post("/v1/directory?on_duplicate=warn", servertest.Body{"workspace_id": n.First.WorkspaceID, "type": "person", "fields": servertest.Body{}}).OK().Object(); len(got) != 1 {
			t.Errorf("an entry like no other: %v", got)
		}
		n.Unchanged(t, func() {
			no := admin.Post("/v1/directory?on_duplicate=refuse", ada).Fails(http.StatusUnprocessableEntity, "DUPLICATE_ENTRY")
			var answer struct {
				Error struct {
					Details api.Duplicates `json:"details"`
				} `json:"error"`
			}
			no.Envelope(&answer)
			if got := reasons(answer.Error.Details.Duplicates); len(got) != 3 || got[told.ID] != "email name" {
				t.Errorf("refused because of %v", got)
			}
		})
		admin.Post("/v1/directory?on_duplicate=maybe", ada).Invalid("on_duplicate")

		// The workspace decides where the request does not.
		workspace := "/v1/workspaces/" + n.First.WorkspaceID
		if got := admin.Patch(workspace, servertest.Body{"on_duplicate": "refuse"}).OK().Text("on_duplicate"); got != "refuse" {
			t.Errorf("the workspace says %q", got)
		}
		admin.Post("/v1/directory", ada).Fails(http.StatusUnprocessableEntity, "DUPLICATE_ENTRY")
		admin.Post("/v1/directory?on_duplicate=allow", ada).OK()
		results := admin.Post("/v1/directory/batch", servertest.Body{"workspace_id": n.First.WorkspaceID, "items": []any{
			servertest.Body{"type": "person", "name": "lovelace ada"}, servertest.Body{"type": "person", "name": "Grace"}, servertest.Body{"type": "person", "name": "GRACE"},
		}}).OK().Object()["results"].([]any)
		var statuses []string
		for _, r := range results {
			statuses = append(statuses, r.(servertest.Body)["status"].(string))
		}
		if diff := cmp.Diff([]string{"refused", "created", "refused"}, statuses); diff != "" {
			t.Errorf("the batch:\n%s", diff)
		}
		if got := admin.Patch(workspace, servertest.Body{"on_duplicate": "allow"}).OK().Object(); got["on_duplicate"] != nil {
			t.Errorf("the workspace says %v", got)
		}
	})
}

func TestOfEntriesThatAreTheSameOneIsCreated(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		admin := n.Admin(t)
		answers := servertest.SideBySide(8, func(int) *servertest.Answer {
			return admin.Post("/v1/directory?on_duplicate=refuse", servertest.Body{"workspace_id": n.First.WorkspaceID, "type": "person", "name": "Ada", "fields": servertest.Body{}})
		})
		if got := len(admin.Entries().Column("id")); got != 1 {
			t.Errorf("%d were created: %v", got, servertest.Statuses(answers))
		}
	})
}

func TestDryRunReportsDuplicates(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		admin := n.Admin(t)
		ada := admin.Entry(servertest.Body{"name": "Ada"})
		file := "type,name\nperson,ADA\nperson,Grace\n"
		for on, want := range map[string]string{"warn": `"reasons":["name"]`, "refuse": "may be a double", "allow": ""} {
			id := admin.Import(file, "format", "csv", "dry_run", "true", "on_duplicate", on).Text("id")
			plan := string(admin.Get("/v1/directory/imports/" + id + "/plan").Body)
			if strings.Count(plan, want) == 0 || on == "warn" && strings.Count(plan, ada) != 1 || on == "allow" && strings.Contains(plan, "double") {
				t.Errorf("%s: %s", on, plan)
			}
		}
		got := admin.Import(file, "format", "csv", "on_duplicate", "refuse").Object()
		if got["created"] != 1.0 || got["refused"] != 1.0 {
			t.Errorf("the import: %v", got)
		}
	})
}

func TestDuplicatesAreHiddenFromCallersWhoCannotReadEntries(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		admin := n.Admin(t)
		admin.Put("/v1/workspaces/"+n.First.WorkspaceID+"/roles/writer", servertest.Body{"name": "Writer", "permissions": []string{"ws.read", "ws.directory.write"}}).OK()
		writer := n.Member(t, servertest.NewEmail(), "writer")
		ada := servertest.Body{"workspace_id": n.First.WorkspaceID, "type": "person", "name": "Ada", "fields": servertest.Body{}}
		admin.Post("/v1/directory", ada).OK()
		if got := writer.Post("/v1/directory?on_duplicate=warn", ada).OK().Object(); len(got) != 1 {
			t.Errorf("told %v", got)
		}
		no := writer.Post("/v1/directory?on_duplicate=refuse", ada).Fails(http.StatusUnprocessableEntity, "DUPLICATE_ENTRY")
		if strings.Contains(string(no.Body), "Ada") {
			t.Errorf("told %s", no.Body)
		}
	})
}

func TestNamesOfOldEntriesAreFolded(t *testing.T) {
	for _, one := range []struct{ name, label, key string }{
		{"Ada Lovelace", "", "ada lovelace"}, {"LOVELACE, Ádá", "", "ada lovelace"}, {"Straße 5", "", "5 strasse"}, {"", "山田 太郎", "太郎 山田"},
		{"O'Neil", "", "oneil"}, {"O’NEIL", "x", "oneil"}, {"…", "", ""}, {"Ａｄａ", "", "ada"}, {strings.Repeat("é", 300), "", strings.Repeat("e", 200)},
	} {
		if got := db.NameKey(one.name, one.label, nil); got != one.key && (got != nil || one.key != "") {
			t.Errorf("%q, %q: %q", one.name, one.label, got)
		}
	}
	if slices.Contains([]any{db.NameKey("Ada", "", nil)}, db.NameKey("Adam", "", nil)) {
		t.Error("Ada is Adam")
	}
}

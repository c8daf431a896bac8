package directory_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"bursar/internal/directory/entryfile"
	"bursar/internal/server/servertest"
)

// textProperties are the properties that hold any text, each with a value.
func textProperties() map[string]string {
	values := map[string]string{}
	for _, p := range entryfile.Properties() {
		if p.Values == nil {
			values[p.Name] = "The " + p.Name
		}
	}
	return values
}

// has reports which properties of an entry are not as wanted.
func has(t *testing.T, c *servertest.Client, id, after string, want map[string]string) {
	t.Helper()
	entry := c.Get("/v1/directory/" + id).OK().Object()
	for name, value := range want {
		if got := fmt.Sprint(entry[name]); got != value {
			t.Errorf("%s: %s is %q, want %q", after, name, got, value)
		}
	}
}

// suffixed returns values that differ from others.
func suffixed(values map[string]string, suffix string) map[string]string {
	all := map[string]string{}
	for name, value := range values {
		all[name] = value + suffix
	}
	return all
}

// request is the body of a request with properties.
func request(values map[string]string, more body) body {
	for name, value := range values {
		more[name] = value
	}
	return more
}

func TestEveryPropertySurvivesEveryWayThroughTheDirectory(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		admin, values := n.Admin(t), textProperties()

		created := admin.Entry(request(values, body{}))
		has(t, admin, created, "created", values)

		changed := suffixed(values, " changed")
		admin.Patch("/v1/directory/"+created, request(changed, body{})).OK()
		has(t, admin, created, "updated", changed)
		log := string(admin.Get("/v1/audit?limit=1&action=directory.entry.updated&workspace_id=" + n.First.WorkspaceID).OK().Body)
		for name := range values {
			if !strings.Contains(log, `"field":"`+name+`","before"`) {
				t.Errorf("the audit entry of the update does not contain %s", name)
			}
		}

		inBatch := suffixed(values, " in a batch")
		admin.Post("/v1/directory/batch", body{"workspace_id": n.First.WorkspaceID, "items": []body{request(inBatch, body{"type": "person"})}}).OK()
		has(t, admin, admin.Entries("external_id", inBatch["external_id"]).OK().Column("id")[0], "created in a batch", inBatch)

		imported := suffixed(values, " imported")
		line, _ := json.Marshal(request(imported, body{"type": "person"}))
		admin.Import(string(line)+"\n", "format", "ndjson")
		id := admin.Entries("external_id", imported["external_id"]).OK().Column("id")[0]
		has(t, admin, id, "imported", imported)
		for _, format := range []string{"csv", "ndjson"} {
			file := string(admin.Get("/v1/directory/export?" + servertest.Query("workspace_id", n.First.WorkspaceID, "format", format)).Body)
			for name, value := range imported {
				if !strings.Contains(file, value) {
					t.Errorf("the export as %s lacks %s", format, name)
				}
			}
		}
	})
}

func TestAMergeTakesOverEveryPropertyAndItsUndoGivesItBack(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		admin, values := n.Admin(t), textProperties()
		target, source := admin.Entry(body{"name": "Target"}), admin.Entry(request(values, body{}))
		take := map[string]string{}
		for name := range values {
			take[name] = source
		}
		before := bytesOf(admin, target, source)
		merged := admin.Post(mergePath(target), body{"sources": []string{source}, "fields": take}).OK().Text("id")
		has(t, admin, target, "merged", values)
		for name, value := range values {
			admin.Patch("/v1/directory/"+target, body{name: value + " since"}).OK()
			if refused := undoMerge(admin, merged).Fails(422, "MERGE_CHANGED"); !strings.Contains(string(refused.Body), `"`+name+`"`) {
				t.Errorf("the undo does not notice that %s has changed: %s", name, refused.Body)
			}
			admin.Patch("/v1/directory/"+target, body{name: value}).OK()
		}
		undoMerge(admin, merged).OK()
		for i, after := range bytesOf(admin, target, source) {
			if after != before[i] {
				t.Errorf("the undo makes %s of %s", after, before[i])
			}
		}
	})
}

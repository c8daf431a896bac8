package directory_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/server/servertest"
	"bursar/internal/torture"
)

type body = servertest.Body

func mergePath(id string) string { return "/v1/directory/" + id + "/merge" }

// merge merges entries and returns the id of the merge.
func merge(c *servertest.Client, target string, sources ...string) string {
	return c.Post(mergePath(target), body{"sources": sources}).OK().Text("id")
}

func undoMerge(c *servertest.Client, id string) *servertest.Answer {
	return c.Post("/v1/directory/merges/"+id+"/undo", body{})
}

// bytesOf are the answers of entries, to the byte.
func bytesOf(c *servertest.Client, ids ...string) (all []string) {
	for _, id := range ids {
		all = append(all, string(c.Get("/v1/directory/"+id).OK().Body))
	}
	return all
}

// couple makes two entries that differ in everything.
func couple(n *servertest.Node, c *servertest.Client) (target, source string) {
	target = c.Entry(body{"name": "Ada", "tags": []string{"vip", "Old"}, "fields": body{"email": "ada@example.com", "number": 1.50}})
	c.AddMethod(target, servertest.Account("11110000"))
	n.Clock.Advance(time.Second)
	source = c.Entry(body{"label": "Countess", "tags": []string{"old", "new"}, "external_id": "E-1", "fields": body{"email": "countess@example.com", "phone": "+442079460958", "address": body{"b": 1, "a": []int{1}}}})
	c.AddMethod(source, servertest.Account("22220000"))
	c.AddMethod(source, servertest.Account("33330000", body{"is_default": true}))
	n.Clock.Advance(time.Second)
	return target, source
}

func TestMergeMovesEverythingAndUndoBringsItBack(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		admin := n.Admin(t)
		target, source := couple(n, admin)
		before := bytesOf(admin, target, source)
		listed := string(admin.Entries("sort", "updated").OK().Body)
		take := body{"sources": []string{source}, "fields": body{"fields.email": source}, "dry_run": true}
		n.Unchanged(t, func() {
			dry := servertest.Decoded[api.Merge](admin.Post(mergePath(target), take))
			var fields []string
			for _, c := range dry.Changes {
				fields = append(fields, c.Field)
			}
			if got := fmt.Sprint(dry.ID, fields, dry.Tags, len(dry.ReceivingMethods)); got != "[external_id fields.email fields.address fields.phone] [new] 2" {
				t.Errorf("the rehearsal: %s", got)
			}
		})
		delete(take, "dry_run")
		made := servertest.Decoded[api.Merge](admin.Post(mergePath(target), take))

		got := admin.Get("/v1/directory/" + target).OK().Object()
		want := body{"email": "countess@example.com", "number": 1.5, "phone": "+442079460958", "address": body{"b": 1.0, "a": []any{1.0}}}
		if diff := cmp.Diff([]any{"Ada", "E-1", want, []any{"new", "Old", "vip"}}, []any{got["label"], got["external_id"], got["fields"], got["tags"]}); diff != "" {
			t.Errorf("the target:\n%s", diff)
		}
		if got := methodsOf(t, admin, target); got != "11110000* 22220000 33330000" {
			t.Errorf("the methods of the target: %s", got)
		}
		got = admin.Get("/v1/directory/" + source).OK().Object()
		if diff := cmp.Diff([]any{target, "Countess", "E-1", []any{}}, []any{got["merged_into"], got["label"], got["external_id"], got["receiving_methods"]}); diff != "" {
			t.Errorf("the source:\n%s", diff)
		}
		for _, query := range [][]string{{}, {"q", "countess@example.com"}, {"external_id", "E-1"}, {"tag", "new"}, {"sort", "label"}} {
			if got := admin.Entries(query...).Column("id"); !slices.Equal(got, []string{target}) {
				t.Errorf("the list by %v: %v", query, got)
			}
		}
		if got := string(admin.Get("/v1/directory/export?workspace_id=" + n.First.WorkspaceID).Body); strings.Contains(got, source) {
			t.Errorf("the export has the source: %s", got)
		}

		if diff := cmp.Diff(made.ID, undoMerge(admin, made.ID).OK().Text("id")); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(before, bytesOf(admin, target, source)); diff != "" {
			t.Errorf("after the undo:\n%s", diff)
		}
		if diff := cmp.Diff(listed, string(admin.Entries("sort", "updated").OK().Body)); diff != "" {
			t.Errorf("the list after the undo:\n%s", diff)
		}
		if got := admin.Entries("q", "countess").Column("id"); !slices.Equal(got, []string{source}) {
			t.Errorf("a search after the undo: %v", got)
		}
		n.Unchanged(t, func() { undoMerge(admin, made.ID).OK() })
		page := servertest.Decoded[[]api.Merge](admin.Get("/v1/directory/merges?entry_id=" + target + "&workspace_id=" + n.First.WorkspaceID))
		if len(page) != 1 || page[0].ID != made.ID || page[0].UndoneAt == 0 {
			t.Errorf("the merges: %v", page)
		}
	})
}

func TestMergeShowsItsHistory(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		admin := n.Admin(t)
		target, source := couple(n, admin)
		history := func(id string) (rows []string) {
			for _, row := range admin.Get("/v1/audit?limit=100&entry_id=" + id + "&workspace_id=" + n.First.WorkspaceID).OK().List() {
				rows = append(rows, row["action"].(string)+" "+row["resource_id"].(string))
			}
			slices.Sort(rows)
			return rows
		}
		ofTarget, ofSource := history(target), history(source)
		made := merge(admin, target, source)
		want := slices.Concat(ofTarget, ofSource, []string{"directory.entry.merged " + source, "directory.entry.merged " + target})
		slices.Sort(want)
		if diff := cmp.Diff(want, history(target)); diff != "" {
			t.Errorf("the history of the target:\n%s", diff)
		}
		row := admin.Get("/v1/audit?action=directory.entry.merged&resource_id=" + target + "&workspace_id=" + n.First.WorkspaceID).OK().List()[0]
		told := fmt.Sprint(row["changes"])
		if strings.Contains(told, "22220000") || !strings.Contains(told, "•••• 0000") || !strings.Contains(told, "+442079460958") {
			t.Errorf("the row tells %s", told)
		}
		undoMerge(admin, made).OK()
		if got := history(target); len(got) != len(ofTarget)+2 {
			t.Errorf("the history after the undo: %v", got)
		}
		if got := history(source); len(got) != len(ofSource)+2 {
			t.Errorf("the history of the source after the undo: %v", got)
		}
	})
}

func TestUndoReportsWhatWasChangedSince(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		admin := n.Admin(t)
		target, source := couple(n, admin)
		third := admin.Entry(body{"name": "Third"})
		made := merge(admin, target, source)
		path := "/v1/directory/" + target
		refused := func(what, fields string) {
			t.Helper()
			n.Unchanged(t, func() {
				var answer struct {
					Error struct {
						Details struct{ Fields []string }
					}
				}
				undoMerge(admin, made).Fails(http.StatusUnprocessableEntity, "MERGE_CHANGED").Envelope(&answer)
				if got := strings.Join(answer.Error.Details.Fields, " "); got != fields {
					t.Errorf("%s: %q, not %q", what, got, fields)
				}
			})
		}
		admin.Patch(path, body{"fields": body{"phone": "1", "number": nil}, "status": "inactive"}).OK()
		refused("an update", "fields.number fields.phone status")
		admin.Patch(path, body{"fields": body{"phone": "+442079460958", "number": 1.50}, "status": "active"}).OK()
		refused("the order of fields", "fields")
		admin.Patch(path, body{"fields": body{"email": nil, "number": nil, "phone": nil, "address": nil}}).OK()
		admin.Patch(path, body{"fields": body{"email": "ada@example.com"}}).OK()
		admin.Patch(path, body{"fields": body{"number": 1.50}}).OK()
		admin.Patch(path, body{"fields": body{"address": body{"b": 1, "a": []int{1}}}}).OK()
		admin.Patch(path, body{"fields": body{"phone": "+442079460958"}}).OK()
		admin.Patch(path, body{"tags": []string{"vip"}}).OK()
		refused("tags", "tags")
		admin.Patch(path, body{"tags": []string{"vip", "old", "new"}}).OK()
		added := admin.AddMethod(target, servertest.Account("99999999"))
		refused("a method", "receiving_methods")
		admin.Delete(path + "/receiving-methods/" + added).OK()
		admin.Delete(path).OK()
		refused("deleted", "status")
		admin.Post(path+"/restore", nil).OK()
		later := merge(admin, target, third)
		refused("a later merge", "")
		undoMerge(admin, later).OK()
		above := merge(admin, third, target)
		refused("merged itself", "")
		undoMerge(admin, above).OK()
		admin.Patch(path, body{"external_id": ""}).OK()
		refused("the external id", "external_id")
		admin.Patch(path, body{"external_id": "E-1"}).OK()
		undoMerge(admin, made).OK() // everything is as the merge has made it

		// Another person has the external id that the source had.
		four := admin.Entry(body{"external_id": "E-4"})
		five := admin.Entry(body{"external_id": "E-5"})
		made = merge(admin, four, five)
		admin.Patch("/v1/directory/"+third, body{"external_id": "E-5"}).OK()
		refused("a taken external id", "external_id")

		n.Clock.Advance(31 * 24 * time.Hour)
		admin = n.Admin(t)
		undoMerge(admin, made).Fails(http.StatusUnprocessableEntity, "MERGE_FINAL")
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		undoMerge(admin, made).Fails(http.StatusUnprocessableEntity, "MERGE_FINAL")
		if got := admin.Get("/v1/directory/" + five).OK().Text("merged_into"); got != four {
			t.Errorf("the source was merged into %q", got)
		}
	})
}

func TestMergedEntryIsReadAndNotChanged(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		admin := n.Admin(t)
		target, source := couple(n, admin)
		third := admin.Entry(nil)
		merge(admin, target, source)
		path := "/v1/directory/" + source
		n.Unchanged(t, func() {
			for what, answer := range map[string]*servertest.Answer{
				"update":  admin.Patch(path, body{"name": "x"}),
				"delete":  admin.Delete(path),
				"restore": admin.Post(path+"/restore", nil),
				"method":  admin.Post(path+"/receiving-methods", servertest.Account("1")),
				"target":  admin.Post(mergePath(source), body{"sources": []string{third}}),
				"source":  admin.Post(mergePath(third), body{"sources": []string{source}}),
			} {
				if answer.Status != http.StatusUnprocessableEntity || answer.Code() != "ENTRY_MERGED" {
					t.Errorf("%s: %d %s", what, answer.Status, answer.Body)
				}
			}
		})
		if got := doublesOf(admin, source); len(got) != 0 {
			t.Errorf("doubles of a merged entry: %v", got)
		}
		// It goes for good with the entry that it was merged into.
		merge(admin, third, target)
		admin.Delete("/v1/directory/" + third).OK()
		n.Clock.Advance(31 * 24 * time.Hour)
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		admin = n.Admin(t)
		for _, id := range []string{target, source, third} {
			admin.Get("/v1/directory/"+id).Fails(http.StatusNotFound, "NOT_FOUND")
			if got := n.Audited(t, id); got[len(got)-1] != "directory.entry.purged" {
				t.Errorf("the log of %s: %v", id, got)
			}
		}
	})
}

func TestMergeIsRefused(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		admin := n.Admin(t)
		target, source := couple(n, admin)
		other := n.Tenant(t)
		foreign := other.Owner.Post("/v1/directory", body{"workspace_id": other.WorkspaceID, "type": "person", "fields": body{}}).OK().Text("id")
		company := admin.Entry(body{"type": "organization"})
		deleted := admin.Entry(nil)
		admin.Delete("/v1/directory/" + deleted).OK()
		var many []string
		for i := range 31 {
			many = append(many, fmt.Sprint("tag ", i))
		}
		tagged := admin.Entry(body{"tags": many})
		rich := admin.Entry(nil)
		for i := range 49 {
			admin.AddMethod(rich, servertest.Account(fmt.Sprint("4444", i)))
		}
		made := merge(admin, company, admin.Entry(body{"type": "organization"}))
		member := n.Member(t, servertest.NewEmail(), "member") // who may not change methods
		viewer := n.Member(t, servertest.NewEmail(), "viewer")
		n.Unchanged(t, func() {
			for _, ids := range [][]string{{target, foreign}, {target, deleted}, {deleted, target}, {target, "entry_1"}, {foreign, target}} {
				admin.Post(mergePath(ids[0]), body{"sources": ids[1:]}).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
			}
			admin.Post(mergePath(target), body{"sources": []string{company}}).Invalid("sources")
			admin.Post(mergePath(target), body{"sources": []string{target}}).Invalid("sources")
			admin.Post(mergePath(target), body{"sources": []string{}}).Invalid("sources")
			admin.Post(mergePath(target), body{"sources": []string{source}, "fields": body{"name": company}}).Invalid("fields")
			admin.Post(mergePath(target), body{"sources": []string{source}, "fields": body{"type": source}}).Invalid("fields")
			admin.Post(mergePath(target), body{"sources": []string{source}, "fields": body{"fields.none": source}}).Invalid("fields")
			admin.Post(mergePath(target), body{"sources": []string{tagged}}).Fails(http.StatusUnprocessableEntity, "TOO_MANY")
			admin.Post(mergePath(source), body{"sources": []string{rich}}).Fails(http.StatusUnprocessableEntity, "TOO_MANY")
			other.Owner.Get("/v1/directory/merges/"+made).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
			undoMerge(other.Owner, made).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
			if got := other.Owner.Get("/v1/directory/merges?entry_id=" + company + "&workspace_id=" + other.WorkspaceID).OK().List(); len(got) != 0 {
				t.Errorf("the merges of another tenant: %v", got)
			}
		})
		member.Post(mergePath(target), body{"sources": []string{source}}).Fails(http.StatusForbidden, "FORBIDDEN")
		viewer.Post(mergePath(target), body{"sources": []string{source}}).Fails(http.StatusForbidden, "FORBIDDEN")
		undoMerge(viewer, made).Fails(http.StatusForbidden, "FORBIDDEN")
		undoMerge(member, made).OK() // no method moves
		made = merge(admin, target, source)
		undoMerge(member, made).Fails(http.StatusForbidden, "FORBIDDEN")
		viewer.Get("/v1/directory/merges/" + made).OK()
	})
}

func TestDefaultOfAMergeIsTheTargets(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		admin := n.Admin(t)
		empty, none := admin.Entry(nil), admin.Entry(nil)
		a, b := admin.Entry(nil), admin.Entry(nil)
		for _, id := range []string{a, b} {
			admin.AddMethod(id, servertest.Account(id[len(id)-4:]+"1"))
			admin.AddMethod(id, servertest.Account(id[len(id)-4:]+"2", body{"is_default": true}))
		}
		before := bytesOf(admin, empty, none, a, b)
		made := merge(admin, empty, none, b, a)
		if got := methodsOf(t, admin, empty); strings.Count(got, "*") != 1 || !strings.Contains(got, b[len(b)-4:]+"2*") {
			t.Errorf("the methods: %s", got)
		}
		undoMerge(admin, made).OK()
		if diff := cmp.Diff(before, bytesOf(admin, empty, none, a, b)); diff != "" {
			t.Errorf("after the undo:\n%s", diff)
		}
	})
}

func TestMergesAndChangesAtOnceLeaveOneOrTheOther(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		admin := n.Admin(t)
		for range torture.Rounds(4, 100) {
			a, b := couple(n, admin)
			c := admin.Entry(body{"name": "C"})
			act := []func() *servertest.Answer{
				func() *servertest.Answer { return admin.Post(mergePath(a), body{"sources": []string{b, c}}) },
				func() *servertest.Answer { return admin.Post(mergePath(b), body{"sources": []string{a, c}}) },
				func() *servertest.Answer { return admin.Post(mergePath(c), body{"sources": []string{b}}) },
				func() *servertest.Answer { return admin.Delete("/v1/directory/" + b) },
				func() *servertest.Answer { return admin.Patch("/v1/directory/"+c, body{"name": "D"}) },
				func() *servertest.Answer { return admin.Patch("/v1/directory/"+a, body{"tags": []string{"x"}}) },
			}
			for _, answer := range servertest.SideBySide(len(act), func(i int) *servertest.Answer { return act[i]() }) {
				if answer.Status != http.StatusOK && answer.Status != http.StatusNotFound && answer.Code() != "ENTRY_MERGED" {
					t.Errorf("%d %s", answer.Status, answer.Body)
				}
			}
			// Whatever was first, no method is lost or has two owners, and no one points at themselves.
			var methods []string
			live := admin.Entries("limit", "100").Column("id")
			for _, id := range []string{a, b, c} {
				answer := admin.Get("/v1/directory/" + id)
				if answer.Status == http.StatusNotFound {
					admin.Post("/v1/directory/"+id+"/restore", nil).OK()
					answer = admin.Get("/v1/directory/" + id).OK()
				}
				e := servertest.Decoded[api.Entry](answer)
				if (e.MergedInto == "") != slices.Contains(append(live, id), id) && e.MergedInto == "" {
					t.Errorf("%s is lost", id)
				}
				if e.MergedInto != "" && slices.Contains(live, id) {
					t.Errorf("%s is merged and listed", id)
				}
				for _, m := range *e.ReceivingMethods {
					methods = append(methods, m.AccountID)
				}
			}
			slices.Sort(methods)
			if diff := cmp.Diff([]string{"11110000", "22220000", "33330000"}, methods); diff != "" {
				t.Errorf("the methods:\n%s", diff)
			}
			for _, m := range servertest.Decoded[[]api.Merge](admin.Get("/v1/directory/merges?limit=100&workspace_id=" + n.First.WorkspaceID)) {
				undoMerge(admin, m.ID)
			}
			for _, id := range []string{a, b, c} {
				admin.Patch("/v1/directory/"+id, body{"external_id": ""})
				admin.Delete("/v1/directory/" + id)
			}
		}
	})
}

// known is what the model knows about an entry.
type known struct {
	Name, External, MergedInto string
	Fields                     map[string]string
	Tags                       []string
	Methods                    []string // the default with a star
	Updated                    int64
}

func (k known) clone() known {
	k.Fields, k.Tags, k.Methods = maps.Clone(k.Fields), slices.Clone(k.Tags), slices.Clone(k.Methods)
	return k
}

// knownMerge is what the model knows about a merge.
type knownMerge struct {
	id, target string
	sources    []string
	before     map[string]known
	after      known
	undone     bool
}

// TestMergeAndUndoByAModel merges, changes and undoes at random, and compares every entry with
// what a model in memory says, after each step.
func TestMergeAndUndoByAModel(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for round := range torture.Rounds(2, 50) {
			modelOfMerges(t, n, round)
		}
	})
}

func modelOfMerges(t *testing.T, n *servertest.Node, round int) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	admin := n.Admin(t)
	model, last := map[string]*known{}, map[string]int64{}
	var ids []string
	var merges []*knownMerge
	number := 0
	const now = 0 // a time that is learned from the entry
	live := func(id string) bool { return model[id].MergedInto == "" }
	pick := func() string { return ids[random.IntN(len(ids))] }
	for i := range 5 {
		name := fmt.Sprint("Entry ", round, " ", i)
		id := admin.Entry(body{"name": name})
		ids = append(ids, id)
		made := servertest.Decoded[api.Entry](admin.Get("/v1/directory/" + id)).UpdatedAt
		model[id], last[id] = &known{Name: name, Fields: map[string]string{}, Tags: []string{}, Updated: made}, made
	}
	var steps []string
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d:\n%s", seed, strings.Join(steps, "\n"))
		}
	})
	step := func(format string, args ...any) { steps = append(steps, fmt.Sprintf(format, args...)) }
	for range torture.Rounds(40, 200) {
		n.Clock.Advance(time.Millisecond)
		id := pick()
		k := model[id]
		switch random.IntN(7) {
		case 0: // a field
			key, value := []string{"a", "b", "c"}[random.IntN(3)], fmt.Sprint(random.IntN(3))
			step("set %s of %s", key, id)
			answer := admin.Patch("/v1/directory/"+id, body{"fields": body{key: value}})
			if !live(id) {
				answer.Fails(http.StatusUnprocessableEntity, "ENTRY_MERGED")
			} else if answer.OK(); k.Fields[key] != value {
				k.Fields[key], k.Updated = value, now
			}
		case 1: // tags
			tags := []string{}
			for _, tag := range []string{"x", "y", "z"} {
				if random.IntN(2) == 0 {
					tags = append(tags, tag)
				}
			}
			if live(id) {
				step("tag %s", id)
				admin.Patch("/v1/directory/"+id, body{"tags": tags}).OK()
				if !slices.Equal(tags, k.Tags) {
					k.Tags, k.Updated = tags, now
				}
			}
		case 2: // a method
			if live(id) {
				step("add a method to %s", id)
				number++
				account := fmt.Sprintf("%08d", number)
				admin.AddMethod(id, servertest.Account(account))
				if len(k.Methods) == 0 {
					account += "*"
				}
				k.Methods = append(k.Methods, account)
			}
		case 3: // an external id
			if live(id) && !slices.ContainsFunc(ids, func(other string) bool { return live(other) && model[other].External == id }) {
				step("name %s", id)
				admin.Patch("/v1/directory/"+id, body{"external_id": id}).OK()
				if k.External != id {
					k.External, k.Updated = id, now
				}
			}
		case 4, 5: // a merge
			sources := slices.DeleteFunc([]string{pick(), pick()}, func(other string) bool { return other == id })
			sources = slices.Compact(sources)
			if len(sources) == 0 {
				break
			}
			take := body{}
			for _, key := range []string{"a", "b"} {
				if random.IntN(3) == 0 && slices.ContainsFunc(append([]string{id}, sources...), func(one string) bool { return model[one].Fields[key] != "" }) {
					take["fields."+key] = sources[random.IntN(len(sources))]
				}
			}
			step("merge %v into %s taking %v", sources, id, take)
			answer := admin.Post(mergePath(id), body{"sources": sources, "fields": take})
			if !live(id) || slices.ContainsFunc(sources, func(one string) bool { return !live(one) }) {
				answer.Fails(http.StatusUnprocessableEntity, "ENTRY_MERGED")
				break
			}
			m := &knownMerge{id: answer.OK().Text("id"), target: id, sources: sources, before: map[string]known{id: k.clone()}}
			for _, source := range sources {
				s := model[source]
				m.before[source] = s.clone()
				for _, key := range []string{"a", "b", "c"} {
					if from, named := take["fields."+key]; named && from == source || !named && k.Fields[key] == "" {
						if s.Fields[key] != "" {
							k.Fields[key] = s.Fields[key]
						}
					}
				}
				if k.External == "" {
					k.External = s.External
				}
				k.Tags = append(slices.Clone(k.Tags), s.Tags...)
				slices.Sort(k.Tags)
				k.Tags = slices.Compact(k.Tags)
				hadDefault := len(k.Methods) > 0
				for _, account := range s.Methods {
					if hadDefault {
						account = strings.TrimSuffix(account, "*")
					}
					k.Methods = append(k.Methods, account)
				}
				s.Methods, s.MergedInto = nil, id
			}
			for key, from := range take {
				if m.before[from.(string)].Fields[strings.TrimPrefix(key, "fields.")] == "" {
					delete(k.Fields, strings.TrimPrefix(key, "fields."))
				}
			}
			slices.Sort(k.Methods)
			k.Updated = now
			m.after = k.clone()
			merges = append(merges, m)
		case 6: // an undo
			if len(merges) == 0 {
				break
			}
			m := merges[random.IntN(len(merges))]
			step("undo %s", m.id)
			answer := undoMerge(admin, m.id)
			if m.undone {
				answer.OK()
				break
			}
			target := model[m.target].clone()
			target.Updated = m.after.Updated
			later := slices.ContainsFunc(merges, func(other *knownMerge) bool { return other.target == m.target && other.id > m.id && !other.undone })
			taken := slices.ContainsFunc(ids, func(other string) bool {
				_, part := m.before[other]
				return !part && live(other) && model[other].External != "" && slices.ContainsFunc(slices.Collect(maps.Values(m.before)), func(k known) bool { return k.External == model[other].External })
			})
			if !live(m.target) || later || taken || cmp.Diff(m.after, target) != "" {
				answer.Fails(http.StatusUnprocessableEntity, "MERGE_CHANGED")
				break
			}
			answer.OK()
			m.undone = true
			for id, was := range m.before {
				*model[id] = was
			}
		}
		for _, id := range ids {
			e := servertest.Decoded[api.Entry](admin.Get("/v1/directory/" + id))
			got := known{Name: e.Name, External: e.ExternalID, MergedInto: e.MergedInto, Fields: map[string]string{}, Tags: e.Tags, Updated: e.UpdatedAt}
			for _, f := range e.Fields {
				got.Fields[f.Key], _ = f.Text()
			}
			for _, m := range *e.ReceivingMethods {
				if m.IsDefault {
					m.AccountID += "*"
				}
				got.Methods = append(got.Methods, m.AccountID)
			}
			want := model[id].clone()
			if want.Updated == now {
				model[id].Updated, want.Updated = got.Updated, got.Updated
				if got.Updated <= last[id] {
					t.Fatalf("%s was changed and its time was not", id)
				}
				last[id] = got.Updated
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s:\n%s", id, diff)
			}
		}
		listed := 0
		for _, id := range admin.Entries("limit", "100").Column("id") {
			if slices.Contains(ids, id) {
				listed++
			}
		}
		if want := len(slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !live(id) })); listed != want {
			t.Fatalf("%d entries are listed, not %d", listed, want)
		}
	}
}

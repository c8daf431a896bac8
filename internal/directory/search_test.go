package directory_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestSearchFindsEntriesByTheBeginningsOfTheirWords(t *testing.T) {
	t.Parallel()
	entries := []struct{ key, label, fields string }{
		{"ada", "Ada Lovelace", `{"email":"countess@engine.example","nested":{"street":["Main Street",{"house":4711}]},"active":true,"none":null}`},
		{"brien", "Seán O'Brien-Smith", `{"note":"50% off_season","phone":"+63 (2) 8888-1234"}`},
		{"zolw", "ŻÓŁW Żwawy", `{"city":"\u0141\u00f3d\u017a","nul":"left\u0000right"}`},
		{"li", "李小龍", `{"name":"Ли Сяолун"}`},
		{"long", strings.Repeat("x", 60) + "end", `{}`},
		{"plain", "Adam", `{"price":77.05,"shop":"Lace"}`},
	}
	cases := []struct{ q, want string }{
		{"ada", "plain ada"}, {"ADA", "plain ada"}, {"adam", "plain"}, {"lovel", "ada"}, {"lace", "plain"}, {"da", ""},
		{"ada lov", "ada"}, {"lov ada", "ada"}, {"ada ada", "plain ada"}, {"ada adam", "plain"}, {"ada brien", ""}, {"lovelace lace", ""}, {"  ada   lovelace  ", "ada"},
		{"countess", "ada"}, {"countess@engine.example", "ada"}, {"engine@countess", "ada"}, {"@ada!", "plain ada"},
		{"main", "ada"}, {"street", "ada"}, {"471", "ada"}, {"711", ""},
		{"nested", ""}, {"house", ""}, {"email", ""}, {"note", ""}, {"true", ""}, {"null", ""},
		{"o'brien", "brien"}, {"O’BRIEN smith", "brien"}, {"seán", "brien"}, {"SEÁN", "brien"}, {"50%", "brien"}, {"off_sea", "brien"}, {"8888-1234", "brien"},
		{"żółw", "zolw"}, {"Żw", "zolw"}, {"łódź", "zolw"}, {"ŁÓ", "zolw"}, {"right", "zolw"}, {"leftright", ""},
		{"李", "li"}, {"李小", "li"}, {"小", ""}, {"ли", "li"}, {"СЯО ЛИ", "li"},
		{strings.Repeat("x", 60) + "end", "long"}, {strings.Repeat("X", 5), "long"},
		{"77.05", "plain"}, {"77", "plain"},
		{"%", "plain long li zolw brien ada"}, {"_", "plain long li zolw brien ada"}, {"", "plain long li zolw brien ada"}, {"ad%", "plain ada"}, {"a_a", "plain ada"}, {`ad\`, "plain ada"},
		{"' OR 1=1 --", ""},
	}
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		keys := map[string]string{}
		for _, e := range entries {
			keys[admin.Entry(servertest.Body{"label": e.label, "fields": json.RawMessage(e.fields)})] = e.key
		}
		for _, c := range cases {
			t.Run(c.q, func(t *testing.T) {
				var got []string
				for _, id := range admin.On(t).Entries("q", c.q).OK().Column("id") {
					got = append(got, keys[id])
				}
				if found := strings.Join(got, " "); found != c.want {
					t.Errorf("%q finds %q, want %q", c.q, found, c.want)
				}
			})
		}
	})
}

func TestSearchFollowsUpdates(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		id := admin.Entry(servertest.Body{"fields": servertest.Body{"name": "An Anna", "city": "Cebu"}})
		steps := []struct {
			change     servertest.Body
			finds, not string
		}{
			{servertest.Body{}, "an anna cebu", "bob davao"},
			{servertest.Body{"fields": servertest.Body{"city": "Davao"}}, "an anna davao", "cebu"},
			{servertest.Body{"fields": servertest.Body{"name": "An Bob"}}, "an bob davao", "anna cebu"},
			{servertest.Body{"name": "Carol"}, "carol an bob davao", "anna"},
			{servertest.Body{"fields": servertest.Body{"city": nil}}, "carol bob", "davao"},
			{servertest.Body{"label": "Dora"}, "dora bob", "carol"},
			{servertest.Body{"status": "inactive", "tags": []string{"vip"}}, "dora bob", "vip inactive"},
		}
		for _, step := range steps {
			admin.Patch("/v1/directory/"+id, step.change).OK()
			for _, word := range strings.Fields(step.finds) {
				if got := admin.Entries("q", word).OK().Column("id"); !slices.Equal(got, []string{id}) {
					t.Errorf("after %v %q finds %v", step.change, word, got)
				}
			}
			for _, word := range strings.Fields(step.not) {
				if got := admin.Entries("q", word).OK().Column("id"); len(got) > 0 {
					t.Errorf("after %v %q still finds %v", step.change, word, got)
				}
			}
		}
	})
}

// A long text must not hide the label, and only the first words count.
func TestSearchKnowsTheFirst256WordsOfAnEntry(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		var words []string
		for i := range 300 {
			words = append(words, fmt.Sprintf("w%03d", i))
		}
		id := admin.Entry(servertest.Body{"label": "Zoe", "fields": servertest.Body{"note": strings.Join(words, " ")}})
		for q, found := range map[string]bool{"zoe": true, "w000": true, "w100": true, "w254": true, "w255": false, "w299": false} {
			if got := admin.Entries("q", q).OK().Column("id"); slices.Contains(got, id) != found {
				t.Errorf("%q finds %v", q, got)
			}
		}
	})
}

// crowd puts so many entries into the first workspace, all of which have the
// word "common" and one that only they have, and returns their ids, oldest first.
func crowd(t *testing.T, n *servertest.Node, count int, tag string) []string {
	t.Helper()
	ids, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) ([]string, audit.Event, error) {
		var ids []string
		for i := range count {
			id, own := tx.NewID("entry"), fmt.Sprintf("own%05d", i)
			ids = append(ids, id)
			kind, status := "person", "active"
			if i%7 == 0 {
				kind = "organization"
			}
			if i%3 == 0 {
				status = "inactive"
			}
			if err := tx.Exec(`INSERT INTO directory_entry (id, workspace_number, type, label, label_sent, name, status, fields, words, created_at, updated_at)
				VALUES ($1, (SELECT number FROM workspace WHERE id = $2), $3, $4, TRUE, '', $5, '{}', $6, 0, 0)`, db.PackID("entry", id), n.First.WorkspaceID, kind, "Common "+own, status, " common "+own); err != nil {
				return nil, audit.Event{}, err
			}
			for _, word := range []string{"common", own} {
				if err := tx.Exec(`INSERT INTO directory_word (workspace_number, word, entry_id) VALUES ((SELECT number FROM workspace WHERE id = $1), $2, $3)`,
					n.First.WorkspaceID, word, db.PackID("entry", id)); err != nil {
					return nil, audit.Event{}, err
				}
			}
			if i%5 == 0 {
				if err := tx.Exec(`INSERT INTO directory_entry_tag (entry_id, tag_id, live) VALUES ($1, $2, TRUE)`, db.PackID("entry", id), tag); err != nil {
					return nil, audit.Event{}, err
				}
			}
		}
		return ids, audit.None("rows of a test"), nil
	})
	if err != nil {
		t.Fatalf("fill the directory: %v", err)
	}
	return ids
}

// A word that very many entries have is looked for in another way than a rare
// one; no one must notice.
func TestSearchForACommonWordFindsWhatARareOneWould(t *testing.T) {
	t.Parallel()
	const count = 2100
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		tag := admin.Post("/v1/directory/tags", servertest.Body{"workspace_id": n.First.WorkspaceID, "name": "fifth"}).OK().Text("id")
		rare := admin.Entry(servertest.Body{"label": "Commander Rare"})
		ids := crowd(t, n, count, tag)
		cases := []struct {
			query []string
			want  func(i int) bool
		}{
			{[]string{"q", "common own", "type", "organization"}, func(i int) bool { return i%7 == 0 }},
			{[]string{"q", "common", "tag", "fifth"}, func(i int) bool { return i%5 == 0 }},
			{[]string{"q", "common", "status", "inactive", "type", "person"}, func(i int) bool { return i%3 == 0 && i%7 != 0 }},
			{[]string{"q", "common", "tag", "fifth", "type", "person", "status", "active"}, func(i int) bool { return i%5 == 0 && i%7 != 0 && i%3 != 0 }},
			{[]string{"q", "common own001"}, func(i int) bool { return i >= 100 && i < 200 }},
			{[]string{"q", "own001 comm", "tag", "fifth"}, func(i int) bool { return i >= 100 && i < 200 && i%5 == 0 }},
			{[]string{"q", "common commander"}, func(int) bool { return false }},
		}
		for _, c := range cases {
			t.Run(strings.Join(c.query, " "), func(t *testing.T) {
				var want []string
				for i, id := range slices.Backward(ids) {
					if c.want(i) {
						want = append(want, id)
					}
				}
				got := admin.On(t).Walk("/v1/directory?limit=100&"+servertest.Query(append(c.query, "workspace_id", n.First.WorkspaceID)...), nil)
				if !slices.Equal(got, want) {
					t.Errorf("found %d entries, want %d", len(got), len(want))
				}
			})
		}
		t.Run("the beginning of both", func(t *testing.T) {
			got := admin.On(t).Walk("/v1/directory?limit=100&q=comm&workspace_id="+n.First.WorkspaceID, nil)
			slices.Reverse(got)
			if want := append([]string{rare}, ids...); !slices.Equal(got, want) {
				t.Errorf("found %d entries, want all %d in order", len(got), len(want))
			}
		})
	})
}

// Entries are not filed under a word any more that very many have: no one must
// notice that either, nor another process, nor when such an entry comes back.
func TestEntriesAreFoundByAWordThatTheyAreNotFiledUnder(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		tag := admin.Post("/v1/directory/tags", servertest.Body{"workspace_id": n.First.WorkspaceID, "name": "fifth"}).OK().Text("id")
		crowd(t, n, 2100, tag)
		filed := func() int {
			return n.Count(t, `SELECT count(*) FROM directory_word WHERE workspace_number = (SELECT number FROM workspace WHERE id = $1) AND word = $2`, n.First.WorkspaceID, "common")
		}
		for i := range 520 {
			admin.Entry(servertest.Body{"label": fmt.Sprint("Common later", i)})
		}
		before := filed()
		last := admin.Entry(servertest.Body{"label": "Common rarest"})
		if after := filed(); after != before {
			t.Fatalf("%d entries were filed under the word, and then %d", before, after)
		}
		find := func(by *servertest.Client, q string) []string { return by.Entries("q", q).OK().Column("id") }
		other := admin.On(t)
		other.Node = servertest.Start(t, store)
		other.Node.First = n.First
		for _, by := range []*servertest.Client{admin, other} {
			for _, q := range []string{"common", "comm", "rarest", "common rarest", "rar com"} {
				if found := find(by, q); len(found) == 0 || found[0] != last {
					t.Errorf("%q finds %v", q, found)
				}
			}
		}
		admin.Delete("/v1/directory/" + last).OK()
		if found := find(admin, "common rarest"); len(found) != 0 {
			t.Errorf("what is deleted is found: %v", found)
		}
		admin.Post("/v1/directory/"+last+"/restore", nil).OK()
		admin.Patch("/v1/directory/"+last, servertest.Body{"label": "Common rarer"}).OK()
		if found := find(other, "common rarer"); !slices.Equal(found, []string{last}) {
			t.Errorf("what came back is not found: %v", found)
		}
	})
}

package directory_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// names are labels that bytes sort otherwise than people do.
var names = []string{
	"Zoë", "zoe", "Zoe", "Ádám", "Adam", "adam", "Łukasz", "Lukas", "Müller", "Muller", "Mueller", "de la Cruz", "De La Cruz", "dela Cruz",
	"Ñuñez", "Nunez", "Ølberg", "Olberg", "山田太郎", "Алексей", "Ёлкин", "Елкин", "αθήνα", "Αθηνά", "محمد", "3M", "10 Downing", "2 Brothers", "O'Neil", "Oneil",
}

type listed struct {
	id, label, kind, status string
	tagged                  bool
	updated                 int // the turn of its last change
}

// some makes entries of all kinds in a random order and changes some of them.
func some(t *testing.T, n *servertest.Node, admin *servertest.Client) []listed {
	var all []listed
	for turn, i := range rand.Perm(len(names)) {
		e := listed{label: names[i], kind: []string{"person", "organization"}[rand.IntN(2)], status: "active", tagged: rand.IntN(2) == 0, updated: turn}
		tags := []string{}
		if e.tagged {
			tags = append(tags, "vip")
		}
		e.id = admin.Entry(servertest.Body{"type": e.kind, "label": e.label, "tags": tags})
		all = append(all, e)
	}
	for turn := range 15 {
		n.Clock.Advance(1e6) // a millisecond
		e := &all[rand.IntN(len(all))]
		e.status, e.updated = "inactive", 100+turn
		e.label += fmt.Sprint(" ", turn)
		admin.Patch("/v1/directory/"+e.id, servertest.Body{"status": e.status, "label": e.label}).OK()
	}
	return all
}

func TestEntriesAreListedInEveryOrder(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		all := some(t, n, admin)
		labels := collate.New(language.Und)
		orders := map[string]func(a, b listed) int{
			"created": func(a, b listed) int { return strings.Compare(a.id, b.id) },
			"updated": func(a, b listed) int { return cmp.Compare(a.updated, b.updated) },
			"label": func(a, b listed) int {
				return cmp.Or(labels.CompareString(a.label, b.label), strings.Compare(a.id, b.id))
			},
		}
		for _, filter := range [][]string{nil, {"type", "person"}, {"status", "inactive"}, {"type", "organization", "status", "active"}, {"tag", "vip"}, {"tag", "vip", "type", "person"}} {
			for sort, compare := range orders {
				want := slices.SortedFunc(slices.Values(all), compare)
				want = slices.DeleteFunc(want, func(e listed) bool {
					has := map[string]string{"type": e.kind, "status": e.status, "tag": "vip"}
					if !e.tagged {
						has["tag"] = ""
					}
					for i := 0; i < len(filter); i += 2 {
						if has[filter[i]] != filter[i+1] {
							return true
						}
					}
					return false
				})
				for _, sign := range []string{"", "-"} {
					if sign == "-" {
						slices.Reverse(want)
					}
					query := append([]string{"sort", sign + sort, "limit", "7"}, filter...)
					if got := walk(admin, query); !slices.Equal(got, ids(want)) {
						t.Errorf("%v: %v, want %v", query, labelled(all, got), want)
					}
				}
			}
		}
	})
}

// walk reads a list to its end.
func walk(c *servertest.Client, query []string) (ids []string) {
	for cursor, more := "", true; more; {
		page := query
		if cursor != "" {
			page = append(slices.Clone(query), "cursor", cursor)
		}
		answer := c.Entries(page...).OK()
		ids = append(ids, answer.Column("id")...)
		cursor, more = answer.Page()
	}
	return ids
}

func ids(all []listed) (ids []string) {
	for _, e := range all {
		ids = append(ids, e.id)
	}
	return ids
}

func labelled(all []listed, ids []string) (out []listed) {
	for _, id := range ids {
		out = append(out, all[slices.IndexFunc(all, func(e listed) bool { return e.id == id })])
	}
	return out
}

// PostgreSQL sorts by the Unicode library of another project.
func TestLabelsAreSortedAsAnotherLibraryDoes(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.Postgres(t))
	admin := n.Admin(t)
	for i, name := range names {
		admin.Entry(servertest.Body{"label": name, "type": []string{"person", "organization"}[i%2]})
	}
	var want []string
	err := n.DB.Read(t.Context(), func(q db.Q) (err error) {
		want, err = db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT label FROM directory_entry ORDER BY label COLLATE "und-x-icu"`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	got := admin.Entries("sort", "label", "limit", "100").OK().Column("label")
	if !slices.Equal(got, want) {
		t.Errorf("sorted as %q, want %q", got, want)
	}
}

func TestASortThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	admin := n.Admin(t)
	people(admin, 3)
	for _, query := range [][]string{{"sort", "name"}, {"sort", ""}, {"sort", "--label"}, {"sort", "label", "q", "ada"}, {"sort", "created", "q", "ada"}} {
		admin.Entries(query...).Invalid("sort")
	}
	admin.Entries("sort", "-created", "q", "ada").OK()
	cursor, _ := admin.Entries("sort", "label", "limit", "1").OK().Page()
	admin.Entries("sort", "-label", "limit", "1", "cursor", cursor).Invalid("cursor")
	admin.Entries("limit", "1", "cursor", cursor).Invalid("cursor")
}

// Package goal is what a run is to show of Bursar, as ratios within the run.
package goal

import (
	"cmp"
	"fmt"

	"bursar/bench/plan"
	"bursar/bench/report"
)

const (
	sqlite   = "bursar-sqlite"
	postgres = "bursar-postgres"
	bare     = "bare"
	peer     = "pocketbase"
	kratosPG = "kratos-postgres"
)

// Goals are the goals of a run with stores of those sizes.
func Goals(r report.Report, sizes plan.Sizes) []report.Goal {
	g := goals{report: r, sizes: sizes}
	g.requests()
	g.pages()
	g.audit()
	g.kratos()
	g.mixed()
	g.bounds()
	return g.all
}

type goals struct {
	report report.Report
	sizes  plan.Sizes
	all    []report.Goal
}

// side is a work of a subject.
type side struct{ work, subject string }

func (g *goals) requests() {
	list := plan.Work{Kind: plan.List, Store: g.sizes.Main}.Name()
	create := plan.Work{Kind: plan.Create, Callers: plan.Callers}.Name()
	for _, c := range []struct {
		text, work, other string
		want              float64
	}{
		{"GET /auth/me against the bare handler", string(plan.WhoAmI), bare, 0.80},
		{"GET /auth/me against PocketBase", string(plan.WhoAmI), peer, 10},
		{"GET /directory against the bare handler with the same query", list, bare, 0.80},
		{"GET /directory against PocketBase without its count", list, peer, 7},
		{"POST /directory, 64 callers, against PocketBase as it ships", create, peer, 4},
		{"POST /directory, 64 callers, against a bare group commit of the same rows", create, bare, 0.60},
		{"POST /auth/token against PocketBase's token refresh", string(plan.Token), peer, 1.5},
	} {
		g.atLeast(c.text, c.want, pair{of: side{c.work, sqlite}, by: side{c.work, c.other}})
	}
}

// usualLarge is the size of the large store, also of a run without it.
func (g *goals) usualLarge() int { return cmp.Or(g.sizes.Large, 1_000_000) }

func (g *goals) large() string { return plan.Number(g.usualLarge()) }

// pages are goals of both engines, and of every filter.
func (g *goals) pages() {
	for _, engine := range []side{{"SQLite", sqlite}, {"PostgreSQL", postgres}} {
		var deep, grown []pair
		add := func(filter string, size int) {
			deep = append(deep, pair{filter: filter,
				of: side{plan.Work{Kind: plan.Deep, Store: size, Filter: filter}.Name(), engine.subject},
				by: side{plan.Work{Kind: plan.List, Store: size, Filter: filter}.Name(), engine.subject}})
		}
		add(plan.Plain, g.sizes.Main)
		for _, filter := range plan.Filters() {
			if g.sizes.Large > 0 {
				add(filter, g.sizes.Large)
			}
			grown = append(grown, pair{filter: filter,
				of: side{plan.Work{Kind: plan.List, Store: g.usualLarge(), Filter: filter}.Name(), engine.subject},
				by: side{plan.Work{Kind: plan.List, Store: g.sizes.Small, Filter: filter}.Name(), engine.subject}})
		}
		depth := plan.Work{Kind: plan.Deep, Store: g.sizes.Main}.Before()
		g.atLeast(fmt.Sprintf("%s: a page %s rows deep against the first, each filter", engine.work, plan.Number(depth)), 0.95, deep...)
		g.atLeast(fmt.Sprintf("%s: first page at %s rows against %s, each filter", engine.work, g.large(), plan.Number(g.sizes.Small)), 0.90, grown...)
	}
}

func (g *goals) audit() {
	name := func(filter string) string {
		return plan.Work{Kind: plan.Audit, Store: g.sizes.Largest(), Filter: filter}.Name()
	}
	pairs := func(subject string, other side) []pair {
		var out []pair
		for _, filter := range plan.AuditFilters() {
			out = append(out, pair{of: side{name(filter), subject}, by: other, filter: filter, apart: other.subject != subject})
		}
		return out
	}
	rows := plan.Number(g.sizes.Largest())
	g.atLeast("GET /audit at "+rows+" rows, each filter, against PocketBase's log list, which counts", 50, pairs(sqlite, side{name(plan.Counted), peer})...)
	g.atLeast("SQLite: GET /audit at "+rows+" rows, each filter, against the directory list", 0.80, pairs(sqlite, side{name(plan.Directory), sqlite})...)
	g.atLeast("PostgreSQL: GET /audit at "+rows+" rows, each filter, against the directory list", 0.80, pairs(postgres, side{name(plan.Directory), postgres})...)
}

func (g *goals) kratos() {
	for _, c := range []struct{ text, work string }{
		{"who am I", string(plan.WhoAmI)},
		{"list", plan.Work{Kind: plan.List, Store: g.sizes.Main}.Name()},
		{"create, 64 callers", plan.Work{Kind: plan.Create, Callers: plan.Callers}.Name()},
	} {
		g.atLeast("PostgreSQL: "+c.text+" against Kratos", 10, pair{of: side{c.work, postgres}, by: side{c.work, kratosPG}})
	}
}

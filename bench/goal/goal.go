// Package goal lists what a run is to show of Bursar. Goals are ratios within the run where
// possible, because the speed of a machine changes and that of two programs side by side
// changes with it.
package goal

import (
	"cmp"
	"fmt"

	"bursar/bench/plan"
	"bursar/bench/report"
)

const (
	sqlite     = "bursar-sqlite"
	postgres   = "bursar-postgres"
	bare       = "bare"
	pocketBase = "pocketbase"
	kratos     = "kratos-postgres"
)

// Goals returns the goals of a run with stores of those sizes.
func Goals(r report.Report, sizes plan.Sizes) []report.Goal {
	g := goals{report: r, sizes: sizes}
	g.requests()
	g.pages()
	g.audit()
	g.imports()
	g.money()
	g.sequenced()
	g.backup()
	g.kratos()
	g.mixed()
	g.bounds()
	g.disk()
	return g.all
}

type goals struct {
	report report.Report
	sizes  plan.Sizes
	all    []report.Goal
}

// side is a workload of a subject.
type side struct{ workload, subject string }

// engine is Bursar on one of its databases.
type engine struct{ title, subject string }

func engines() []engine { return []engine{{"SQLite", sqlite}, {"PostgreSQL", postgres}} }

func (g *goals) requests() {
	list := plan.Workload{Kind: plan.List, Store: g.sizes.Main}.Name()
	create := plan.Workload{Kind: plan.Create, Callers: plan.Callers}.Name()
	for _, c := range []struct {
		text, workload, other string
		want                  float64
	}{
		{"GET /auth/me against the bare handler", string(plan.WhoAmI), bare, 0.80},
		{"GET /auth/me against PocketBase", string(plan.WhoAmI), pocketBase, 10},
		{"GET /directory against the bare handler with the same query", list, bare, 0.80},
		{"GET /directory against PocketBase without its count", list, pocketBase, 7},
		{"POST /directory, 64 callers, against PocketBase as it ships", create, pocketBase, 4},
		{"POST /directory, 64 callers, against a bare group commit of the same rows", create, bare, 0.60},
		{"POST /auth/token against PocketBase's token refresh", string(plan.Token), pocketBase, 1.5},
	} {
		g.atLeast(c.text, c.want, pair{of: side{c.workload, sqlite}, by: side{c.workload, c.other}})
	}
}

// large is the size of the large store; a run without one names the usual size.
func (g *goals) large() int { return cmp.Or(g.sizes.Large, 1_000_000) }

// pages are the goals of list pages on both engines, for every filter.
func (g *goals) pages() {
	list := func(kind plan.Kind, size int, filter string, e engine) side {
		return side{plan.Workload{Kind: kind, Store: size, Filter: filter}.Name(), e.subject}
	}
	for _, e := range engines() {
		deep := []pair{{filter: plan.Plain, of: list(plan.Deep, g.sizes.Main, plan.Plain, e), by: list(plan.List, g.sizes.Main, plan.Plain, e)}}
		var grown []pair
		for _, filter := range plan.Filters() {
			if g.sizes.Large > 0 {
				deep = append(deep, pair{filter: filter, of: list(plan.Deep, g.sizes.Large, filter, e), by: list(plan.List, g.sizes.Large, filter, e)})
			}
			grown = append(grown, pair{filter: filter, of: list(plan.List, g.large(), filter, e), by: list(plan.List, g.sizes.Small, filter, e)})
		}
		depth := plan.Workload{Kind: plan.Deep, Store: g.sizes.Main}.Before()
		g.atLeast(fmt.Sprintf("%s: a page %s rows deep against the first, each filter", e.title, plan.Number(depth)), 0.95, deep...)
		g.atLeast(fmt.Sprintf("%s: first page at %s rows against %s, each filter", e.title, plan.Number(g.large()), plan.Number(g.sizes.Small)), 0.90, grown...)
	}
}

func (g *goals) audit() {
	name := func(filter string) string {
		return plan.Workload{Kind: plan.Audit, Store: g.sizes.Largest(), Filter: filter}.Name()
	}
	pairs := func(subject string, other side) (out []pair) {
		for _, filter := range plan.AuditFilters() {
			out = append(out, pair{of: side{name(filter), subject}, by: other, filter: filter, apart: other.subject != subject})
		}
		return out
	}
	rows := plan.Number(g.sizes.Largest())
	g.atLeast("GET /audit at "+rows+" rows, each filter, against PocketBase's log list, which counts", 50, pairs(sqlite, side{name(plan.Counted), pocketBase})...)
	for _, e := range engines() {
		g.atLeast(e.title+": GET /audit at "+rows+" rows, each filter, against the directory list", 0.80, pairs(e.subject, side{name(plan.Directory), e.subject})...)
	}
}

// imports are the goals of the import of a file.
func (g *goals) imports() {
	for _, e := range engines() {
		g.atLeast(fmt.Sprintf("%s: %s lines imported, limits on, against a bare group commit of the same rows", e.title, plan.Number(g.sizes.Main)), 0.60,
			pair{of: side{plan.Import, e.subject}, by: side{plan.ImportBare, e.subject}})
	}
}

// money are the goals of payouts and of what accounts show.
func (g *goals) money() {
	for _, e := range engines() {
		payout := func(filter string) side {
			return side{plan.Workload{Kind: plan.Payout, Filter: filter}.Name(), e.subject}
		}
		g.atLeast(fmt.Sprintf("%s: payouts of one account, %d callers, against those of %d accounts", e.title, plan.Callers, plan.Callers),
			map[string]float64{sqlite: 0.9, postgres: 0.6}[e.subject], pair{of: payout(plan.FromOne), by: payout(plan.FromMany)})
		g.atLeast(e.title+": payouts of one account against a bare group commit of the same rows", 0.5, pair{of: payout(plan.FromOne), by: payout(plan.BareRows)})
		var grown []pair
		for _, kind := range []plan.Kind{plan.Balance, plan.Postings} {
			with := func(postings int) side { return side{plan.Workload{Kind: kind, Store: postings}.Name(), e.subject} }
			grown = append(grown, pair{of: with(g.sizes.Largest()), by: with(g.sizes.Small), filter: string(kind)})
		}
		g.atLeast(fmt.Sprintf("%s: balance and first postings of an account with %s postings against %s", e.title, plan.Number(g.sizes.Largest()), plan.Number(g.sizes.Small)), 0.8, grown...)
	}
	for _, e := range engines() {
		earlier := e.subject + "-before"
		if _, ok := g.report.Find(plan.PayoutThrough, earlier); !ok {
			continue
		}
		const text = ": payouts from the request to completed, against the earlier commit: "
		g.atLeast(e.title+text+"rate", 0.9, pair{of: side{plan.PayoutThrough, e.subject}, by: side{plan.PayoutThrough, earlier}})
		g.atLeast(e.title+text+"CPU time of the earlier one", 0.9, pair{of: side{plan.PayoutCPU, earlier}, by: side{plan.PayoutCPU, e.subject}})
	}
	g.bound(report.AtLeast, "SQLite: payouts from the request to completed, through the simulator", 1000, "req/s", side{plan.PayoutThrough, sqlite})
}

// backup are the goals of the continuous backup.
func (g *goals) backup() {
	create := plan.Workload{Kind: plan.Create, Callers: plan.Callers}.Name()
	g.atLeast("SQLite: POST /directory, 64 callers, with a continuous backup against without", 0.95,
		pair{of: side{create, sqlite + "-backup"}, by: side{create, sqlite}})
}

// sequenced are the goals of how far the audit log is behind.
func (g *goals) sequenced() {
	for _, e := range engines() {
		g.atMost(e.title+": from commit to signed checkpoint, p99 under full load", 2000, "ms", side{plan.CheckpointDelay, e.subject})
		g.atMost(e.title+": how far the feed is behind, p99 under full load", 700, "ms", side{plan.FeedDelay, e.subject})
	}
}

func (g *goals) kratos() {
	for _, c := range []struct{ text, workload string }{
		{"who am I", string(plan.WhoAmI)},
		{"list", plan.Workload{Kind: plan.List, Store: g.sizes.Main}.Name()},
		{"create, 64 callers", plan.Workload{Kind: plan.Create, Callers: plan.Callers}.Name()},
	} {
		g.atLeast("PostgreSQL: "+c.text+" against Kratos", 10, pair{of: side{c.workload, postgres}, by: side{c.workload, kratos}})
	}
}

// mixed are the goals of the load at half of the highest rate.
func (g *goals) mixed() {
	const text = "Mixed load at half of the highest rate: "
	p99 := pair{of: side{plan.MixedP99, sqlite}, by: side{plan.MixedP99, bare}}
	ratio, absent := g.ratio(p99)
	g.add(report.AtMost(text+"p99 against the bare handler's", 3, "×", ratio), absent)
	half, ok := g.report.Find(plan.MixedHalf, sqlite)
	var errors report.Spread
	if ok {
		errors, absent = report.SpreadOf([]float64{float64(half.Errors)}), ""
	} else {
		absent = missing(side{plan.MixedHalf, sqlite})
	}
	g.add(report.AtMost(text+"errors", 0, "", errors), absent)
	g.atMost(text+"memory at the end against the first ten seconds", 1.2, "×", side{plan.MemoryGrowth, sqlite})
}

// bounds are the goals that are not ratios.
func (g *goals) bounds() {
	for _, e := range engines() {
		g.atMost(e.title+": start to first answer, empty store", 100, "ms", side{plan.StartName(0), e.subject})
		g.atMost(e.title+": start to first answer, "+plan.Number(g.large())+" rows", 300, "ms", side{plan.StartName(g.large()), e.subject})
		g.atMost(e.title+": memory idle", 40, "MiB", side{plan.MemoryIdle, e.subject})
		g.atMost(e.title+": memory at 64 callers", 200, "MiB", side{plan.MemoryLoad, e.subject})
	}
}

// disk are the goals of the space that an entry takes, with PocketBase's beside Bursar's.
func (g *goals) disk() {
	for _, e := range engines() {
		text := e.title + ": space on disk per entry, with its search words and its audit row"
		if peer, ok := g.report.Find(plan.DiskPerEntry, pocketBase); ok {
			text += fmt.Sprintf("; PocketBase's, without either: %.0f B", peer.Value.Median*1024)
		}
		g.atMost(text, map[string]float64{sqlite: 1.1, postgres: 1.4}[e.subject], "KiB", side{plan.DiskPerEntry, e.subject})
	}
}

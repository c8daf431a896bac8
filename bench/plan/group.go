package plan

import "strconv"

// Sizes are the sizes of the stores, in rows. Large is 0 where it is left out.
type Sizes struct{ Small, Main, Large int }

// All returns the sizes that are used, smallest first.
func (s Sizes) All() []int {
	out := []int{s.Small, s.Main}
	if s.Large > 0 {
		out = append(out, s.Large)
	}
	return out
}

// Largest is the size of the largest store.
func (s Sizes) Largest() int { return max(s.Main, s.Large) }

// StartSizes are the sizes of the stores that servers are restarted on.
func (s Sizes) StartSizes() []int {
	if s.Large > 0 {
		return []int{0, s.Large}
	}
	return []int{0}
}

// StartName is the name of the measured start of a server over a store of that size.
func StartName(size int) string {
	if size == 0 {
		return "start/empty"
	}
	return "start/" + strconv.Itoa(size)
}

// Group is a set of workloads that are compared with each other. They are measured in turn,
// so that whatever slows the machine down for a while slows all of them down.
type Group struct {
	Workloads []Workload
	// ShortTurns is set where the workloads differ by less than the speed of the machine
	// changes from second to second: shorter turns put both sides into the same moment.
	ShortTurns bool
}

// Groups returns all workloads in their order. Writes come after reads, so that lists are
// measured on stores of a known size.
func Groups(s Sizes) []Group {
	groups := []Group{
		{Workloads: []Workload{{Kind: WhoAmI, Store: s.Main, Callers: Callers}}},
		{Workloads: []Workload{{Kind: List, Store: s.Main, Callers: Callers}}},
		{Workloads: []Workload{
			{Kind: Deep, Store: s.Main, Callers: Callers},
			{Kind: List, Store: s.Main, Filter: Counted, Callers: Callers},
		}},
	}
	for _, filter := range Filters() {
		groups = append(groups, Group{lists(s, filter), true})
	}
	groups = append(groups, statements(s, Balance), statements(s, Postings), Group{audits(s), true}, Group{Workloads: []Workload{
		{Kind: Audit, Store: s.Largest(), Filter: "level", Callers: Callers},
		{Kind: Audit, Store: s.Largest(), Filter: Counted, Callers: Callers},
	}})
	groups = append(groups, Group{sized(s, Read), true})
	for _, w := range []Workload{
		{Kind: Read, Callers: Callers},
		{Kind: Token, Callers: Callers},
		{Kind: Update, Callers: Callers},
		{Kind: Create, Callers: 1},
		{Kind: Create, Callers: Callers},
	} {
		w.Store = s.Main
		groups = append(groups, Group{Workloads: []Workload{w}})
	}
	return append(groups, Group{Workloads: sized(s, Create)}, Group{Workloads: []Workload{
		{Kind: Payout, Filter: FromOne, Callers: Callers},
		{Kind: Payout, Filter: FromMany, Callers: Callers},
		{Kind: Payout, Filter: BareRows, Callers: Callers},
	}})
}

func lists(s Sizes, filter string) []Workload {
	var out []Workload
	add := func(kind Kind, size int) {
		out = append(out, Workload{Kind: kind, Store: size, Filter: filter, Callers: Callers})
	}
	add(List, s.Main)
	if filter == Plain {
		add(Deep, s.Main)
	}
	add(List, s.Small)
	if s.Large > 0 {
		add(List, s.Large)
		add(Deep, s.Large)
	}
	return out
}

// sized are the same requests to the store of each size.
func sized(s Sizes, kind Kind) (out []Workload) {
	for _, size := range s.All() {
		out = append(out, Workload{Kind: kind, Store: size, Filter: Sized, Callers: Callers})
	}
	return out
}

// statements are about an account with few postings and one with many.
func statements(s Sizes, kind Kind) Group {
	return Group{[]Workload{{Kind: kind, Store: s.Largest(), Callers: Callers}, {Kind: kind, Store: s.Small, Callers: Callers}}, true}
}

func audits(s Sizes) []Workload {
	out := []Workload{{Kind: Audit, Store: s.Largest(), Filter: Directory, Callers: Callers}}
	for _, filter := range AuditFilters() {
		out = append(out, Workload{Kind: Audit, Store: s.Largest(), Filter: filter, Callers: Callers})
	}
	return out
}

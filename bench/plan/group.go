package plan

// Other ways to ask for a list, beside what it is filtered by.
const (
	Counted   = "counted"   // with the number of all rows
	Directory = "directory" // not of the log but of the directory, to compare the two
	Plain     = "plain"     // without a filter, to compare with those that have one
)

// Sizes are those of the stores, in rows. Large is 0 where it is left out.
type Sizes struct{ Small, Main, Large int }

// All are the sizes that there are, from the small one up.
func (s Sizes) All() []int {
	var out []int
	for _, size := range []int{s.Small, s.Main, s.Large} {
		if size > 0 {
			out = append(out, size)
		}
	}
	return out
}

// Largest is the size of the largest store.
func (s Sizes) Largest() int { return max(s.Main, s.Large) }

// Filters are those of the directory; the first is none.
func Filters() []string { return []string{Plain, "type", "status", "tag"} }

// AuditFilters are those of the audit log; the first is none.
func AuditFilters() []string {
	return []string{"", "actor", "action", "resource_type", "resource_id", "outcome", "span"}
}

// Group is what is compared with each other: its works are measured in turn, so
// that what slows the machine down for a while slows all of them.
type Group struct {
	Works []Work
	// Quick turns are for works that hardly differ: a machine moves by more than that
	// from second to second.
	Quick bool
}

// Groups are all works in their order. What writes comes after what reads, so that
// lists are of stores of a known size.
func Groups(s Sizes) []Group {
	groups := []Group{
		{Works: []Work{{Kind: WhoAmI, Store: s.Main, Callers: Callers}}},
		{Works: []Work{{Kind: List, Store: s.Main, Callers: Callers}}},
		{Works: []Work{
			{Kind: Deep, Store: s.Main, Callers: Callers},
			{Kind: List, Store: s.Main, Filter: Counted, Callers: Callers},
		}},
	}
	for _, filter := range Filters() {
		groups = append(groups, Group{lists(s, filter), true})
	}
	groups = append(groups, Group{audits(s), true}, Group{Works: []Work{
		{Kind: Audit, Store: s.Largest(), Filter: "level", Callers: Callers},
		{Kind: Audit, Store: s.Largest(), Filter: Counted, Callers: Callers},
	}})
	for _, w := range []Work{
		{Kind: Read, Callers: Callers},
		{Kind: Token, Callers: Callers},
		{Kind: Update, Callers: Callers},
		{Kind: Create, Callers: 1},
		{Kind: Create, Callers: Callers},
	} {
		w.Store = s.Main
		groups = append(groups, Group{Works: []Work{w}})
	}
	return groups
}

func lists(s Sizes, filter string) []Work {
	var out []Work
	add := func(kind Kind, size int, filter string) {
		out = append(out, Work{Kind: kind, Store: size, Filter: filter, Callers: Callers})
	}
	add(List, s.Main, filter)
	if filter == Plain {
		add(Deep, s.Main, filter)
	}
	add(List, s.Small, filter)
	if s.Large > 0 {
		add(List, s.Large, filter)
		add(Deep, s.Large, filter)
	}
	return out
}

func audits(s Sizes) []Work {
	out := []Work{{Kind: Audit, Store: s.Largest(), Filter: Directory, Callers: Callers}}
	for _, filter := range AuditFilters() {
		out = append(out, Work{Kind: Audit, Store: s.Largest(), Filter: filter, Callers: Callers})
	}
	return out
}

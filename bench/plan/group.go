package plan

// Other ways to ask for a list, beside what it is filtered by.
const (
	Counted   = "counted"   // with the number of all rows
	Directory = "directory" // not of the log but of the directory, to compare the two
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
func Filters() []string { return []string{"", "type", "status", "tag"} }

// AuditFilters are those of the audit log; the first is none.
func AuditFilters() []string {
	return []string{"", "actor", "action", "resource_type", "resource_id", "outcome", "span"}
}

// Group is what is compared with each other: its works are measured in turn, so
// that what slows the machine down for a while slows all of them.
type Group []Work

// Groups are all works in their order. What writes comes after what reads, so that
// lists are of stores of a known size.
func Groups(s Sizes) []Group {
	groups := []Group{{{Kind: WhoAmI, Store: s.Main, Callers: Callers}}}
	for _, filter := range Filters() {
		groups = append(groups, lists(s, filter))
	}
	groups = append(groups, audits(s))
	for _, w := range []Work{
		{Kind: Read, Callers: Callers},
		{Kind: Token, Callers: Callers},
		{Kind: Update, Callers: Callers},
		{Kind: Create, Callers: 1},
		{Kind: Create, Callers: Callers},
	} {
		w.Store = s.Main
		groups = append(groups, Group{w})
	}
	return groups
}

func lists(s Sizes, filter string) Group {
	var out Group
	add := func(kind Kind, size int, filter string) {
		out = append(out, Work{Kind: kind, Store: size, Filter: filter, Callers: Callers})
	}
	add(List, s.Main, filter)
	if filter == "" {
		add(Deep, s.Main, "")
		add(List, s.Main, Counted)
	}
	add(List, s.Small, filter)
	if s.Large > 0 {
		add(List, s.Large, filter)
		add(Deep, s.Large, filter)
	}
	return out
}

func audits(s Sizes) Group {
	out := Group{{Kind: Audit, Store: s.Largest(), Filter: Directory, Callers: Callers}}
	for _, filter := range append(AuditFilters(), "level", Counted) {
		out = append(out, Work{Kind: Audit, Store: s.Largest(), Filter: filter, Callers: Callers})
	}
	return out
}

package tree

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/go-json-experiment/json"

	"bursar/api"
)

// Erasures collects the erased rows of a stream and the later rows that record the erasures.
// A row may be erased only if a later row audit.erased names it: by its id, or within a span
// of places, "seq FROM-TO".
type Erasures struct {
	rows  []erasedRow
	ids   map[string]int64 // what a row records as erased, and the place of that row
	spans []erasedSpan
}

type erasedRow struct {
	seq   int64
	id    string
	named bool
}

type erasedSpan struct {
	span
	by int64 // the place of the row that records it
}

// See adds a row that is known to be true.
func (e *Erasures) See(row api.AuditProofRow) {
	e.see(row.Seq, row.ID, len(row.Erased) > 0, erasedBy(row.Entry))
}

func (e *Erasures) see(seq int64, id string, isErased bool, erases string) {
	if isErased {
		e.rows = append(e.rows, erasedRow{seq: seq, id: id})
	}
	if erases == "" {
		return
	}
	by := erasedSpan{by: seq}
	if n, err := fmt.Sscanf(erases, "seq %d-%d", &by.from, &by.to); n == 2 && err == nil {
		e.spans = append(e.spans, by)
		return
	}
	if e.ids == nil {
		e.ids = map[string]int64{}
	}
	e.ids[erases] = max(e.ids[erases], seq)
}

// Len returns how many rows were erased.
func (e *Erasures) Len() int64 { return int64(len(e.rows)) }

// Unnamed returns the rows that were erased although no later row records it.
func (e *Erasures) Unnamed() []Failure {
	slices.SortFunc(e.rows, func(a, b erasedRow) int { return cmp.Compare(a.seq, b.seq) })
	for _, by := range e.spans {
		first := sort.Search(len(e.rows), func(i int) bool { return e.rows[i].seq >= by.from })
		for i := first; i < len(e.rows) && e.rows[i].seq <= by.to; i++ {
			e.rows[i].named = e.rows[i].named || by.by > e.rows[i].seq
		}
	}
	var unnamed []Failure
	for _, row := range e.rows {
		if !row.named && e.ids[row.id] <= row.seq {
			unnamed = append(unnamed, Failure{Kind: Edited, Seq: row.seq, ID: row.id, Why: "what can be personal in it was removed, and no later row audit.erased says so"})
		}
	}
	return unnamed
}

// erasedBy returns what a row records as erased.
func erasedBy(entry string) string {
	if !strings.HasPrefix(entry, `["audit.erased","success",`) {
		return ""
	}
	var values []any
	if err := json.Unmarshal([]byte(entry), &values); err != nil || len(values) < 7 {
		return ""
	}
	text, _ := values[6].(string)
	return text
}

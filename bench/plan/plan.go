// Package plan lists the workloads that the subjects run, and their order.
package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is what the requests of a workload do.
type Kind string

const (
	WhoAmI Kind = "whoami"
	List   Kind = "list"
	Deep   Kind = "deep"
	Create Kind = "create"
	Update Kind = "update"
	Read   Kind = "read"
	Audit  Kind = "audit"
	Token  Kind = "token"
	Mixed  Kind = "mixed"

	Payout   Kind = "payout"
	Balance  Kind = "balance"
	Postings Kind = "postings"
)

// Names of the measurements that are not one of the workloads in Groups.
const (
	MixedHighest = "mixed/highest"
	MixedHalf    = "mixed/half"
	MixedP99     = "mixed/p99"
	MemoryIdle   = "memory/idle"
	MemoryLoad   = "memory/load"
	MemoryGrowth = "memory/growth"
	BinarySize   = "size/binary"
	DiskPerEntry = "disk/entry"

	Import     = "import"      // of a file of as many lines as the main store has entries
	ImportBare = "import/bare" // of the rows that it made

	PayoutThrough = "payout/through" // from the request to the payee
	PayoutCPU     = "payout/cpu"     // of one of those, with PostgreSQL's

	CheckpointDelay = "delay/checkpoint"
	FeedDelay       = "delay/feed"
)

// Callers is the number of concurrent connections, unless a workload sets it.
const Callers = 64

// Depth is the number of rows before a deep page.
const Depth = 90_000

// Variants of a list request that are not filters.
const (
	Counted   = "counted"   // the answer includes the total number of rows
	Directory = "directory" // the directory list, measured next to the audit lists
	Plain     = "plain"     // no filter, measured next to the filtered lists
)

// Sized is the variant of reads and creates that are measured on stores of all sizes.
const Sized = "sized"

// Variants of the creation of payouts.
const (
	FromOne  = "one"  // account
	FromMany = "many" // accounts, as many as there are callers
	BareRows = "bare" // the rows of payouts from one account, without the product
	Through  = "through"
)

// Filters returns the filters of the directory; the first one is none.
func Filters() []string { return []string{Plain, "type", "status", "tag"} }

// AuditFilters returns the filters of the audit log; the first one is none.
func AuditFilters() []string {
	return []string{"", "actor", "action", "resource_type", "resource_id", "outcome", "span"}
}

// Workload is one kind of request to a store of one size.
type Workload struct {
	Kind    Kind
	Store   int    // rows in the store, or postings of the account
	Filter  string // filter or variant of a list
	Callers int
}

// Rows is the size of the store where the workload depends on it, else 0.
func (w Workload) Rows() int {
	switch w.Kind {
	case List, Deep, Audit, Balance, Postings:
		return w.Store
	}
	return 0
}

// Stores of accounts with money in them.
const (
	PayoutStore    = "payouts"
	BareStore      = "bare payouts"
	StatementStore = "statements" // of accounts with many postings
)

// Money is the store of accounts that the workload needs, or "" where it needs one of entries.
func (w Workload) Money() string {
	switch {
	case w.Kind == Payout && w.Filter == BareRows:
		return BareStore
	case w.Kind == Payout:
		return PayoutStore
	case w.Kind == Balance, w.Kind == Postings:
		return StatementStore
	}
	return ""
}

// Name identifies the workload in results.json and on the command line: kind/rows/filter.
func (w Workload) Name() string {
	if w.Filter == Sized {
		return Sized + "/" + string(w.Kind) + "/" + strconv.Itoa(w.Store)
	}
	parts := []string{string(w.Kind)}
	if w.Rows() > 0 {
		parts = append(parts, strconv.Itoa(w.Rows()))
	}
	if w.Kind == Create {
		parts = append(parts, strconv.Itoa(w.Callers))
	}
	if w.Filter != "" {
		parts = append(parts, w.Filter)
	}
	return strings.Join(parts, "/")
}

// Slow reports whether one answer can take seconds, so that a short run sees only a few.
func (w Workload) Slow() bool { return w.Filter == Counted }

// Before is the number of rows before the requested page. A filter matches half of all rows.
func (w Workload) Before() int {
	switch {
	case w.Kind != Deep:
		return 0
	case w.Filter != "" && w.Filter != Plain:
		return min(Depth, w.Store*9/20)
	}
	return min(Depth, w.Store*9/10)
}

// Title is the workload in words.
func (w Workload) Title() string {
	if w.Filter == Sized {
		whole := w
		whole.Filter = ""
		return whole.Title() + ", " + Number(w.Store) + " rows"
	}
	switch w.Kind {
	case WhoAmI:
		return "Who am I"
	case List:
		return fmt.Sprintf("List of 25%s, %s rows", filterTitle(w.Filter), Number(w.Store))
	case Audit:
		if w.Filter == Directory {
			return fmt.Sprintf("Directory list of 25, %s rows", Number(w.Store))
		}
		return fmt.Sprintf("Audit list of 25%s, %s rows", filterTitle(w.Filter), Number(w.Store))
	case Deep:
		return fmt.Sprintf("Page %s rows deep%s, %s rows", Number(w.Before()), filterTitle(w.Filter), Number(w.Store))
	case Create:
		if w.Callers == 1 {
			return "Create, 1 caller"
		}
		return fmt.Sprintf("Create, %d callers", w.Callers)
	case Update:
		return fmt.Sprintf("Update, %d callers", w.Callers)
	case Read:
		return "Single read"
	case Token:
		return "Key exchange"
	case Payout:
		return map[string]string{
			FromOne:  "Create, from one account",
			FromMany: fmt.Sprintf("Create, from %d accounts", w.Callers),
			BareRows: "The rows of one account in bare SQL, in groups",
		}[w.Filter]
	case Balance:
		return fmt.Sprintf("Balances, %s postings", Number(w.Store))
	case Postings:
		return fmt.Sprintf("First 25 postings of %s", Number(w.Store))
	}
	return w.Name()
}

func filterTitle(filter string) string {
	switch filter {
	case "":
		return ""
	case Counted:
		return " with a total count"
	case Plain:
		return " without a filter"
	case "span":
		return " by time span"
	}
	return " by " + strings.ReplaceAll(filter, "_", " ")
}

// Number writes 1000000 as 1,000,000.
func Number(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

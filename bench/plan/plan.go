// Package plan is what the subjects are to do, and in which order.
package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is what a request is about. It is also the family of the work in the report.
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
)

// Callers is how many ask at the same time, unless a work says otherwise.
const Callers = 64

// Depth is how many rows lie before a deep page.
const Depth = 90_000

// Work is one kind of request to a store of one size.
type Work struct {
	Kind    Kind
	Store   int    // the size of the store
	Filter  string // what a list is filtered by, or another way to ask for it
	Callers int
}

// ofSize says whether the size of the store is what the work is about.
func (w Work) ofSize() bool { return w.Kind == List || w.Kind == Deep || w.Kind == Audit }

// Rows is 0 where the size of the store does not matter.
func (w Work) Rows() int {
	if w.ofSize() {
		return w.Store
	}
	return 0
}

// Name is family/rows/filter.
func (w Work) Name() string {
	parts := []string{string(w.Kind)}
	if w.ofSize() {
		parts = append(parts, strconv.Itoa(w.Store))
	}
	if w.Kind == Create {
		parts = append(parts, strconv.Itoa(w.Callers))
	}
	if w.Filter != "" {
		parts = append(parts, w.Filter)
	}
	return strings.Join(parts, "/")
}

// Slow says that an answer may take seconds, so that a short measurement sees few.
func (w Work) Slow() bool { return w.Kind == Audit && w.Filter == Counted }

// Before is how many rows lie before the page that is asked for. A filter passes
// half of the rows.
func (w Work) Before() int {
	switch {
	case w.Kind != Deep:
		return 0
	case w.Filter != "" && w.Filter != Plain:
		return min(Depth, w.Store*9/20)
	}
	return min(Depth, w.Store*9/10)
}

// Title is the work in words.
func (w Work) Title() string {
	switch w.Kind {
	case WhoAmI:
		return "Who am I"
	case List:
		return fmt.Sprintf("List of 25%s, %s rows", filterTitle(w.Filter), Number(w.Store))
	case Audit:
		if w.Filter == Directory {
			return fmt.Sprintf("Directory list beside it, %s rows", Number(w.Store))
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
	}
	return w.Name()
}

func filterTitle(filter string) string {
	switch filter {
	case "":
		return ""
	case Counted:
		return ", with a count"
	case Plain:
		return " without a filter"
	case "span":
		return " of a span of time"
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

package servertest

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/db/dbtest"
)

// OnEach runs a test on every engine, each with its own server, in parallel with other
// tests.
func OnEach(t *testing.T, run func(t *testing.T, n *Node)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) { run(t, Start(t, store)) })
}

// Decoded decodes `data` of a successful answer into a type.
func Decoded[T any](answer *Answer) T {
	var data T
	answer.OK().Data(&data)
	return data
}

// SideBySide calls a function n times at the same moment and returns all results.
func SideBySide[T any](n int, act func(i int) T) []T {
	answers := make([]T, n)
	start := make(chan struct{})
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			<-start
			answers[i] = act(i)
		})
	}
	close(start)
	done.Wait()
	return answers
}

// Statuses counts answers by status and code, as in "422 LAST_ADMIN".
func Statuses(answers []*Answer) map[string]int {
	counts := map[string]int{}
	for _, a := range answers {
		counts[strings.TrimSpace(strconv.Itoa(a.Status)+" "+a.Code())]++
	}
	return counts
}

// Unchanged fails the test if a function changes anything in the store.
func (n *Node) Unchanged(t testing.TB, run func()) {
	t.Helper()
	before := n.Contents(t)
	run()
	if diff := cmp.Diff(before, n.Contents(t)); diff != "" {
		t.Errorf("the store has changed:\n%s", diff)
	}
}

// RowsAdded counts the audit rows that a function adds to the tenant's workspace.
func (x *Tenant) RowsAdded(act func()) int {
	x.t.Helper()
	before := x.AuditCount()
	act()
	return x.AuditCount() - before
}

// Email returns the caller's address.
func (c *Client) Email() string {
	c.t.Helper()
	return c.Get("/v1/auth/me").OK().Text("email")
}

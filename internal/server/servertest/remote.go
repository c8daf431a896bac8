package servertest

import (
	"testing"

	"bursar/internal/setup"
)

// Remote is a server that runs in a process of its own. It has neither a store
// nor a clock that the test could use.
func Remote(t testing.TB, url string, first setup.Result) *Node {
	t.Helper()
	checker, err := loadContract()
	if err != nil {
		t.Fatalf("read the contract: %v", err)
	}
	return &Node{URL: url, First: first, checker: checker}
}

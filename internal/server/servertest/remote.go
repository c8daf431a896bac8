package servertest

import (
	"testing"

	"bursar/internal/setup"
)

// Remote returns a node for a server in another process. The test has no access to its
// store or its clock.
func Remote(t testing.TB, url string, first setup.Result) *Node {
	t.Helper()
	checker, err := loadContract()
	if err != nil {
		t.Fatalf("read the contract: %v", err)
	}
	return &Node{URL: url, First: first, checker: checker}
}

// Package torture tells a test how often to repeat itself.
package torture

import (
	"os"
	"testing"
)

// Rounds returns few in make test, a quarter of them in make check, and many in make torture, which has hours. A test
// uses it for what it repeats: crashes, random histories, rows.
func Rounds(few, many int) int {
	switch {
	case os.Getenv("BURSAR_TORTURE") != "":
		return many
	case testing.Short():
		return min(few, max(1, few/4))
	}
	return few
}

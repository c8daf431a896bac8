// Package torture tells a test how often to repeat itself.
package torture

import "os"

// Rounds returns short in make test, and long in make torture, which has hours. A test
// uses it for what it repeats: crashes, random histories, rows.
func Rounds(short, long int) int {
	if os.Getenv("BURSAR_TORTURE") != "" {
		return long
	}
	return short
}

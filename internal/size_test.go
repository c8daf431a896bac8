package internal_test

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sizes are the lines of Go of each room of the product. A room may grow by 5%, or by 20 lines; a commit that needs more raises its size
// here and explains it. `make size` prints them all.
var sizes = map[string]int{
	"api":                    3392,
	"client":                 3052,
	"cmd":                    19,
	"internal/access":        2785,
	"internal/accountnumber": 120,
	"internal/approval":      2542,
	"internal/audit":         1085,
	"internal/auditlog":      5821,
	"internal/backup":        3903,
	"internal/budget":        142,
	"internal/cache":         21,
	"internal/cli":           14258,
	"internal/config":        448,
	"internal/console":       10801,
	"internal/db":            6571,
	"internal/directory":     11087,
	"internal/fault":         154,
	"internal/identity":      3968,
	"internal/institution":   75,
	"internal/keyfile":       115,
	"internal/leaver":        390,
	"internal/ledger":        2523,
	"internal/limit":         128,
	"internal/mail":          1212,
	"internal/operator":      859,
	"internal/organization":  650,
	"internal/payout":        11303,
	"internal/rail":          3164,
	"internal/reference":     685,
	"internal/server":        1666,
	"internal/setup":         209,
	"internal/signin":        1952,
	"internal/slug":          146,
	"internal/spreadsheet":   72,
	"internal/token":         281,
	"internal/vault":         1678,
	"internal/web":           1970,
	"internal/work":          133,
	"internal/workspace":     1837,
}

func TestNoRoomGrowsUnnoticed(t *testing.T) {
	counted := map[string]int{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "bench" || strings.HasPrefix(entry.Name(), ".") && path != ".." || slices.Contains(forTests(), name)):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		counted[roomOf(name)] += bytes.Count(text, []byte("\n"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range slices.Sorted(maps.Keys(counted)) {
		switch size, lines := sizes[room], counted[room]; {
		case size == 0:
			t.Errorf("%s has %d lines and no size", room, lines)
		case lines > size+max(size/20, 20):
			t.Errorf("%s has grown from %d to %d lines, by more than 5%%: raise its size here and explain it in the commit", room, size, lines)
		}
	}
	for room := range sizes {
		if counted[room] == 0 {
			t.Errorf("%s has a size and no files", room)
		}
	}
}

// roomOf returns the folder below internal, or the one at the top, that contains a file.
func roomOf(name string) string {
	parts := strings.Split(name, "/")
	if parts[0] == "internal" && len(parts) > 2 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

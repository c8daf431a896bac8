package tree_test

import (
	"os"
	"path/filepath"
	"testing"

	"bursar/internal/auditlog/tree"
)

// BenchmarkVerifyMillion verifies a file with a million rows of a log of two million.
func BenchmarkVerifyMillion(b *testing.B) {
	l := newLog(b, 2)
	for i := range 2_000_000 {
		l.add(i%2, "entry.updated", "ent_00000000000000000000000001")
	}
	name := filepath.Join(b.TempDir(), "log.zip")
	file, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	l.write(file, 1, l.sign(), nil)
	info, err := file.Stat()
	if err != nil {
		b.Fatal(err)
	}
	key := l.key.Verifier()
	l = nil // the rest needs none of it
	for b.Loop() {
		report, err := tree.VerifyFile(file, info.Size(), tree.Trust{Key: key})
		if err != nil || len(report.Failures) > 0 || report.Rows != 1_000_000 {
			b.Fatalf("%+v %v", report, err)
		}
	}
	b.ReportMetric(float64(info.Size())/1e6, "MB/file")
}

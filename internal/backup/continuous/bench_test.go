package continuous_test

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"bursar/internal/backup/continuous"
	"bursar/internal/db/sqlite"
)

// BenchmarkRestore restores a store of some hundred megabytes, half of which are in segments.
func BenchmarkRestore(b *testing.B) {
	w := newWorld(b)
	half := func() {
		for range 1500 {
			text := make([]byte, 20_000)
			rand.Read(text)
			write(b, w.db, hex.EncodeToString(text)+string(make([]byte, 20_000)))
		}
	}
	half()
	w.base(b)
	half()
	w.ship(b)
	info, err := os.Stat(filepath.Join(w.store.Config.Dir, sqlite.FileName))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		if _, err := continuous.Unpack(b.Context(), continuous.Source{Target: w.target}, b.TempDir(), continuous.Moment{}); err != nil {
			b.Fatal(err)
		}
	}
}

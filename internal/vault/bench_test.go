package vault_test

import (
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/vault"
)

func BenchmarkOpen(b *testing.B) {
	store := dbtest.SQLite(b)
	v := store.Vault(store.Open(b))
	if err := v.Ready(b.Context(), 1); err != nil {
		b.Fatal(err)
	}
	row := vault.Account("rm_1")
	sealed, err := v.Seal(1, row, []byte("PH1234567890123456"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := v.Open(1, row, sealed); err != nil {
			b.Fatal(err)
		}
	}
}

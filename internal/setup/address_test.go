package setup_test

import (
	"testing"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/setup"
)

func TestTheStoreKnowsItsPublicAddress(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, s dbtest.Store) {
		d := s.Open(t)
		for _, step := range []struct {
			name       string
			address    string
			configured bool
			want       string
		}{
			{"an address that follows from the listener is better than none", "http://127.0.0.1:8080", false, "http://127.0.0.1:8080"},
			{"it follows the listener to another machine", "http://10.0.0.5:8080", false, "http://10.0.0.5:8080"},
			{"but no link can use a listener on all addresses", "http://[::]:9090", false, ""},
			{"a configured address replaces it", "https://pay.example.com", true, "https://pay.example.com"},
			{"and is kept when a server runs without one", "http://127.0.0.1:8080", false, "https://pay.example.com"},
			{"until another one is configured", "http://localhost:8080", true, "http://localhost:8080"},
		} {
			if err := setup.StorePublicURL(t.Context(), d, db.Caller{}, step.address, step.configured); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			if got, err := setup.PublicURL(t.Context(), d); err != nil || got != step.want {
				t.Errorf("%s: %q, %v", step.name, got, err)
			}
		}
	})
}

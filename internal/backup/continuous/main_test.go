package continuous_test

import (
	"testing"

	"bursar/internal/db/dbtest"
)

func TestMain(m *testing.M) {
	dbtest.InParallel(4) // they wait for what happens once a second
	dbtest.Main(m)
}

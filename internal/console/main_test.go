package console_test

import (
	"testing"

	"bursar/internal/browsertest"
	"bursar/internal/db/dbtest"
)

func TestMain(m *testing.M) {
	dbtest.InParallel(2) // they wait for the browser
	dbtest.Main(m, browsertest.Stop)
}

package console_test

import (
	"testing"

	"bursar/internal/browsertest"
	"bursar/internal/db/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m, browsertest.Stop) }

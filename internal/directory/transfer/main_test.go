package transfer_test

import (
	"testing"

	"bursar/internal/db/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

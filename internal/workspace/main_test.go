package workspace_test

import (
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

type body = servertest.Body

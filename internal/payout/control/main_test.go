package control_test

import (
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

type body = servertest.Body

const (
	payouts = servertest.Payouts
	batches = servertest.PayoutBatches
	bpi     = servertest.BPI
)

var (
	to      = servertest.PayoutTo
	request = servertest.PayoutRequest
)

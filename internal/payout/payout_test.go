package payout_test

import (
	"testing"

	"bursar/internal/payout"
)

func TestTheEndToEndIDNamesItsPayout(t *testing.T) {
	const id = "po_01jd2m8k3vq7w5x9y0za1a2b3c"
	for _, attempt := range []int64{1, 2, 17} {
		if got, number, ok := payout.PayoutOf(payout.EndToEndID(id, attempt)); got != id || number != attempt || !ok {
			t.Errorf("attempt %d is %s, %d, %t", attempt, got, number, ok)
		}
	}
	for _, other := range []string{"", "A1", "NOTPROVIDED", "01JD2M8K3VA", "01jd2m8k3va1", "01JD2M8K3VA01"} {
		if id, _, ok := payout.PayoutOf(other); ok {
			t.Errorf("%q is %s", other, id)
		}
	}
}

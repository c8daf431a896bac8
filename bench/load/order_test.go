package load

import "testing"

func TestCallsAreInterleavedEvenly(t *testing.T) {
	for _, weights := range [][]int{{1}, {90, 10}, {50, 50}, {5, 1, 1}, {7, 2, 1}, {3, 6, 9}} {
		order, err := interleave(weights)
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, w := range weights {
			total += w
		}
		count := make([]float64, len(weights))
		for i, call := range order {
			count[call]++
			for c, w := range weights {
				if off := count[c] - float64((i+1)*w)/float64(total); off < -1 || off > 1 {
					t.Errorf("%v: call %d is %f off its share after %d of %v", weights, c, off, i+1, order)
				}
			}
		}
		for c, w := range weights {
			if int(count[c])*total != w*len(order) {
				t.Errorf("%v: call %d comes %f times in %v", weights, c, count[c], order)
			}
		}
	}
}

func TestWeightsTooFineAreRefused(t *testing.T) {
	if _, err := interleave([]int{1, maxRounds}); err == nil {
		t.Errorf("more than %d rounds are taken", maxRounds)
	}
}

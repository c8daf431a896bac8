package load

import "fmt"

// maxRounds bounds the order's table; weights are shares, nobody needs finer ones.
const maxRounds = 100_000

// interleave lists calls by index so that each comes as often as its weight, evenly
// spread: of 90 against 10 every tenth is the other. It is the same in every run,
// which random choice is not.
func interleave(weights []int) ([]int, error) {
	share := 0
	for _, w := range weights {
		share = gcd(share, w)
	}
	rounds := 0
	for _, w := range weights {
		rounds += w / share
	}
	if rounds > maxRounds {
		return nil, fmt.Errorf("weights need %d rounds, more than %d", rounds, maxRounds)
	}
	order := make([]int, rounds)
	credit := make([]int, len(weights))
	for i := range order {
		best := 0
		for call, w := range weights {
			credit[call] += w / share
			if credit[call] > credit[best] {
				best = call
			}
		}
		credit[best] -= rounds
		order[i] = best
	}
	return order, nil
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

package server_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// pollFrom polls a code from an address.
func pollFrom(t *testing.T, n *servertest.Node, ip, code string) *servertest.Answer {
	t.Helper()
	return n.PollDevice(t, code, servertest.From(ip)...)
}

func codeFrom(t *testing.T, n *servertest.Node, ip string) string {
	t.Helper()
	return n.Stranger(t).Do("POST", "/v1/auth/device-code", nil, servertest.From(ip)...).OK().Text("code")
}

// unknownCode was never made, or someone has won a draw of a billion.
const unknownCode = "ZZZZZZ"

// wantBlind demands that a code and one that was never made get answers that
// cannot be told apart, by anything but what changes from call to call anyway.
func wantBlind(t *testing.T, hit, miss func() *servertest.Answer) {
	t.Helper()
	one, other := hit(), miss()
	for other.Status == 404 { // the bucket had gained a token, which the miss has spent
		one, other = hit(), miss()
	}
	wantLimited(t, one)
	if one.Status != other.Status || string(one.Body) != string(other.Body) {
		t.Errorf("%d %s differs from %d %s", one.Status, one.Body, other.Status, other.Body)
	}
	names, others := slices.Sorted(maps.Keys(one.Header)), slices.Sorted(maps.Keys(other.Header))
	if !slices.Equal(names, others) {
		t.Errorf("the headers %v differ from %v", names, others)
	}
}

func TestPollBudgetOfACode(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.RateLimit("50/s"), servertest.TrustProxy())
		busy, quiet := codeFrom(t, n, "203.0.113.1"), codeFrom(t, n, "203.0.113.1")
		spend(t, 10, 30, func(i int) *servertest.Answer {
			// From wherever: the budget is the code's.
			return pollFrom(t, n, fmt.Sprintf("203.0.113.%d", 1+i%3), busy)
		})
		pollFrom(t, n, "203.0.113.1", quiet).OK()
	})
}

func TestGuessingDeviceCodesIsCutOff(t *testing.T) {
	t.Parallel()
	const guesser, owner = "203.0.113.1", "203.0.113.2"
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.RateLimit("50/s"), servertest.TrustProxy())
		code := codeFrom(t, n, owner)
		pollFrom(t, n, guesser, code).DeviceStatus("pending", false)
		spend(t, 20, 20, func(int) *servertest.Answer { return pollFrom(t, n, guesser, unknownCode) })
		t.Run("then a hit looks like a miss", func(t *testing.T) {
			wantBlind(t,
				func() *servertest.Answer { return pollFrom(t, n, guesser, code) },
				func() *servertest.Answer { return pollFrom(t, n, guesser, unknownCode) })
		})
		t.Run("whoever asked for the code still hears of it", func(t *testing.T) {
			pollFrom(t, n, owner, code).DeviceStatus("pending", false)
		})
		t.Run("a caller who decides is cut off likewise", func(t *testing.T) {
			user := n.User(t, servertest.NewEmail())
			spend(t, 20, 20, func(int) *servertest.Answer { return user.Decide(unknownCode, "approve") })
			wantBlind(t,
				func() *servertest.Answer { return user.Decide(code, "approve") },
				func() *servertest.Answer { return user.Decide(unknownCode, "approve") })
			n.Admin(t).Decide(codeFrom(t, n, owner), "approve").OK()
		})
	})
}

func TestGuessingFromManyAddressesIsCutOff(t *testing.T) {
	t.Parallel()
	const owner = "198.51.100.1"
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.RateLimit("50/s"), servertest.TrustProxy())
		code := codeFrom(t, n, owner)
		spend(t, 100, 100, func(i int) *servertest.Answer {
			return pollFrom(t, n, fmt.Sprintf("203.0.%d.%d", i/200, 1+i%200), unknownCode)
		})
		t.Run("then a hit looks like a miss to an address that never guessed", func(t *testing.T) {
			wantBlind(t,
				func() *servertest.Answer { return pollFrom(t, n, "192.0.2.1", code) },
				func() *servertest.Answer { return pollFrom(t, n, "192.0.2.1", unknownCode) })
		})
		t.Run("whoever asked for the code still hears of it", func(t *testing.T) {
			pollFrom(t, n, owner, code).DeviceStatus("pending", false)
		})
	})
}

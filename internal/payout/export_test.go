package payout

import (
	"bursar/internal/db"
)

// PayoutOf is the inverse of EndToEndID.
func PayoutOf(endToEndID string) (payoutID string, attempt int64, ok bool) {
	return payoutOf(endToEndID)
}

// Find reads a payout.
func Find(q db.Q, id string) (Payout, error) { return find(q, id) }

// MaxCommands is how many commands of a screening run at once.
const MaxCommands = maxCommands

// Screened are rules that only screen.
func Screened(s Screening) *Rules {
	return &Rules{screening: s, commands: make(chan struct{}, maxCommands)}
}

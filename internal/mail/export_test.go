package mail

import (
	"context"
	"time"
)

// DialTo makes a mailer reach its server, whatever its name, at an address.
func (m *Mailer) DialTo(address string) { m.server.address = address }

// SetInterval sets how often Run looks for mail.
func (m *Mailer) SetInterval(interval time.Duration) { m.interval = interval }

// Take takes what is due in a lane, as a node does that dies before it sends it.
func (m *Mailer) Take(ctx context.Context, lane Lane) (int, error) {
	b, err := m.claim(ctx, lane)
	return len(b.letters), err
}

// Taken is what a node has taken and not delivered yet.
type Taken struct {
	mailer *Mailer
	batch  batch
}

// TakeAll is Take for a node that continues later.
func (m *Mailer) TakeAll(ctx context.Context, lane Lane) (Taken, error) {
	b, err := m.claim(ctx, lane)
	return Taken{m, b}, err
}

// Deliver continues.
func (t Taken) Deliver(ctx context.Context) error { return t.mailer.deliver(ctx, ctx, t.batch) }

// SetGrace sets how long Run continues after its context.
func (m *Mailer) SetGrace(grace time.Duration) { m.grace = grace }

const (
	// Capacity is how many messages of a lane are held.
	Capacity = capacity
	// Lease is how long other nodes leave a message to the one that delivers it.
	Lease = lease
	// MaxAge is when an unsent message is dropped.
	MaxAge = maxAge
)

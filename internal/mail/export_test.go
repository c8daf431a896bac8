package mail

import "time"

// DialTo makes a mailer reach its server, whatever its name, at an address.
func (m *Mailer) DialTo(address string) { m.server.address = address }

// SetGrace sets how long Run goes on after its context.
func (m *Mailer) SetGrace(grace time.Duration) { m.grace = grace }

// Capacity is how many messages are held.
const Capacity = capacity

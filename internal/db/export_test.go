package db

import "time"

// SetClock gives the machine of this node another clock.
func (d *DB) SetClock(clock func() time.Time) { d.clock = clock }

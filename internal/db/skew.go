package db

import (
	"context"
	"fmt"
	"time"
)

// skewTries is how often Skew reads the time. The fastest answer is the most exact.
const skewTries = 3

// Skew returns how far the clock of this node is ahead of the database's. It is 0 on SQLite, and if Config.Clock
// was set.
func (d *DB) Skew(ctx context.Context) (skew time.Duration, err error) {
	if d.dialect.time == "" || d.ownClock {
		return 0, nil
	}
	fastest := time.Duration(-1)
	for range skewTries {
		var theirs int64
		begun := d.clock()
		err := d.Read(ctx, func(q Q) error {
			begun = d.clock() // excludes the wait for a connection
			_, err := q.Row(d.dialect.time).Scan(&theirs)
			return err
		})
		if err != nil {
			return 0, fmt.Errorf("read the clock of the database: %w", err)
		}
		if took := d.clock().Sub(begun); fastest < 0 || took < fastest {
			fastest, skew = took, begun.Add(took/2).Sub(time.UnixMilli(theirs))
		}
	}
	return skew, nil
}

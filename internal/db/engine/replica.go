package engine

import "sync/atomic"

// Lists reports which server serves the lists of a store that has a replica.
type Lists struct {
	Primary, Replica atomic.Uint64 // how many lists each server has served

	Used atomic.Bool  // the replica serves lists
	Lag  atomic.Int64 // how many bytes of the log the replica had not replayed at the last check
}

package servertest

import (
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/wait"
)

// WhileUnderWay sends a request and changes the store after the request was authorized and before its transaction does anything. The change
// must first lock what the request locks. It does not refresh the node's cached access data.
func WhileUnderWay[T any](t testing.TB, d *db.DB, change func(tx *db.Tx) error, send func() T) T {
	t.Helper()
	answered, sent := make(chan T, 1), false
	_, err := db.Write(t.Context(), d, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		err := change(tx)
		if err == nil { // PostgreSQL gets the delayed writes with the next query
			_, err = tx.Row(`SELECT 1`).Scan(new(int))
		}
		if err != nil {
			return struct{}{}, audit.Event{}, err
		}
		if sent { // the engine runs the transactions of a group again if one of them fails
			return struct{}{}, audit.None("a test"), nil
		}
		before := d.Writes()
		sent = true
		go func() { answered <- send() }()
		wait.Until(t, "the request has come to its transaction", func() bool { return d.Writes() > before })
		return struct{}{}, audit.None("a test"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return <-answered
}

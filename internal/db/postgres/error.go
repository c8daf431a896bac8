package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bursar/internal/db/engine"
)

// See https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	uniqueViolation      = "23505"
	foreignKeyViolation  = "23503"
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	lockNotAvailable     = "55P03"
	featureNotSupported  = "0A000"
	readOnlyTransaction  = "25006"
	adminShutdown        = "57P01"
	crashShutdown        = "57P02"
	cannotConnectNow     = "57P03"
)

// IsUnique reports whether a write failed because a value is taken.
func IsUnique(err error) bool { return code(err) == uniqueViolation }

// IsUniqueIn reports whether a write failed because a value is taken in a table.
func IsUniqueIn(err error, table string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == uniqueViolation && pg.TableName == table
}

// IsForeignKey reports whether a write failed because of a row that it refers to,
// or that refers to it.
func IsForeignKey(err error) bool { return code(err) == foreignKeyViolation }

// isConflict reports whether the transaction may succeed if it runs again.
func isConflict(err error) bool {
	return code(err) == serializationFailure || code(err) == deadlockDetected
}

// isLockTimeout reports whether another transaction held a lock for too long.
func isLockTimeout(err error) bool { return code(err) == lockNotAvailable }

// nothingHappened reports whether it is certain that a transaction changed
// nothing: the server refused a statement, or the statements were never sent.
// After any other error, such as a closed connection, it may be committed.
func nothingHappened(err error) bool {
	var unsent pgx.ErrPreprocessingBatch
	if errors.As(err, &unsent) {
		return true
	}
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return refused.SeverityUnlocalized == "ERROR"
	}
	return errors.Is(err, pgx.ErrTxCommitRollback) || errors.Is(err, engine.ErrAway) || pgconn.SafeToRetry(err)
}

func code(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

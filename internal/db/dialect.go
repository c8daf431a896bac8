package db

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/ncruces/go-sqlite3"
)

// The few things that the engines say differently stand here and in the
// migrations, nowhere else.

func sqliteSchema(text string) string {
	return strings.ReplaceAll(text, "{without rowid}", "WITHOUT ROWID")
}

func postgresSchema(text string) string {
	text = strings.ReplaceAll(text, "{without rowid}", "")
	for _, end := range []string{" NOT NULL", " PRIMARY KEY", " REFERENCES", ",", ";", "\n"} {
		text = strings.ReplaceAll(text, " TEXT"+end, ` TEXT COLLATE "C"`+end)
	}
	return text
}

// ForShare makes a SELECT lock the rows it finds, so that nobody changes or
// deletes them before the transaction ends. SQLite has one writer and needs no
// such lock.
func (tx *Tx) ForShare(sql string) string { return sql + tx.db.engine.forShare() }

func (*sqlite) forShare() string   { return "" }
func (*postgres) forShare() string { return " FOR SHARE" }

const (
	pgUniqueViolation      = "23505"
	pgForeignKeyViolation  = "23503"
	pgSerializationFailure = "40001"
	pgDeadlock             = "40P01"
	pgLockNotAvailable     = "55P03"
)

// IsUnique says that a value is taken.
func IsUnique(err error) bool {
	return errors.Is(err, sqlite3.CONSTRAINT_UNIQUE) || errors.Is(err, sqlite3.CONSTRAINT_PRIMARYKEY) ||
		pgCode(err) == pgUniqueViolation
}

// IsForeignKey says that what a row refers to is not there, or still needed.
func IsForeignKey(err error) bool {
	return errors.Is(err, sqlite3.CONSTRAINT_FOREIGNKEY) || pgCode(err) == pgForeignKeyViolation
}

// lostKeyRace says that another node committed the same idempotency key first. On
// SQLite one writer decides, so it cannot happen there.
func lostKeyRace(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == pgUniqueViolation && pg.TableName == "idempotency"
}

func worthRetrying(err error) bool {
	code := pgCode(err)
	return code == pgSerializationFailure || code == pgDeadlock
}

// isLockTimeout says that somebody else's lock was in the way for too long.
func isLockTimeout(err error) bool { return pgCode(err) == pgLockNotAvailable }

func pgCode(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

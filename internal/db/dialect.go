package db

import (
	"strings"

	"bursar/internal/db/postgres"
	"bursar/internal/db/sqlite"
)

// dialect is what SQLite and PostgreSQL spell differently. Everything of the kind
// is in this file and in the migrations.
type dialect struct {
	name   string                   // of the engine, in names of migrations
	schema func(text string) string // translates a migration that both engines share

	// forShare is the clause that makes a SELECT lock its rows against changes. It
	// is empty on SQLite, which has only one writer.
	forShare string

	// forUpdate and skipLocked make it lock them for the caller's own changes, and the latter
	// leave out those that others have locked. Both are empty on SQLite.
	forUpdate, skipLocked string

	// notifyAccess is the statement that tells other nodes about a change of access.
	// It is empty on SQLite, where other processes notice every commit.
	notifyAccess string

	// detectReuseOnInsert makes Write leave it to the unique index to detect that an
	// idempotency key was used before. It pays on PostgreSQL, where a lookup costs a
	// round trip, and not on SQLite, where a failed insert makes a group run again.
	detectReuseOnInsert bool

	audit auditOrder
}

func sqliteDialect() dialect {
	return dialect{name: "sqlite", schema: sqliteSchema, audit: sqliteAuditOrder()}
}

func postgresDialect() dialect {
	return dialect{
		name: "postgres", schema: postgresSchema,
		forShare: " FOR SHARE", forUpdate: " FOR UPDATE", skipLocked: " FOR UPDATE SKIP LOCKED", notifyAccess: postgres.NotifyAccess, detectReuseOnInsert: true,
		audit: postgresAuditOrder(),
	}
}

func sqliteSchema(text string) string {
	return strings.NewReplacer("{without rowid}", "WITHOUT ROWID", "{bytes}", "BLOB").Replace(text)
}

// postgresSchema gives all text the bytewise order that SQLite has.
func postgresSchema(text string) string {
	text = strings.NewReplacer("{without rowid}", "", "{bytes}", "BYTEA").Replace(text)
	for _, end := range []string{" NOT NULL", " PRIMARY KEY", " REFERENCES", ",", ";", "\n"} {
		text = strings.ReplaceAll(text, " TEXT"+end, ` TEXT COLLATE "C"`+end)
	}
	return text
}

// ForShare makes a SELECT lock the rows it finds, so that nobody changes or
// deletes them before the transaction ends.
func (tx *Tx) ForShare(sql string) string { return sql + tx.db.dialect.forShare }

// ForUpdate makes a SELECT lock the rows it finds, so that it sees their last state and nobody else
// changes them before the transaction ends.
func (tx *Tx) ForUpdate(sql string) string { return sql + tx.db.dialect.forUpdate }

// SkipLocked is ForUpdate for work that several nodes share: it leaves out rows that another
// transaction has locked.
func (tx *Tx) SkipLocked(sql string) string { return sql + tx.db.dialect.skipLocked }

// IsUnique reports whether a write failed because a value is taken.
func IsUnique(err error) bool { return sqlite.IsUnique(err) || postgres.IsUnique(err) }

// IsForeignKey reports whether a write failed because a row that it refers to does
// not exist, or because other rows refer to the row that it deletes.
func IsForeignKey(err error) bool { return sqlite.IsForeignKey(err) || postgres.IsForeignKey(err) }

// lostKeyRace reports whether another node committed the same idempotency key
// first. It cannot happen on SQLite, where a lookup and the insert after it are
// in one transaction of the only writer.
func lostKeyRace(err error) bool { return postgres.IsUniqueIn(err, "idempotency") }

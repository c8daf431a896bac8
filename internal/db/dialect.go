package db

import (
	"strings"

	"bursar/internal/db/postgres"
	"bursar/internal/db/sqlite"
)

// dialect is the part of SQL that differs between SQLite and PostgreSQL. All such
// differences are in this file and in the schema.
type dialect struct {
	name   string                   // of the engine, in names of migrations
	schema func(text string) string // translates a migration that both engines share

	// forShare is the clause that makes a SELECT lock its rows against changes. It
	// is empty on SQLite, which has only one writer.
	forShare string

	// forUpdate and skipLocked make a SELECT lock its rows for the caller's own changes.
	// skipLocked also leaves out rows that others have locked. Both are empty on SQLite.
	forUpdate, skipLocked string

	// notifyAccess is the statement that notifies other nodes of a change of access. It
	// is empty on SQLite, where other processes notice every commit.
	notifyAccess string

	// awaitStandby is a statement that makes the commit of its transaction wait until synchronous
	// standbys have all earlier commits. It is empty on SQLite, where every outcome is known.
	awaitStandby string

	// detectReuseOnInsert makes Write detect a reused idempotency key by the unique
	// index. It pays on PostgreSQL, where a lookup costs a round trip. It does not pay on
	// SQLite, where a failed insert makes a group run again.
	detectReuseOnInsert bool

	audit auditOrder

	// columns and references are queries of the schema: tables with their columns and types, and
	// tables with the tables that they refer to.
	columns, references string

	// auditRows is the end of a query that sorts rows of the audit log by their order.
	auditRows string

	// time is the query for the clock of the database in Unix milliseconds. It is empty on SQLite,
	// which has no clock.
	time string

	// noTimeout is the statement that removes the timeout from the statements that follow.
	noTimeout string

	// beforeLoad is a script that prepares the store to be filled. afterLoad reverts that.
	beforeLoad string
	afterLoad  func(b *Bulk) error

	// refuseChanges is a script after which the store refuses every new audit row, and thereby every
	// change.
	refuseChanges string
}

func sqliteDialect() dialect {
	return dialect{
		name: "sqlite", schema: sqliteSchema, audit: sqliteAuditOrder(),
		columns:       `SELECT m.name, c.name, c.type FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%'`,
		references:    `SELECT m.name, f."table" FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table'`,
		auditRows:     ` ORDER BY rowid`,
		afterLoad:     finishSQLite,
		refuseChanges: `CREATE TRIGGER IF NOT EXISTS moved BEFORE INSERT ON audit_log BEGIN SELECT RAISE(ABORT, 'the store was moved'); END`,
	}
}

func postgresDialect() dialect {
	return dialect{
		time: `SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)`,
		name: "postgres", schema: postgresSchema,
		forShare: " FOR SHARE", forUpdate: " FOR UPDATE", skipLocked: " FOR UPDATE SKIP LOCKED", notifyAccess: postgres.NotifyAccess, awaitStandby: postgres.AwaitStandby,
		detectReuseOnInsert: true,
		audit:               postgresAuditOrder(),
		columns: `SELECT t.relname::text, c.attname::text, format_type(c.atttypid, NULL) FROM pg_class t JOIN pg_attribute c ON c.attrelid = t.oid
			WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind = 'r' AND c.attnum > 0 AND NOT c.attisdropped`,
		references: `SELECT t.relname::text, r.relname::text FROM pg_constraint f JOIN pg_class t ON t.oid = f.conrelid JOIN pg_class r ON r.oid = f.confrelid
			WHERE f.connamespace = current_schema()::regnamespace AND f.contype = 'f'`,
		auditRows: ` ORDER BY xact, id`,
		noTimeout: `SET LOCAL statement_timeout = 0`,
		// Rows of the audit log are numbered in the order of arrival.
		beforeLoad: `CREATE SEQUENCE load_order CACHE 1000;
			ALTER TABLE audit_log ALTER COLUMN xact SET DEFAULT nextval('load_order');
			ALTER TABLE audit_sequence ALTER COLUMN xact_offset SET DEFAULT 0`,
		afterLoad: finishPostgres,
		refuseChanges: `CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the store was moved'; END $$;
			CREATE OR REPLACE TRIGGER moved BEFORE INSERT ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
	}
}

func sqliteSchema(text string) string {
	return strings.NewReplacer("{without rowid}", "WITHOUT ROWID", "{bytes}", "BLOB", "{uuid}", "BLOB", " {nulls first}", "").Replace(text)
}

// postgresSchema gives all text the bytewise collation that SQLite has.
func postgresSchema(text string) string {
	text = strings.NewReplacer(" {without rowid}", "", "{bytes}", "BYTEA", "{uuid}", "UUID", "{nulls first}", "NULLS FIRST").Replace(text)
	for _, end := range []string{" NOT NULL", " PRIMARY KEY", " REFERENCES", " UNIQUE", ",", ";", "\n"} {
		text = strings.ReplaceAll(text, " TEXT"+end, ` TEXT COLLATE "C"`+end)
	}
	return text
}

// ForShare makes a SELECT lock the rows it finds, so that no one changes or deletes them
// before the transaction ends.
func (tx *Tx) ForShare(sql string) string { return sql + tx.db.dialect.forShare }

// ForUpdate makes a SELECT lock the rows it finds. The SELECT sees their latest state, and no one
// else changes them before the transaction ends.
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

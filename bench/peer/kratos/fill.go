package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/mattn/go-sqlite3"
)

const shownIDs = 500

// The rows are like those of POST /admin/identities with an e-mail address and a name. The
// databases differ in what stands in {…}.
const (
	numbers          = `WITH RECURSIVE entry (n) AS (SELECT 0 WHERE {entries} > 0 UNION ALL SELECT n + 1 FROM entry WHERE n + 1 < {entries}) `
	insertIdentities = `INSERT INTO identities (id, schema_id, traits, state, state_changed_at, available_aal, nid, created_at, updated_at) ` +
		numbers + `SELECT {identity}, 'person', {traits}, 'active', CURRENT_TIMESTAMP, 'aal0', (SELECT id FROM networks), CURRENT_TIMESTAMP, CURRENT_TIMESTAMP FROM entry`
	insertCredentials = `INSERT INTO identity_credentials (id, config, identity_credential_type_id, identity_id, version, nid, created_at, updated_at) ` +
		numbers + `SELECT {credential}, '{}', {password}, {identity}, 0, (SELECT id FROM networks), CURRENT_TIMESTAMP, CURRENT_TIMESTAMP FROM entry`
	insertIdentifiers = `INSERT INTO identity_credential_identifiers (id, identifier, identity_credential_id, identity_credential_type_id, nid, created_at, updated_at) ` +
		numbers + `SELECT {identifier}, {email}, {credential}, {password}, (SELECT id FROM networks), CURRENT_TIMESTAMP, CURRENT_TIMESTAMP FROM entry`
)

// dialect is a database and its way to convert a text to another type.
type dialect struct {
	driver string
	source string
	uuid   string // around %s
	json   string // around %s
	after  string // what the database would do in the background, some time after many inserts
}

func dialectOf(dsn string) (dialect, error) {
	address, err := url.Parse(dsn)
	if err != nil {
		return dialect{}, fmt.Errorf("read the address of the database: %w", err)
	}
	switch address.Scheme {
	case "sqlite", "sqlite3":
		source := "file:" + address.Host + address.Path + "?_synchronous=OFF&_cache_size=-200000"
		return dialect{driver: "sqlite3", source: source, uuid: "%s", json: "%s", after: "PRAGMA wal_checkpoint(TRUNCATE)"}, nil
	case "postgres", "postgresql":
		// Only Kratos understands these; PostgreSQL would refuse them.
		options := address.Query()
		for _, name := range []string{"max_conns", "max_idle_conns", "max_conn_lifetime", "max_conn_idle_time"} {
			options.Del(name)
		}
		address.RawQuery = options.Encode()
		return dialect{driver: "pgx", source: address.String(), uuid: "CAST(%s AS uuid)", json: "CAST(%s AS jsonb)", after: "ANALYZE"}, nil
	}
	return dialect{}, fmt.Errorf("the database %q is neither sqlite:// nor postgres://", address.Scheme)
}

// fill makes identities and returns the ids of the first ones.
func fill(ctx context.Context, dsn string, entries int) (ids []string, err error) {
	d, err := dialectOf(dsn)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open(d.driver, d.source)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	defer func() {
		if closeErr := db.Close(); closeErr != nil && err == nil {
			err = fmt.Errorf("close: %w", closeErr)
		}
	}()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback()
	values := d.values(entries)
	for _, statement := range []string{insertIdentities, insertCredentials, insertIdentifiers} {
		if _, err := tx.ExecContext(ctx, values.Replace(statement)); err != nil {
			return nil, fmt.Errorf("insert: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	if _, err := db.ExecContext(ctx, d.after); err != nil {
		return nil, fmt.Errorf("%s: %w", d.after, err)
	}
	ids = make([]string, min(entries, shownIDs))
	for n := range ids {
		ids[n] = fmt.Sprintf("00000000-0000-4000-8001-%012d", n)
	}
	return ids, nil
}

func (d dialect) values(entries int) *strings.Replacer {
	id := func(kind int) string {
		return fmt.Sprintf(d.uuid, fmt.Sprintf("'00000000-0000-4000-8%03d-' || substr(CAST(1000000000000 + n AS text), 2)", kind))
	}
	return strings.NewReplacer(
		"{entries}", fmt.Sprint(entries),
		"{identity}", id(1),
		"{credential}", id(2),
		"{identifier}", id(3),
		"{password}", `(SELECT id FROM identity_credential_types WHERE name = 'password')`,
		"{email}", `'person' || n || '@example.com'`,
		"{traits}", fmt.Sprintf(d.json, `'{"email":"person' || n || '@example.com","name":"Person ' || n || '"}'`),
	)
}

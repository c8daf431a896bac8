package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// Ids of records have 15 letters or digits. These sort in the order of n.
const insertEntries = `
WITH RECURSIVE entry (n) AS (SELECT 0 WHERE $1 > 0 UNION ALL SELECT n + 1 FROM entry WHERE n + 1 < $1)
INSERT INTO directory (id, workspace, type, label, status, fields, created, updated)
SELECT printf('e%014d', n), printf('workspace%06d', n % $2),
	CASE WHEN n % 3 = 0 THEN 'organization' ELSE 'person' END,
	CASE WHEN n % 3 = 0 THEN 'Organization ' ELSE 'Person ' END || n,
	CASE WHEN n % 10 = 0 THEN 'inactive' ELSE 'active' END,
	CASE WHEN n % 3 = 0 THEN printf('{"name":"Organization %d","industry":"Logistics","email":"office%d@example.com"}', n, n)
		ELSE printf('{"first-name":"Person","last-name":"Number %d","email":"person%d@example.com","phone":"+1 555 %07d"}', n, n, n) END,
	$3, $3
FROM entry`

// Rows are like those that PocketBase writes for a request. All are of the day before $2,
// because it deletes rows that are older than five days. One of 50 is an error. Digits are cut
// out of a number, because printf and fractions take twice the time.
const insertLogs = `
WITH RECURSIVE
	row (n) AS (SELECT 0 WHERE $1 > 0 UNION ALL SELECT n + 1 FROM row WHERE n + 1 < $1),
	request (n, path, failed, at) AS (
		SELECT n, '/api/collections/directory/records/e' || substr(100000000000000 + n % 100000, 2), n % 50 = 0,
			$2 - ($1 - n) * 86400000 / $1
		FROM row)
INSERT INTO _logs (id, level, message, data, created)
SELECT 'r' || substr(100000000000000 + n, 2), CASE WHEN failed THEN 8 ELSE 0 END, 'GET ' || path,
	'{"auth":"users","execTime":0.' || (n % 900 + 100)
		|| CASE WHEN failed THEN ',"details":null,"error":"The requested resource wasn''t found."' ELSE '' END
		|| ',"method":"GET","referer":"","remoteIP":"127.0.0.1","status":' || CASE WHEN failed THEN 404 ELSE 200 END
		|| ',"type":"request","url":"' || path
		|| '","userAgent":"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0","userIP":"127.0.0.1"}',
	datetime(at / 1000, 'unixepoch') || '.' || substr(1000 + at % 1000, 2) || 'Z'
FROM request`

func workspaceName(n int) string { return fmt.Sprintf("workspace%06d", n) }

func fillEntries(ctx context.Context, path string, want amounts) ([]string, error) {
	now := time.Now().UTC().Format("2006-01-02 15:04:05.000Z")
	ids := make([]string, 0, shownIDs)
	err := bulk(ctx, path, "directory", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, insertEntries, want.entries, want.workspaces, now); err != nil {
			return fmt.Errorf("insert: %w", err)
		}
		for n := (want.entries - 1) / want.workspaces * want.workspaces; n >= 0 && len(ids) < min(shownIDs, want.entries); n -= want.workspaces {
			ids = append(ids, fmt.Sprintf("e%014d", n))
		}
		return nil
	})
	return ids, err
}

func fillLogs(ctx context.Context, path string, rows int, until time.Time) error {
	return bulk(ctx, path, "_logs", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, insertLogs, rows, until.UnixMilli()); err != nil {
			return fmt.Errorf("insert: %w", err)
		}
		return nil
	})
}

// bulk drops the indexes of the table while it inserts, because sorting once is faster than
// inserting in place. There is no journal: a fill that fails is started again.
func bulk(ctx context.Context, path, table string, insert func(*sql.Tx) error) (err error) {
	opened, err := openSQLite(path, "journal_mode(OFF)", "synchronous(OFF)", "temp_store(MEMORY)", "cache_size(-20000)")
	if err != nil {
		return err
	}
	db := opened.DB()
	defer func() {
		if closeErr := db.Close(); closeErr != nil && err == nil {
			err = fmt.Errorf("close %s: %w", path, closeErr)
		}
	}()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback()
	var drop, create sql.NullString
	err = tx.QueryRowContext(ctx, `SELECT group_concat('DROP INDEX ' || name, ';'), group_concat(sql, ';')
		FROM sqlite_schema WHERE type = 'index' AND tbl_name = $1 AND sql IS NOT NULL`, table).Scan(&drop, &create)
	if err != nil {
		return fmt.Errorf("read the indexes of %s: %w", table, err)
	}
	if _, err := tx.ExecContext(ctx, drop.String); err != nil {
		return fmt.Errorf("drop the indexes of %s: %w", table, err)
	}
	if err := insert(tx); err != nil {
		return err
	}
	for _, statement := range strings.Split(create.String, ";") {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

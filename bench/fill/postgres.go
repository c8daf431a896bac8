package fill

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Postgres fills the store at a URL and updates its statistics, as autovacuum would do soon.
func Postgres(ctx context.Context, url string, p Filling) (err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("open the store to fill: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	if _, err := conn.Exec(ctx, `SET synchronous_commit = off; SET session_replication_role = replica; SET maintenance_work_mem = '256MB'`); err != nil {
		return fmt.Errorf("prepare to fill the store: %w", err)
	}
	restore, err := dropPostgresIndexes(ctx, conn)
	if err != nil {
		return fmt.Errorf("drop the indexes: %w", err)
	}
	if err := p.into(ctx, postgresStore{conn}); err != nil {
		return err
	}
	for _, statement := range []string{restore, `VACUUM ANALYZE`, `CHECKPOINT`} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("after filling the store: %w", err)
		}
	}
	return nil
}

// dropPostgresIndexes drops indexes, because indexing all rows at once is faster, and returns
// the statements that restore them. Indexes of constraints stay.
func dropPostgresIndexes(ctx context.Context, conn *pgx.Conn) (restore string, err error) {
	rows, err := conn.Query(ctx, `SELECT format('DROP INDEX %I.%I', schemaname, indexname), indexdef FROM pg_indexes i
		WHERE schemaname = current_schema() AND NOT EXISTS (SELECT FROM pg_constraint c
			WHERE c.conindid = format('%I.%I', i.schemaname, i.indexname)::regclass)`)
	if err != nil {
		return "", err
	}
	var drop, create, dropAll string
	_, err = pgx.ForEachRow(rows, []any{&drop, &create}, func() error {
		dropAll += drop + ";"
		restore += create + ";"
		return nil
	})
	if err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, dropAll)
	return restore, err
}

type postgresStore struct{ conn *pgx.Conn }

// ReadPostgres returns the only row of a table that meets a condition, ready to be copied.
func ReadPostgres(ctx context.Context, conn *pgx.Conn, table string, where Condition, v Vary) (Row, error) {
	return only(ctx, postgresStore{conn}, table, where, v)
}

func (s postgresStore) read(ctx context.Context, table string, where Condition) (columns []string, out [][]any, err error) {
	// A row of the audit log gets the transaction that stores it: the sequencer would pass over
	// rows that say that they are as old as the one that they are copies of.
	var names string
	err = s.conn.QueryRow(ctx, `SELECT string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position) FROM information_schema.columns
		WHERE table_schema = current_schema() AND table_name = $1 AND column_name <> 'xact'`, table).Scan(&names)
	if err != nil {
		return nil, nil, fmt.Errorf("read the columns of %s: %w", table, err)
	}
	rows, err := s.conn.Query(ctx, `SELECT `+names+` FROM `+table+` WHERE `+where.SQL, where.Args...)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", table, err)
	}
	for _, field := range rows.FieldDescriptions() {
		columns = append(columns, field.Name)
	}
	out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
	return columns, out, err
}

func (s postgresStore) change(ctx context.Context, sql string, args ...any) error {
	_, err := s.conn.Exec(ctx, sql, args...)
	return err
}

func (s postgresStore) write(ctx context.Context, table string, columns []string, n int, row func(i int) []any) error {
	_, err := s.conn.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromSlice(n, func(i int) ([]any, error) { return row(i), nil }))
	return err
}

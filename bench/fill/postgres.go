package fill

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Postgres fills the store at an address, and has it counted, as autovacuum would
// soon do by itself.
func Postgres(ctx context.Context, url string, p Plan) (err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("open the store to fill: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	if _, err := conn.Exec(ctx, `SET synchronous_commit = off; SET session_replication_role = replica; SET maintenance_work_mem = '256MB'`); err != nil {
		return fmt.Errorf("prepare to fill the store: %w", err)
	}
	again, err := setIndexesAside(ctx, conn)
	if err != nil {
		return fmt.Errorf("set the indexes aside: %w", err)
	}
	if err := p.into(ctx, postgresSink{conn}); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, again); err != nil {
		return fmt.Errorf("make the indexes: %w", err)
	}
	if _, err := conn.Exec(ctx, `VACUUM ANALYZE`); err != nil {
		return fmt.Errorf("count the rows: %w", err)
	}
	if _, err := conn.Exec(ctx, `CHECKPOINT`); err != nil {
		return fmt.Errorf("end filling the store: %w", err)
	}
	return nil
}

// setIndexesAside drops indexes, which cost less when they are made over all rows at
// once, and returns the statements that make them. Those of constraints stay.
func setIndexesAside(ctx context.Context, conn *pgx.Conn) (again string, err error) {
	rows, err := conn.Query(ctx, `SELECT format('DROP INDEX %I.%I', schemaname, indexname), indexdef FROM pg_indexes i
		WHERE schemaname = current_schema() AND NOT EXISTS (SELECT FROM pg_constraint c
			WHERE c.conindid = format('%I.%I', i.schemaname, i.indexname)::regclass)`)
	if err != nil {
		return "", err
	}
	var drop, create, dropAll string
	_, err = pgx.ForEachRow(rows, []any{&drop, &create}, func() error {
		dropAll += drop + ";"
		again += create + ";"
		return nil
	})
	if err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, dropAll)
	return again, err
}

type postgresSink struct{ conn *pgx.Conn }

func (s postgresSink) rows(ctx context.Context, table string, columns []string, n int, row func(i int) []any) error {
	i := 0
	source := pgx.CopyFromFunc(func() ([]any, error) {
		if i == n {
			return nil, nil
		}
		i++
		return row(i - 1), nil
	})
	if _, err := s.conn.CopyFrom(ctx, pgx.Identifier{table}, columns, source); err != nil {
		return fmt.Errorf("fill %s: %w", table, err)
	}
	return nil
}

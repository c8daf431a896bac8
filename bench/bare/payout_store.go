package bare

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/ncruces/go-sqlite3"

	"bursar/bench/fill"
)

func openPayoutStore(ctx context.Context, store string) (payoutStore, error) {
	if !strings.HasPrefix(store, "postgres") {
		conn, err := open(store)
		return &sqlitePayouts{conn, map[string]*sqlite3.Stmt{}}, err
	}
	conn, err := pgx.Connect(ctx, store)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	return postgresPayouts{conn}, nil
}

type sqlitePayouts struct {
	conn     *sqlite3.Conn
	prepared map[string]*sqlite3.Stmt
}

func (s *sqlitePayouts) read(table string, where fill.Condition, v fill.Vary) (fill.Row, error) {
	return fill.ReadSQLite(s.conn, table, where, v)
}

func (s *sqlitePayouts) numbers(sql, id string) (out []int64, err error) {
	stmt, _, err := s.conn.Prepare(sql)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	if err := stmt.BindText(1, id); err != nil {
		return nil, err
	}
	if !stmt.Step() {
		return nil, errors.Join(fmt.Errorf("account %s has no payout", id), stmt.Err())
	}
	for i := range stmt.ColumnCount() {
		out = append(out, stmt.ColumnInt64(i))
	}
	return out, nil
}

func (s *sqlitePayouts) commit(list []statement) error {
	if err := s.conn.Exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	for _, one := range list {
		if err := s.run(one); err != nil {
			_ = s.conn.Exec(`ROLLBACK`)
			return fmt.Errorf("write the rows: %w", err)
		}
	}
	return s.conn.Exec(`COMMIT`)
}

func (s *sqlitePayouts) run(one statement) (err error) {
	stmt := s.prepared[one.sql]
	if stmt == nil {
		if stmt, _, err = s.conn.PrepareFlags(one.sql, sqlite3.PREPARE_PERSISTENT); err != nil {
			return err
		}
		s.prepared[one.sql] = stmt
	}
	return fill.Insert(stmt, one.args)
}

func (s *sqlitePayouts) close() {
	for _, stmt := range s.prepared {
		_ = stmt.Close()
	}
	_ = s.conn.Close()
}

type postgresPayouts struct{ conn *pgx.Conn }

func (s postgresPayouts) read(table string, where fill.Condition, v fill.Vary) (fill.Row, error) {
	return fill.ReadPostgres(context.Background(), s.conn, table, where, v)
}

func (s postgresPayouts) numbers(sql, id string) (out []int64, err error) {
	found, err := s.conn.Query(context.Background(), sql, id)
	if err != nil {
		return nil, err
	}
	values, err := pgx.CollectExactlyOneRow(found, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
	for _, value := range values {
		number, _ := value.(int64) // all columns are BIGINT
		out = append(out, number)
	}
	return out, err
}

// commit sends all statements at once.
func (s postgresPayouts) commit(list []statement) error {
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	for _, one := range list {
		batch.Queue(one.sql, one.args...)
	}
	batch.Queue("COMMIT")
	return s.conn.SendBatch(context.Background(), batch).Close()
}

func (s postgresPayouts) close() { _ = s.conn.Close(context.Background()) }

package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"bursar/internal/db/engine"
)

// bulkLockTimeout is how long to wait, in milliseconds, for transactions that are changing something.
const bulkLockTimeout = "10000"

// Exclusive implements engine.Engine. It locks all tables against changes, so that every statement
// sees the same state.
func (e *Engine) Exclusive(ctx context.Context, fn func(engine.Bulk) error) error {
	c := &conn{ctx: ctx, engine: e, deadline: time.Now().Add(acquireTimeout), begin: "BEGIN READ WRITE"}
	defer c.release()
	err := engine.Recover(func() error {
		b := &bulk{conn: c}
		if err := b.lock(); err != nil {
			return err
		}
		return fn(b)
	})
	if err != nil {
		if c.db != nil {
			c.rollBack()
		}
		return err
	}
	return c.commit()
}

// bulk is a connection in a transaction that has locked all tables.
type bulk struct {
	*conn
	tables string // their names, separated by commas
}

func (b *bulk) lock() error {
	if err := b.Script(`SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = ` + bulkLockTimeout + `; SET LOCAL maintenance_work_mem = '256MB'`); err != nil {
		return fmt.Errorf("prepare to use all tables: %w", err)
	}
	tables, err := b.list(`SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' ORDER BY 1`, 1)
	if err != nil {
		return fmt.Errorf("list the tables: %w", err)
	}
	var names []string
	for _, t := range tables {
		names = append(names, pgx.Identifier{t[0]}.Sanitize())
	}
	b.tables = strings.Join(names, ", ")
	if err := b.Script(`LOCK TABLE ` + b.tables + ` IN SHARE MODE`); err != nil {
		return fmt.Errorf("lock all tables: %w", err)
	}
	return nil
}

func (b *bulk) list(sql string, columns int) (all [][]string, err error) {
	rows, err := b.Query(sql, nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		row := make([]string, columns)
		for i := range row {
			row[i] = rows.Text(i)
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// Copy implements engine.Bulk with COPY in binary format.
func (b *bulk) Copy(table string, columns []string, next func() ([]byte, error)) error {
	if len(b.queued) > 0 {
		if err := b.flush(); err != nil {
			return err
		}
	}
	quoted := make([]string, len(columns))
	for i, name := range columns {
		quoted[i] = pgx.Identifier{name}.Sanitize()
	}
	name, list := pgx.Identifier{table}.Sanitize(), strings.Join(quoted, ", ")
	described, err := b.db.Prepare(b.ctx, "", `SELECT `+list+` FROM `+name)
	if err != nil {
		return fmt.Errorf("read the columns: %w", err)
	}
	source := &copySource{next: next, out: append([]byte(nil), copyHeader...)}
	for _, field := range described.Fields {
		source.types = append(source.types, field.DataTypeOID)
	}
	_, err = b.db.PgConn().CopyFrom(b.ctx, source, `COPY `+name+` (`+list+`) FROM STDIN BINARY`)
	if source.err != nil {
		return source.err // the server only reports that the copy was ended
	}
	return err
}

// copyHeader begins a copy in binary format: a signature, no flags, no extension.
const copyHeader = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// copySource converts rows to the input of COPY.
type copySource struct {
	next  func() ([]byte, error)
	types []uint32
	out   []byte // to be read
	used  int    // of out
	ended bool
	err   error
}

// copyChunk is how many bytes are prepared at a time.
const copyChunk = 1 << 16

// Read implements io.Reader.
func (s *copySource) Read(p []byte) (int, error) {
	if s.used == len(s.out) {
		s.out, s.used = s.out[:0], 0
	}
	for len(s.out) < copyChunk && !s.ended && s.used == 0 {
		row, err := s.next()
		if err == io.EOF {
			s.ended = true
			s.out = append(s.out, 0xff, 0xff)
			break
		}
		if err == nil {
			err = s.add(row)
		}
		if err != nil {
			s.err, s.ended = err, true
			return 0, err
		}
	}
	if s.used == len(s.out) {
		return 0, io.EOF
	}
	n := copy(p, s.out[s.used:])
	s.used += n
	return n, nil
}

func (s *copySource) add(row []byte) error {
	s.out = binary.BigEndian.AppendUint16(s.out, uint16(len(s.types)))
	for _, kind := range s.types {
		tag, number, text, rest, err := engine.NextValue(row)
		if err != nil {
			return err
		}
		row = rest
		switch tag {
		case engine.Null:
			s.out = binary.BigEndian.AppendUint32(s.out, 0xffffffff)
		case engine.Number:
			switch kind {
			case pgtype.Int8OID:
				s.out = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(s.out, 8), uint64(number))
			case pgtype.Int4OID:
				if number != int64(int32(number)) {
					return fmt.Errorf("the number %d does not fit into its column", number)
				}
				s.out = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(s.out, 4), uint32(number))
			default:
				return fmt.Errorf("a number is in a column of another type: %w", engine.ErrRow)
			}
		case engine.False:
			s.out = append(s.out, 0, 0, 0, 1, 0)
		case engine.True:
			s.out = append(s.out, 0, 0, 0, 1, 1)
		default:
			s.out = append(binary.BigEndian.AppendUint32(s.out, uint32(len(text))), text...)
		}
	}
	if len(row) > 0 {
		return engine.ErrRow
	}
	return nil
}

// SetIndexesAside implements engine.Bulk. An index that is a table's replica identity stays,
// because dropping it would drop the identity as well.
func (b *bulk) SetIndexesAside() (restore func() error, err error) {
	// Foreign keys are dropped first, because they depend on the keys.
	constraints, err := b.list(`SELECT c.conrelid::regclass::text, quote_ident(c.conname), pg_get_constraintdef(c.oid) FROM pg_constraint c
		WHERE c.connamespace = current_schema()::regnamespace AND c.contype IN ('f', 'p', 'u')
		ORDER BY c.contype = 'f' DESC, 1, 2`, 3)
	if err != nil {
		return nil, fmt.Errorf("list the constraints: %w", err)
	}
	indexes, err := b.list(`SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
		WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind = 'r' AND NOT i.indisreplident
			AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid AND c.contype IN ('p', 'u')) ORDER BY 1`, 2)
	if err != nil {
		return nil, fmt.Errorf("list the indexes: %w", err)
	}
	for _, c := range constraints {
		if err := b.Script(`ALTER TABLE ` + c[0] + ` DROP CONSTRAINT ` + c[1]); err != nil {
			return nil, fmt.Errorf("drop constraint %s: %w", c[1], err)
		}
	}
	for _, i := range indexes {
		if err := b.Script(`DROP INDEX ` + i[0]); err != nil {
			return nil, fmt.Errorf("drop index %s: %w", i[0], err)
		}
	}
	return func() error {
		for _, i := range indexes {
			if err := b.Script(i[1]); err != nil {
				return fmt.Errorf("make index %s: %w", i[0], err)
			}
		}
		for n := range constraints {
			c := constraints[len(constraints)-1-n]
			if err := b.Script(`ALTER TABLE ` + c[0] + ` ADD CONSTRAINT ` + c[1] + ` ` + c[2]); err != nil {
				return fmt.Errorf("make constraint %s: %w", c[1], err)
			}
		}
		return b.Script(`ANALYZE ` + b.tables) // without it PostgreSQL plans for empty tables
	}, nil
}

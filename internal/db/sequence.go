package db

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
)

// AuditBatch is how many rows of the audit log are sequenced in one transaction. It is small
// so that other writes do not wait long for the transaction.
const AuditBatch = 500

// auditOrder is how an engine determines the order in which rows of the audit log were
// committed. Each row sorts by a number and then by its id.
type auditOrder struct {
	// state reads audit_sequence. Its last column reports whether the number of the last
	// sequenced row has lost its meaning.
	state string
	// next reads the rows that follow a number and an id and that no later commit can precede.
	next string
	// find reads the row with an id, by an index.
	find string
	// placed reads the rows that follow a position. A row is found by its workspace and its
	// id, or by its id among those of no workspace: there is no index of all ids.
	placed string
	// skipped reads the rows that have no place although later rows have one. It does not read
	// audit_sequence, which a forger can change as well.
	skipped string
	// renumber repairs the state if the state query reports lost numbers. It returns rows
	// that have no place and that next would not return.
	renumber func(tx *Tx, s *AuditState) ([]AuditRow, error)
}

// sqliteAuditOrder returns the order of SQLite. Its rows have the order in which they
// were inserted, because there is one writer.
func sqliteAuditOrder() auditOrder {
	return auditOrder{
		state: `SELECT size, sorts_as, audit_id, lease_holder, lease_until,
			size > 0 AND NOT EXISTS (SELECT 1 FROM audit_log a WHERE a.rowid = s.sorts_as AND a.id = s.audit_id)
			FROM audit_sequence s`,
		next: `SELECT rowid, id, workspace_number, organization_id FROM audit_log
			WHERE rowid > $1 AND id <> $2 ORDER BY rowid LIMIT 500`,
		// The table has no index of ids alone, but the table of places has.
		find: `SELECT rowid, id, workspace_number, organization_id FROM audit_log WHERE id = $1 AND rowid > (SELECT sorts_as FROM audit_sequence)
			UNION ALL SELECT 0, p.audit_id, s.workspace_number, s.organization_id FROM audit_place p JOIN audit_stream s ON s.number = p.stream WHERE p.audit_id = $1`,
		placed: `SELECT p.position, p.stream, p.seq, p.audit_id, coalesce(a.entry, o.entry), coalesce(a.personal, o.personal), coalesce(a.salt, o.salt), coalesce(a.erased, o.erased)
			FROM audit_place p CROSS JOIN audit_stream s ON s.number = p.stream
			LEFT JOIN audit_log a ON a.workspace_number = s.workspace_number AND a.id = p.audit_id
			LEFT JOIN audit_log o ON s.workspace_number IS NULL AND coalesce(o.workspace_number, 0) = 0 AND o.id = p.audit_id
			WHERE p.position > $1 ORDER BY p.position LIMIT 500`,
		skipped: `SELECT id FROM audit_log a
			WHERE rowid < (SELECT l.rowid FROM audit_log l WHERE EXISTS (SELECT 1 FROM audit_place p WHERE p.audit_id = l.id) ORDER BY l.rowid DESC LIMIT 1)
			AND NOT EXISTS (SELECT 1 FROM audit_place p WHERE p.audit_id = a.id)`,
		renumber: renumberSQLite,
	}
}

// renumberSQLite finds the last sequenced row. VACUUM may have given new numbers to all
// rows, but it keeps their order.
func renumberSQLite(tx *Tx, s *AuditState) ([]AuditRow, error) {
	found, err := tx.Row(`SELECT rowid FROM audit_log WHERE id = $1`, s.last.ID).Scan(&s.last.sortsAs)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, errors.New("the audit row that was sequenced last is not in the log: rows were removed from the store")
	}
	return nil, nil
}

// postgresAuditOrder returns the order of PostgreSQL. Its rows are sorted by the number
// of their transaction. They are final once every transaction up to theirs has ended,
// which the oldest running transaction (pg_snapshot_xmin) shows.
func postgresAuditOrder() auditOrder {
	return auditOrder{
		state: `SELECT size, sorts_as, audit_id, lease_holder, lease_until,
			pg_snapshot_xmax(pg_current_snapshot())::text::bigint + xact_offset < sorts_as FROM audit_sequence`,
		next: `SELECT xact, id, workspace_number, organization_id FROM audit_log
			WHERE (xact, id) > ($1, $2) AND
				xact < (SELECT xact_offset FROM audit_sequence) + pg_snapshot_xmin(pg_current_snapshot())::text::bigint
			ORDER BY xact, id LIMIT 500`,
		find: `SELECT xact, id, workspace_number, organization_id FROM audit_log WHERE id = $1`,
		// The limits keep PostgreSQL from a join that reads the whole log.
		placed: `SELECT p.position, p.stream, p.seq, p.audit_id, coalesce(a.entry, o.entry), coalesce(a.personal, o.personal), coalesce(a.salt, o.salt), coalesce(a.erased, o.erased)
			FROM (SELECT * FROM audit_place WHERE position > $1 ORDER BY position LIMIT 500) p
			LEFT JOIN LATERAL (SELECT workspace_number FROM audit_stream WHERE number = p.stream LIMIT 1) s ON true
			LEFT JOIN LATERAL (SELECT entry, personal, salt, erased FROM audit_log
				WHERE workspace_number = s.workspace_number AND id = p.audit_id LIMIT 1) a ON true
			LEFT JOIN LATERAL (SELECT entry, personal, salt, erased FROM audit_log
				WHERE s.workspace_number IS NULL AND coalesce(workspace_number, 0) = 0 AND id = p.audit_id LIMIT 1) o ON true
			ORDER BY p.position`,
		skipped: `SELECT id FROM audit_log a
			WHERE (xact, id) < (SELECT l.xact, l.id FROM audit_log l WHERE EXISTS (SELECT 1 FROM audit_place p WHERE p.audit_id = l.id) ORDER BY l.xact DESC, l.id DESC LIMIT 1)
			AND NOT EXISTS (SELECT 1 FROM audit_place p WHERE p.audit_id = a.id)`,
		renumber: renumberPostgres,
	}
}

// renumberPostgres adds an offset to the numbers of transactions. A store that was restored
// into another server continues with lower transaction numbers than those in its rows.
// Without the offset, new rows would sort before rows that have a place already.
func renumberPostgres(tx *Tx, s *AuditState) ([]AuditRow, error) {
	// The lock waits for writes that use the old offset.
	if err := tx.Exec(`LOCK TABLE audit_log IN ACCESS EXCLUSIVE MODE`); err != nil {
		return nil, err
	}
	var next int64
	if _, err := tx.Row(`SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint`).Scan(&next); err != nil {
		return nil, err
	}
	offset := s.last.sortsAs - next + 1
	if err := tx.Exec(`UPDATE audit_sequence SET xact_offset = $1`, offset); err != nil {
		return nil, err
	}
	// A DDL statement takes no parameters.
	if err := tx.Exec(fmt.Sprintf(`ALTER TABLE audit_log ALTER COLUMN xact SET DEFAULT pg_current_xact_id()::text::bigint + %d`, offset)); err != nil {
		return nil, err
	}
	return Collect(tx.Q, auditRow, `SELECT xact, id, workspace_number, organization_id FROM audit_log a
		WHERE (xact, id) <= ($1, $2) AND NOT EXISTS (SELECT 1 FROM audit_place p WHERE p.audit_id = a.id) ORDER BY xact, id`,
		s.last.sortsAs, s.last.ID)
}

// AuditRow is a row of the audit log that may have no place yet.
type AuditRow struct {
	ID             [16]byte
	Workspace      int64  // its number, 0 for none
	OrganizationID string // "" for none

	sortsAs int64
}

func auditRow(r Rows) AuditRow {
	row := AuditRow{sortsAs: r.Int(0), Workspace: r.Int(2), OrganizationID: r.Text(3)}
	copy(row.ID[:], r.Raw(1))
	return row
}

// FindAuditRow finds a row of the audit log in any workspace, or in none.
func (q Q) FindAuditRow(d *DB, id string) (row AuditRow, found bool, err error) {
	err = q.Each(func(r Rows) error {
		row, found = auditRow(r), true
		return nil
	}, d.dialect.audit.find, PackID("aud", id))
	return row, found, err
}

// AuditState is how far the audit log has been sequenced.
type AuditState struct {
	Size        int64 // how many rows have a place
	LeaseHolder string
	LeaseUntil  int64

	last       AuditRow // the row with the last place
	renumbered bool
}

// AuditState reads how far the log has been sequenced, and the rows that come next.
func (q Q) AuditState(d *DB) (s AuditState, next []AuditRow, err error) {
	if err := q.Snapshot(); err != nil {
		return s, nil, err
	}
	err = q.Each(func(r Rows) error {
		s = AuditState{Size: r.Int(0), last: AuditRow{sortsAs: r.Int(1)}, LeaseHolder: r.Text(3), LeaseUntil: r.Int(4), renumbered: r.Bool(5)}
		copy(s.last.ID[:], r.Raw(2))
		return nil
	}, d.dialect.audit.state)
	if err != nil {
		return s, nil, err
	}
	next, err = Collect(q, auditRow, d.dialect.audit.next, s.last.sortsAs, s.last.ID)
	return s, next, err
}

// PlacedAudit calls fn with the rows that follow a position, AuditBatch at most: position, stream,
// seq, id, entry, personal, salt, erased. The last four are NULL if the row is missing.
func (q Q) PlacedAudit(d *DB, after int64, fn func(r Rows) error) error {
	return q.Each(fn, d.dialect.audit.placed, after)
}

// AuditSkipped returns the ids of rows that have no place although later rows have one.
// Only rows that were inserted out of order can be such.
func (q Q) AuditSkipped(d *DB) ([]string, error) {
	return Collect(q, func(r Rows) string { return UnpackID("aud", r, 0) }, d.dialect.audit.skipped)
}

// Renumbered reports whether the engine has renumbered the rows, so that the next rows
// are not known before RenumberAudit.
func (s AuditState) Renumbered() bool { return s.renumbered }

// AdvanceAudit records that rows have got their places and renews the lease. If another
// node did so since the state was read, it changes nothing and returns false. This
// comparison is all that keeps two nodes from giving the same places.
func (tx *Tx) AdvanceAudit(s AuditState, rows []AuditRow, holder string, until int64) (bool, error) {
	last := s.last
	if len(rows) > 0 && rows[len(rows)-1].after(last) {
		last = rows[len(rows)-1]
	}
	var size int64
	return tx.Row(`UPDATE audit_sequence SET size = $1, sorts_as = $2, audit_id = $3, lease_holder = $4, lease_until = $5
		WHERE size = $6 RETURNING size`, s.Size+int64(len(rows)), last.sortsAs, last.ID, holder, until, s.Size).Scan(&size)
}

func (r AuditRow) after(other AuditRow) bool {
	return cmp.Or(cmp.Compare(r.sortsAs, other.sortsAs), bytes.Compare(r.ID[:], other.ID[:])) > 0
}

// RenumberAudit repairs the sort numbers of rows, in the state too. It returns rows that
// have no place and that would never come next. AdvanceAudit stores the state.
func (tx *Tx) RenumberAudit(s *AuditState) ([]AuditRow, error) {
	return tx.db.dialect.audit.renumber(tx, s)
}

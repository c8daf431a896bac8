package auditlog

import (
	"strconv"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/web"
)

const columns = `id, action, actor_name, actor_email, description, outcome, at, actor_id, actor_type,
	resource_type, resource_id, request_id, ip`

// filter is which rows a page shows.
type filter struct {
	column, value string // whose rows
	own           bool   // rows of no workspace alone
	equals        [][2]string
	from, to      int64
}

// all is every row of a workspace.
func all(workspaceID string) filter {
	return filter{column: "workspace_id", value: workspaceID, to: web.LastMillisecond}
}

func (f *filter) equal(column string, value *string) {
	if value != nil {
		f.equals = append(f.equals, [2]string{column, *value})
	}
}

// scope is what a cursor is bound to.
func (f filter) scope() []string {
	parts := []string{"audit", f.column, f.value, strconv.FormatInt(f.from, 10), strconv.FormatInt(f.to, 10)}
	for _, e := range f.equals {
		parts = append(parts, e[0], e[1])
	}
	return parts
}

// first is the least id that belongs. Rows come newest first, so that those before
// it are the end: where an index answers it is not asked for, since with both ends of
// a span SQLite would prefer its index and PostgreSQL plan anew for every page.
func (f filter) first() string {
	if f.from == 0 {
		return ""
	}
	return db.FirstID("aud", f.from)
}

// indexed says whether an index has all rows that belong, one after another.
func (f filter) indexed() bool {
	return len(f.equals) == 0 || len(f.equals) == 1 && f.column == "workspace_id"
}

// newest asks for columns of the rows below a position, newest first.
func (f filter) newest(columns, below string, take int) *db.Statement {
	// Ids carry their time: the span of time is a span of ids.
	if f.to != web.LastMillisecond {
		below = min(below, db.FirstID("aud", f.to+1))
	}
	sql := db.NewStatement(`SELECT `)
	sql.Add(columns)
	sql.Add(` FROM audit_log WHERE `)
	sql.Add(f.column)
	sql.Add(` = `, f.value)
	sql.Add(` AND id < `, below)
	if f.own {
		sql.Add(` AND workspace_id IS NULL`)
	}
	if f.from > 0 && !f.indexed() {
		sql.Add(` AND id >= `, f.first())
	}
	for _, e := range f.equals {
		if e[0] == "outcome" && e[1] == string(audit.Success) && len(f.equals) > 1 {
			// Nearly all rows tell of a success: any other filter has the better index, and
			// SQLite cannot know.
			sql.Add(` AND outcome NOT IN ('denied', 'failure')`)
			continue
		}
		sql.Add(` AND `)
		sql.Add(e[0])
		sql.Add(` = `, e[1])
	}
	sql.Add(` ORDER BY id DESC`)
	sql.Limit(take)
	return sql
}

// encode adds the rows of a page as they are sent.
func (f filter) encode(q db.Q, w web.Window, page *web.JSONPage) error {
	var sent []byte
	write := func(dst []byte) []byte { return append(dst, sent...) }
	first, old := f.first(), false
	err := q.EachOf(f.newest(`sent`, w.After, w.Limit), func(r db.Rows) error {
		sent = r.Raw(0)
		old = old || len(sent) == 0
		if old {
			return nil
		}
		if id := encodedID(sent); string(id) >= first {
			page.Row(id, write)
		}
		return nil
	})
	if err != nil || !old {
		return err
	}
	page.Clear()
	rows, err := f.rows(q, w.After, w.Limit)
	for _, row := range rows {
		page.Row([]byte(row.ID), row.AppendJSON)
	}
	return err
}

// rows gathers rows below a position.
func (f filter) rows(q db.Q, below string, take int) ([]api.AuditEntry, error) {
	all := []api.AuditEntry{}
	first := f.first()
	err := q.EachOf(f.newest(columns, below, take), func(r db.Rows) error {
		if len(all) == take || string(r.Raw(0)) < first {
			return nil
		}
		all = append(all, readRow(r))
		return nil
	})
	return all, err
}

func find(q db.Q, workspaceID, id string) (row api.AuditEntry, found bool, err error) {
	err = q.Each(func(r db.Rows) error {
		row, found = readRow(r), true
		return nil
	}, `SELECT `+columns+` FROM audit_log WHERE id = $1 AND workspace_id = $2`, id, workspaceID)
	return row, found, err
}

// countSpan counts the rows of a workspace from one id to before another, and
// those among them that tell of no success, each up to a limit.
func countSpan(q db.Q, workspaceID, first, past string, limit int) (count, refused int, err error) {
	_, err = q.Row(`SELECT
		(SELECT count(*) FROM (SELECT 1 FROM audit_log WHERE workspace_id = $1 AND id >= $2 AND id < $3 LIMIT $4) a),
		(SELECT count(*) FROM (SELECT 1 FROM audit_log WHERE workspace_id = $1 AND outcome IN ($5, $6) AND id >= $2 AND id < $3 LIMIT $4) r)`,
		workspaceID, first, past, limit, string(audit.Denied), string(audit.Failure)).Scan(&count, &refused)
	return count, refused, err
}

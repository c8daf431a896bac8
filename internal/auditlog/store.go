package auditlog

import (
	"strconv"

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
// it are the end: where a filter has an index it is not asked for, since SQLite
// would prefer the index of a span with both ends.
func (f filter) first() string {
	if f.from == 0 {
		return ""
	}
	return db.FirstID("aud", f.from)
}

// newest asks for the columns of rows below a position, newest first.
func (f filter) newest(below string, take int) *db.Statement {
	// Ids carry their time: the span of time is a span of ids.
	if f.to != web.LastMillisecond {
		below = min(below, db.FirstID("aud", f.to+1))
	}
	sql := db.NewStatement(`SELECT ` + columns + ` FROM audit_log WHERE `)
	sql.Add(f.column+` = `, f.value)
	sql.Add(` AND id < `, below)
	if f.own {
		sql.Add(` AND workspace_id IS NULL`)
	}
	if f.from > 0 && (len(f.equals) != 1 || f.column != "workspace_id") {
		sql.Add(` AND id >= `, f.first())
	}
	for _, e := range f.equals {
		if e[0] == "outcome" && e[1] == string(audit.Success) && len(f.equals) > 1 {
			// Nearly all rows tell of a success: any other filter has the better index, and
			// SQLite cannot know.
			sql.Add(` AND outcome NOT IN ('denied', 'failure')`)
			continue
		}
		sql.Add(` AND `+e[0]+` = `, e[1])
	}
	sql.Add(` ORDER BY id DESC LIMIT `, take)
	return sql
}

// encode adds the rows of a page as they are sent.
func (f filter) encode(q db.Q, w web.Window, page *web.Encoded) error {
	var row db.Rows
	write := func(dst []byte) []byte { return appendRow(dst, row) }
	first := f.first()
	return q.EachOf(f.newest(w.After, w.Take), func(r db.Rows) error {
		if string(r.Raw(0)) < first {
			return nil
		}
		row = r
		page.Row(r.Raw(0), write)
		return nil
	})
}

// rows gathers rows below a position.
func (f filter) rows(q db.Q, below string, take int) ([]Row, error) {
	all := []Row{}
	first := f.first()
	err := q.EachOf(f.newest(below, take), func(r db.Rows) error {
		if string(r.Raw(0)) < first {
			return nil
		}
		all = append(all, readRow(r))
		return nil
	})
	return all, err
}

func find(q db.Q, workspaceID, id string) (row Row, found bool, err error) {
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

// appendRow writes a row as it is sent. What we named ourselves needs no quoting.
func appendRow(dst []byte, r db.Rows) []byte {
	dst = append(dst, `{"id":"`...)
	dst = append(dst, r.Raw(0)...)
	dst = append(dst, `","action":"`...)
	dst = append(dst, r.Raw(1)...)
	dst = append(dst, `","actor_name":`...)
	dst = web.AppendString(dst, r.Raw(2))
	dst = append(dst, `,"actor_email":`...)
	dst = web.AppendString(dst, r.Raw(3))
	dst = append(dst, `,"description":`...)
	dst = web.AppendString(dst, r.Raw(4))
	dst = append(dst, `,"outcome":"`...)
	dst = append(dst, r.Raw(5)...)
	dst = append(dst, `","timestamp":`...)
	dst = strconv.AppendInt(dst, r.Int(6), 10)
	dst = append(dst, `,"actor_id":"`...)
	dst = append(dst, r.Raw(7)...)
	dst = append(dst, `","actor_type":"`...)
	dst = append(dst, r.Raw(8)...)
	dst = append(dst, `","resource_type":"`...)
	dst = append(dst, r.Raw(9)...)
	dst = append(dst, `","resource_id":`...) // of a refused request it is what the path said
	dst = web.AppendString(dst, r.Raw(10))
	dst = append(dst, `,"request_id":"`...)
	dst = append(dst, r.Raw(11)...)
	dst = append(dst, `","ip":`...)
	dst = web.AppendString(dst, r.Raw(12))
	return append(dst, '}')
}

package server_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"bursar/internal/db"
)

// sqlitePlans explains statements on a connection of its own, since only the driver
// tells how many steps one took, and holds its plans against the product's.
type sqlitePlans struct {
	t    testing.TB
	d    *db.DB
	conn *sqlite3.Conn
	all  []string // tables
}

func newSQLitePlans(t testing.TB, d *db.DB, dir string) *sqlitePlans {
	t.Helper()
	conn, err := sqlite3.Open("file:" + filepath.Join(dir, db.SQLiteFile))
	if err != nil {
		t.Fatalf("open the data file: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	p := &sqlitePlans{t: t, d: d, conn: conn}
	p.must(conn.Exec("PRAGMA foreign_keys = ON"))
	_, err = conn.Config(sqlite3.DBCONFIG_ENABLE_QPSG, true)
	p.must(err)
	p.must(d.Read(t.Context(), func(q db.Q) (err error) {
		p.all, err = db.Collect(q, func(r db.Rows) string { return r.Text(0) },
			`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'`)
		return err
	}))
	return p
}

func (p *sqlitePlans) tables() []string { return p.all }

func (p *sqlitePlans) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("SQLite: %v", err)
	}
}

// stepsPerRow is about how many steps of SQLite's machine a row takes.
const stepsPerRow = 15

// explain tells how a statement is planned, and how much it does.
func (p *sqlitePlans) explain(sql string, args []any) []reading {
	p.t.Helper()
	r := reading{how: "SQLite"}
	names := p.names(sql)
	for _, line := range p.plan(sql, args) {
		r.plan = append(r.plan, line)
		if fault := judgeLine(line, names); fault != "" {
			r.faults = append(r.faults, fault)
		}
	}
	p.must(p.conn.Exec("BEGIN"))
	before := p.conn.TotalChanges()
	stmt := p.bound(sql, args)
	for stmt.Step() {
		r.rows++
	}
	// It may have failed, such as for a row that is there already: the steps count.
	r.rows = max(r.rows, int(p.conn.TotalChanges()-before))
	r.work = stmt.Status(sqlite3.STMTSTATUS_VM_STEP, false) / stepsPerRow
	_ = stmt.Close()
	p.must(p.conn.Exec("ROLLBACK"))
	return []reading{r}
}

// plan is the plan of a statement, which the product has to run by the same.
func (p *sqlitePlans) plan(sql string, args []any) (lines []string) {
	p.t.Helper()
	stmt := p.bound("EXPLAIN QUERY PLAN "+sql, args)
	for stmt.Step() {
		lines = append(lines, stmt.ColumnText(3))
	}
	p.must(stmt.Close())
	err := p.d.Read(p.t.Context(), func(q db.Q) error {
		theirs, err := db.Collect(q, func(r db.Rows) string { return r.Text(3) }, "EXPLAIN QUERY PLAN "+sql, args...)
		if err == nil && !slices.Equal(lines, theirs) {
			p.t.Errorf("the product does not run %s by\n%s\nbut by\n%s", sql, strings.Join(lines, "\n"), strings.Join(theirs, "\n"))
		}
		return err
	})
	p.must(err)
	return lines
}

func (p *sqlitePlans) bound(sql string, args []any) *sqlite3.Stmt {
	p.t.Helper()
	stmt, _, err := p.conn.Prepare(sql)
	if err != nil {
		p.t.Fatalf("prepare %s: %v", sql, err)
	}
	for i := range stmt.BindCount() {
		n, err := strconv.Atoi(strings.TrimPrefix(stmt.BindName(i+1), "$"))
		p.must(err)
		switch v := args[n-1].(type) {
		case nil:
			err = stmt.BindNull(i + 1)
		case string:
			err = stmt.BindText(i+1, v)
		case [16]byte:
			err = stmt.BindBlob(i+1, v[:])
		case []byte:
			err = stmt.BindBlob(i+1, v)
		case int64:
			err = stmt.BindInt64(i+1, v)
		case int:
			err = stmt.BindInt(i+1, v)
		case bool:
			err = stmt.BindBool(i+1, v)
		default:
			p.t.Fatalf("%s takes a %T", sql, v)
		}
		p.must(err)
	}
	return stmt
}

// judgeLine says what is wrong with a line of a plan, if anything is.
func judgeLine(line string, names map[string]string) string {
	words := strings.Fields(line)
	switch {
	case strings.Contains(line, "AUTOMATIC"):
		return "makes an index for itself: " + line
	case words[0] == "SCAN" && grows(names[words[1]]): // a subquery is no table
		return "scans " + names[words[1]]
	}
	return ""
}

var tableForm = regexp.MustCompile(`\b(?:FROM|JOIN|INTO|UPDATE)\s+(\w+)(?:\s+(\w+))?`)

var commonTableForm = regexp.MustCompile(`\bWITH (\w+) AS `)

// names are the tables that the names in a plan stand for: those in the statement
// and in the view, and what may refer to a row that is deleted. What refers to a
// new row is in the plan as well, but nothing is looked for.
func (p *sqlitePlans) names(sql string) map[string]string {
	names := map[string]string{}
	if strings.Contains(sql, "live_member") {
		names["m"], names["w"] = "workspace_member", "workspace"
	}
	for _, found := range tableForm.FindAllStringSubmatch(sql, -1) {
		names[found[1]] = found[1]
		names[found[2]] = found[1] // a keyword does no harm
	}
	if !strings.HasPrefix(sql, "INSERT") {
		for _, table := range p.all {
			names[table] = table
		}
	}
	for _, found := range commonTableForm.FindAllStringSubmatch(sql, -1) {
		delete(names, found[1]) // its own rows are no table's
	}
	return names
}

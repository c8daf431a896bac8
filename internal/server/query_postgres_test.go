package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bursar/internal/audit"
	"bursar/internal/db"
)

// postgresPlans explains statements on the connections that the product opens.
type postgresPlans struct {
	t     testing.TB
	d     *db.DB
	asked int
}

func newPostgresPlans(t testing.TB, d *db.DB, url string) *postgresPlans {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("reach PostgreSQL: %v", err)
	}
	// What autovacuum does, but with a look at every row: the plans are the same
	// each time.
	for _, statement := range []string{"SET default_statistics_target = 300", "VACUUM ANALYZE"} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &postgresPlans{t: t, d: d}
}

// tables are all of the store.
func (p *postgresPlans) tables() (list []string) {
	p.t.Helper()
	err := p.d.Read(p.t.Context(), func(q db.Q) (err error) {
		list, err = db.Collect(q, func(r db.Rows) string { return r.Text(0) },
			`SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}

// explain tells how a statement is run, with its arguments known and unknown: the
// server decides by cost which of the two plans a connection keeps.
func (p *postgresPlans) explain(sql string, args []any) []reading {
	p.t.Helper()
	var all []reading
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		r, err := p.one(mode, "ANALYZE, TIMING OFF, FORMAT JSON", sql, args)
		var refused *pgconn.PgError
		if errors.As(err, &refused) { // such as for a row that is there already
			r, err = p.one(mode, "FORMAT JSON", sql, args)
		}
		if err != nil {
			p.t.Errorf("explain %s: %v", sql, err)
			continue
		}
		r.how = mode
		all = append(all, r)
	}
	return all
}

var errUndo = errors.New("what was only to be explained is undone")

func (p *postgresPlans) one(mode, options, sql string, args []any) (reading, error) {
	var text string
	p.asked++
	name := fmt.Sprintf("asked_%d", p.asked)
	prepare := []string{
		"SET LOCAL plan_cache_mode = " + mode,
		// A table of this size is read whole for little; one of a year is not. So a page that is read in turn costs as
		// much as one that an index leads to.
		"SET LOCAL seq_page_cost = 4",
		"PREPARE " + name + " AS " + sql,
	}
	_, err := db.Write(p.t.Context(), p.d, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		for _, statement := range prepare {
			if err := tx.Exec(statement); err != nil {
				return struct{}{}, audit.Event{}, err
			}
		}
		if _, err := tx.Row("EXPLAIN (" + options + ") EXECUTE " + name + literals(args)).Scan(&text); err != nil {
			return struct{}{}, audit.Event{}, err
		}
		return struct{}{}, audit.Event{}, errUndo
	})
	if !errors.Is(err, errUndo) {
		return reading{}, err
	}
	var plans []struct{ Plan node }
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		return reading{}, err
	}
	r := reading{rows: plans[0].Plan.result()}
	plans[0].Plan.judge(&r, 0)
	return r, nil
}

// literals are arguments as EXECUTE takes them.
func literals(args []any) string {
	if len(args) == 0 {
		return ""
	}
	list := make([]string, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case nil:
			list[i] = "NULL"
		case string:
			list[i] = "'" + strings.ReplaceAll(v, "'", "''") + "'"
		case [16]byte:
			list[i] = fmt.Sprintf("'%x'", v)
		case []byte:
			list[i] = fmt.Sprintf(`'\x%x'`, v)
		default:
			list[i] = fmt.Sprint(v)
		}
	}
	return "(" + strings.Join(list, ", ") + ")"
}

// node is a step of a plan.
type node struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Index    string  `json:"Index Name"`
	Cond     string  `json:"Index Cond"`
	Filter   string  `json:"Filter"`
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Removed  float64 `json:"Rows Removed by Filter"`
	Recheck  float64 `json:"Rows Removed by Index Recheck"`
	Plans    []node  `json:"Plans"`
}

// result is how many rows the plan returns or changes.
func (n node) result() int {
	if n.Type == "ModifyTable" && len(n.Plans) > 0 {
		return n.Plans[0].result()
	}
	return int(n.Rows * n.Loops)
}

// judge adds what a step does, and what is wrong with it.
func (n node) judge(r *reading, depth int) {
	line := strings.Repeat("  ", depth) + strings.Join(strings.Fields(n.Type+" "+n.Relation+" "+n.Index), " ")
	if n.Cond != "" {
		line += " on " + n.Cond
	}
	if n.Filter != "" {
		line += " keeps " + n.Filter
	}
	if n.Loops > 0 {
		line += fmt.Sprintf(": %.0f × %.0f rows, %.0f left out", n.Loops, n.Rows, n.Removed+n.Recheck)
	}
	r.plan = append(r.plan, line)
	switch {
	case n.Type == "Seq Scan" && grows(n.Relation):
		r.faults = append(r.faults, "scans "+n.Relation)
	case n.Index != "" && n.Cond == "" && grows(n.Relation):
		r.faults = append(r.faults, "walks all of "+n.Index)
	}
	if n.Relation != "" && n.Type != "ModifyTable" {
		r.work += int(n.Loops * (n.Rows + n.Removed + n.Recheck))
	}
	for _, child := range n.Plans {
		child.judge(r, depth+1)
	}
}

package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bursar/internal/db"
)

// postgresPlans explains statements on a connection of its own, which has the settings of those that the product opens: it
// sends what a reading takes in one round trip.
type postgresPlans struct {
	t        testing.TB
	d        *db.DB
	conn     *pgx.Conn
	prepared string // the statement that is prepared as asked
}

func newPostgresPlans(t testing.TB, d *db.DB, url string) *postgresPlans {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("reach PostgreSQL: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	p := &postgresPlans{t: t, d: d, conn: conn}
	// What autovacuum does, but with a look at every row: the plans are the same
	// each time.
	p.must("SET default_statistics_target = 300", "VACUUM ANALYZE", "RESET default_statistics_target")
	err = d.Read(t.Context(), func(q db.Q) error {
		set, err := db.Collect(q, func(r db.Rows) string { return r.Text(0) },
			`SELECT format('SELECT set_config(%L, %L, false)', name, setting) FROM pg_settings WHERE source = 'client' AND context IN ('user', 'superuser')`)
		p.must(set...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// A table of this size is read whole for little; one of a year is not. So a page that is read in turn costs as
	// much as one that an index leads to.
	p.must("SET seq_page_cost = 4")
	return p
}

func (p *postgresPlans) must(statements ...string) {
	p.t.Helper()
	for _, sql := range statements {
		if _, err := p.conn.Exec(p.t.Context(), sql); err != nil {
			p.t.Fatalf("%s: %v", sql, err)
		}
	}
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
	all, err := p.readings("ANALYZE, TIMING OFF, FORMAT JSON", sql, args)
	var refused *pgconn.PgError
	if errors.As(err, &refused) { // such as for a row that is there already
		all, err = p.readings("FORMAT JSON", sql, args)
	}
	if err != nil {
		p.t.Errorf("explain %s: %v", sql, err)
	}
	return all
}

// readings explains a statement with both plans and undoes what it has changed. A statement is prepared once for all of its
// arguments.
func (p *postgresPlans) readings(options, sql string, args []any) ([]reading, error) {
	var script strings.Builder
	script.WriteString("BEGIN READ WRITE")
	if p.prepared != sql {
		script.WriteString(";\nDEALLOCATE ALL;\nPREPARE asked AS " + sql)
	}
	modes := []string{"force_custom_plan", "force_generic_plan"}
	for _, mode := range modes {
		fmt.Fprintf(&script, ";\nSAVEPOINT begun;\nSET LOCAL plan_cache_mode = %s;\nEXPLAIN (%s) EXECUTE asked%s;\nROLLBACK TO begun", mode, options, literals(args))
	}
	script.WriteString(";\nROLLBACK")
	results, err := p.conn.PgConn().Exec(p.t.Context(), script.String()).ReadAll()
	if err != nil {
		p.prepared = ""
		_, undone := p.conn.Exec(p.t.Context(), "ROLLBACK")
		return nil, errors.Join(err, undone)
	}
	p.prepared = sql
	var all []reading
	for _, result := range results {
		for _, row := range result.Rows {
			var plans []struct{ Plan node }
			if err := json.Unmarshal(row[0], &plans); err != nil {
				return nil, err
			}
			r := reading{how: modes[len(all)], rows: plans[0].Plan.result()}
			plans[0].Plan.judge(&r, 0)
			all = append(all, r)
		}
	}
	return all, nil
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

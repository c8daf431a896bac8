package auditlog

import (
	"math/bits"
	"strconv"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/web"
)

// maxAbout bounds how many ids an entry's history covers. An entry has at most 50 receiving
// methods at a time; of its former ones, the newest are included.
const maxAbout = 1024

// filter selects the rows of a list.
type filter struct {
	// workspace_id, organization_id, or actor_id for the rows of an actor that belong to no
	// workspace; empty for all rows that belong to none
	column, value string
	workspace     int64 // number of the workspace, if it is one
	equals        []equal
	entry         *string  // the directory entry whose history is listed
	about         []string // the ids of that entry and of its receiving methods, which resolved looks up
	key           *string  // the API key that was used
	with          *keyUse  // the keys and actors of that API key, which resolved looks up
	from, to      int64    // Unix milliseconds
}

// equal requires that a property has a value.
type equal struct {
	by    audit.Filter
	value string
}

// inWorkspace selects every row of a workspace.
func inWorkspace(id string, number int64) filter {
	return filter{column: "workspace_id", value: id, workspace: number, to: web.LastMillisecond}
}

// byActor selects the rows of an actor that belong to no workspace.
func byActor(id string) filter {
	return filter{column: "actor_id", value: id, to: web.LastMillisecond}
}

func (f *filter) equal(by audit.Filter, value *string) {
	if value != nil {
		f.equals = append(f.equals, equal{by, *value})
	}
}

// resolved returns the filter with the ids of an entry's history: the entry, and all its
// current and former receiving methods. It also looks up the keys and actors of the API key.
func (f filter) resolved(q db.Q) (filter, error) {
	if f.key != nil {
		var err error
		if f.with, err = useOf(q, *f.key); err != nil {
			return f, err
		}
	}
	if f.entry == nil {
		return f, nil
	}
	methods, err := db.Collect(q, func(r db.Rows) string { return r.Text(0) },
		`SELECT method_id FROM entry_method_log WHERE entry_id = $1 ORDER BY method_id DESC LIMIT $2`, db.PackID("entry", *f.entry), maxAbout-1)
	f.about = append([]string{*f.entry}, methods...)
	return f, err
}

// aboutKeys returns the filter keys of the ids in about. The last is repeated until their number is
// a power of two, so that there are few texts to prepare.
func (f filter) aboutKeys() []any {
	keys := make([]any, 0, 2*len(f.about))
	for _, id := range f.about {
		keys = append(keys, audit.FilterKey(audit.ByResource, f.value, id))
	}
	return padded(keys)
}

// padded repeats the last value until their number is a power of two.
func padded(values []any) []any {
	for bits.OnesCount(uint(len(values))) != 1 {
		values = append(values, values[len(values)-1])
	}
	return values
}

// scope returns the values that a cursor is bound to. It cannot be used with another filter.
func (f filter) scope() []string {
	parts := []string{"audit", f.column, f.value, strconv.FormatInt(f.from, 10), strconv.FormatInt(f.to, 10)}
	for _, e := range f.equals {
		parts = append(parts, string(e.by), e.value)
	}
	if f.entry != nil {
		parts = append(parts, "entry_id", *f.entry)
	}
	if f.key != nil {
		parts = append(parts, "key_id", *f.key)
	}
	return parts
}

// first returns the smallest id that a row can have. Rows come newest first, so a list
// ends there. A query that one index answers does not contain this bound. With it, SQLite
// would prefer another index, and PostgreSQL would plan the query again for every page.
func (f filter) first() string {
	if f.from == 0 {
		return ""
	}
	return db.FirstID("aud", f.from)
}

// bounded reports whether the list ends before the newest row.
func (f filter) bounded() bool { return f.to != web.LastMillisecond }

// keyed reports whether a row is found by the key of a property. Successes have no key.
// Rows of an organization or an actor without a workspace are found by the organization
// or the actor.
func (f filter) keyed() bool {
	return f.entry != nil || f.actorKeyed() || (f.column == "workspace_id" || f.column == "") && (len(f.equals) > 1 || len(f.equals) == 1 && !f.equals[0].success())
}

// actorKeyed reports whether a row is found by the actors that can have used an API key.
func (f filter) actorKeyed() bool {
	return f.key != nil && f.entry == nil && f.column == "workspace_id"
}

func (e equal) success() bool { return e.by == audit.ByOutcome && e.value == string(audit.Success) }

// indexed reports whether one index contains exactly the rows of the list.
func (f filter) indexed() bool {
	return f.entry == nil && f.key == nil && (len(f.equals) == 0 || len(f.equals) == 1 && f.keyed())
}

// newest selects the rows below an id, newest first.
func (f filter) newest(below string, take int) *db.Statement {
	if f.bounded() {
		below = min(below, db.FirstID("aud", f.to+1))
	}
	sql := db.NewStatement(`SELECT id, entry, personal, (SELECT p.seq FROM audit_place p WHERE p.audit_id = audit_log.id), workspace_number FROM audit_log WHERE id < `, db.PackBelow("aud", below))
	if f.from > 0 && !f.indexed() {
		sql.Add(` AND id >= `, db.PackID("aud", f.first()))
	}
	workspaceID := ""
	switch {
	case f.column == "organization_id":
		sql.Add(` AND organization_id = `, f.value)
	case f.column == "actor_id":
		sql.Add(` AND workspace_number IS NULL AND actor_id_key = `, audit.FilterKey(audit.ByActor, "", f.value))
	case f.keyed():
		// SQLite would prefer the index of all rows of the workspace if the query named
		// it. So belongs compares the workspace instead.
		workspaceID = f.value
	case f.column == "":
		sql.Add(` AND coalesce(workspace_number, 0) = 0`) // see the index audit_log_outside
	default:
		workspaceID = f.value
		sql.Add(` AND workspace_number = `, f.workspace)
	}
	for _, e := range f.equals {
		if e.success() {
			sql.Add(` AND outcome_key IS NULL`)
			continue
		}
		sql.Add(` AND `)
		sql.Add(string(e.by))
		if f.keyed() && f.entry == nil && f.key == nil {
			sql.Add(`_key = `, audit.FilterKey(e.by, workspaceID, e.value))
		} else {
			// Rows of no workspace share their keys with those of other organizations, and an
			// entry's history is short. The sum keeps the engines from using an index of the keys.
			sql.Add(`_key + 0 = `, audit.FilterKey(e.by, workspaceID, e.value))
		}
	}
	if f.entry != nil {
		sql.Add(` AND resource_id_key IN (`, f.aboutKeys()...)
		sql.Add(`)`)
	}
	if f.key != nil {
		f.with.restrict(sql, f.value, f.actorKeyed())
	}
	sql.Add(` ORDER BY id DESC`)
	sql.Limit(take)
	return sql
}

// belongs reports whether a row that newest selected is in the list.
func (f filter) belongs(r db.Rows, id []byte, first string) bool {
	return string(id) >= first && (!f.keyed() || r.Int(4) == f.workspace)
}

// encode adds the rows of a page as JSON.
func (f filter) encode(q db.Q, w web.Window, page *web.JSONPage[api.AuditEntry]) error {
	f, err := f.resolved(q)
	if err != nil {
		return err
	}
	var at struct { // one value, so that a page allocates once for it
		row db.Rows
		id  [30]byte
	}
	write := func(dst []byte) []byte {
		return audit.AppendJSON(dst, at.id[:], at.row.Raw(1), at.row.Raw(2), at.row.Int(3))
	}
	first := f.first()
	return q.EachOf(f.newest(w.After, w.Limit), func(r db.Rows) error {
		id := db.AppendID(at.id[:0], "aud", r.Raw(0))
		if f.belongs(r, id, first) {
			at.row = r
			page.Row(id, write)
		}
		return nil
	})
}

// rows returns the rows below an id.
func (f filter) rows(q db.Q, below string, take int) ([]api.AuditEntry, error) {
	f, err := f.resolved(q)
	if err != nil {
		return nil, err
	}
	all := []api.AuditEntry{}
	first := f.first()
	var id []byte
	err = q.EachOf(f.newest(below, take), func(r db.Rows) error {
		id = db.AppendID(id[:0], "aud", r.Raw(0))
		if len(all) == take || !f.belongs(r, id, first) {
			return nil
		}
		entry, err := audit.ReadStored(string(id), r.Raw(1), r.Raw(2), r.Int(3))
		all = append(all, entry)
		return err
	})
	return all, err
}

// find returns the row with an id, if it is in the log that the filter selects.
func (f filter) find(q db.Q, id string) (entry api.AuditEntry, found bool, err error) {
	sql := db.NewStatement(`SELECT entry, personal, (SELECT p.seq FROM audit_place p WHERE p.audit_id = audit_log.id) FROM audit_log WHERE id = `, db.PackID("aud", id))
	if f.column == "organization_id" {
		sql.Add(` AND organization_id = `, f.value)
	} else {
		sql.Add(` AND workspace_number = `, f.workspace)
	}
	err = q.EachOf(sql, func(r db.Rows) (err error) {
		found = true
		entry, err = audit.ReadStored(id, r.Raw(0), r.Raw(1), r.Int(2))
		return err
	})
	return entry, found, err
}

// countSpan counts the rows of a workspace from one id to before another, and those among
// them that are not successes, each up to a limit.
func countSpan(q db.Q, f filter, first, past string, limit int) (count, refused int, err error) {
	_, err = q.Row(`SELECT
		(SELECT count(*) FROM (SELECT 1 FROM audit_log WHERE workspace_number = $1 AND id >= $2 AND id < $3 LIMIT $4) a),
		(SELECT count(*) FROM (SELECT 1 FROM audit_log WHERE outcome_key IN ($5, $6) AND id >= $2 AND id < $3 LIMIT $4) r)`,
		f.workspace, db.PackID("aud", first), db.PackID("aud", past), limit, audit.OutcomeKey(f.value, audit.Denied), audit.OutcomeKey(f.value, audit.Failure)).Scan(&count, &refused)
	return count, refused, err
}

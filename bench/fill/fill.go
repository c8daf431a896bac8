// Package fill multiplies one entry of a store, with its search words, its tag and its audit
// row, by copying its rows: a million creates through the API would take longer than all that
// is measured. The product itself creates the entry that is copied.
package fill

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bursar/internal/db"
)

// Number is the number in the texts of the entry that is copied; copies have their own.
const Number = "777000777"

// Fields are the fields of the entry that is copied.
const Fields = `{"first-name":"Ada","last-name":"Lovelace ` + Number + `","email":"ada` + Number + `@example.com"}`

// Plan describes the contents of a store.
type Plan struct {
	WorkspaceID string
	ActorID     string // creator of the entry
	TagID       string // tag of the entry
	SourceID    string // the entry to copy: an active person
	Entries     int    // directory entries, and as many audit rows
	Now         int64  // Unix milliseconds; copies are a millisecond apart and all before it
}

// EntryID is the id of the i-th entry, counted from the oldest.
func (p Plan) EntryID(i int) string { return db.FirstID("entry", p.at(i)) }

func (p Plan) at(i int) int64 { return p.Now - int64(p.Entries-i) }

// pick returns the first value for half of all i. Each period is the double of another's, so
// that filters do not select the same half.
func pick(i, period int, first, second string) string {
	if i/period%2 == 0 {
		return first
	}
	return second
}

func tagged(i int) bool { return i/4%2 == 0 }

// Audited is what the i-th audit row can be filtered by.
type Audited struct{ ActorID, Action, ResourceType, ResourceID, Outcome string }

// Audited returns values that are each on half of the rows, except for the resource:
// a hundred entries share all rows.
func (p Plan) Audited(i int) Audited {
	return Audited{
		ActorID:      pick(i, 1, p.ActorID, db.FirstID("usr", p.Now)),
		Action:       pick(i, 2, "directory.entry.created", "directory.entry.updated"),
		ResourceType: pick(i, 4, "directory_entry", "directory_tag"),
		Outcome:      pick(i, 8, "success", "denied"),
		ResourceID:   p.EntryID(i % min(100, p.Entries)),
	}
}

// store reads and writes rows of one database engine.
type store interface {
	// read returns the rows that meet a condition, which may have the parameter $1.
	read(ctx context.Context, table string, where Condition) (columns []string, rows [][]any, err error)
	// write inserts rows, which come in the order of the primary key.
	write(ctx context.Context, table string, columns []string, n int, row func(i int) []any) error
	// change runs a statement.
	change(ctx context.Context, sql string, args ...any) error
}

// Filling is what a store is filled with.
type Filling interface {
	into(ctx context.Context, s store) error
}

func (p Plan) into(ctx context.Context, s store) error {
	number := Text{Number, strconv.Itoa}
	entry := Vary{At: p.at, Texts: []Text{number, {p.SourceID, p.EntryID},
		{"person", func(i int) string { return pick(i, 1, "person", "organization") }},
		{"active", func(i int) string { return pick(i, 2, "active", "inactive") }}}}
	audit := Vary{At: p.at, Texts: []Text{number, {p.SourceID, func(i int) string { return p.Audited(i).ResourceID }},
		{p.ActorID, func(i int) string { return p.Audited(i).ActorID }},
		{"directory.entry.created", func(i int) string { return p.Audited(i).Action }},
		{"directory_entry", func(i int) string { return p.Audited(i).ResourceType }},
		{"success", func(i int) string { return p.Audited(i).Outcome }}},
		Columns: p.auditKeys()}
	if err := p.words(ctx, s, entry); err != nil {
		return fmt.Errorf("fill directory_word: %w", err)
	}
	for _, t := range []struct {
		table  string
		where  Condition
		vary   Vary
		wanted func(i int) bool
	}{
		{"directory_entry", OfEntry("id", p.SourceID), entry, func(int) bool { return true }},
		{"directory_entry_tag", OfEntry("entry_id", p.SourceID), entry, tagged},
		{"audit_log", NewestAuditRow(), audit, func(int) bool { return true }},
	} {
		rows, err := source(ctx, s, t.table, t.where, t.vary)
		if err == nil && len(rows) != 1 {
			err = fmt.Errorf("the entry to copy has %d rows", len(rows))
		}
		if err == nil {
			var all []int
			for i := range p.Entries {
				if t.wanted(i) {
					all = append(all, i)
				}
			}
			err = s.write(ctx, t.table, rows[0].Columns, len(all), func(i int) []any { return rows[0].Values(all[i]) })
		}
		if err != nil {
			return fmt.Errorf("fill %s: %w", t.table, err)
		}
	}
	return nil
}

// Condition selects rows. Its SQL has a parameter $1 for each argument.
type Condition struct {
	SQL  string
	Args []any
}

// OfEntry is the condition that a column holds the id of an entry.
func OfEntry(column, id string) Condition {
	return Condition{column + " = $1", []any{db.PackID("entry", id)}}
}

// NewestAuditRow is the condition for the audit row of the entry that is copied: creating it was
// the last change of the store.
func NewestAuditRow() Condition {
	return Condition{SQL: "id = (SELECT id FROM audit_log ORDER BY id DESC LIMIT 1)"}
}

// auditKeys returns the columns by which the audit log is filtered.
func (p Plan) auditKeys() map[string]func(int) any {
	key := func(property string, value func(Audited) string) func(int) any {
		return func(i int) any { return FilterKey(property, p.WorkspaceID, value(p.Audited(i))) }
	}
	return map[string]func(int) any{
		"actor_id_key":      key("actor_id", func(a Audited) string { return a.ActorID }),
		"action_key":        key("action", func(a Audited) string { return a.Action }),
		"resource_type_key": key("resource_type", func(a Audited) string { return a.ResourceType }),
		"resource_id_key":   key("resource_id", func(a Audited) string { return a.ResourceID }),
		"outcome_key": func(i int) any {
			if outcome := p.Audited(i).Outcome; outcome != "success" {
				return FilterKey("outcome", p.WorkspaceID, outcome)
			}
			return nil
		},
	}
}

// FilterKey is the number by which the product finds audit rows of a workspace with a value.
func FilterKey(property, workspaceID, value string) int64 {
	digest := sha256.Sum256([]byte(property + "\n" + workspaceID + "\n" + value))
	return int64(binary.BigEndian.Uint64(digest[:8]))
}

func source(ctx context.Context, s store, table string, where Condition, v Vary) (out []Row, err error) {
	columns, rows, err := s.read(ctx, table, where)
	for _, values := range rows {
		out = append(out, newRow(columns, values, v))
	}
	return out, err
}

// only returns the only row of a table that meets a condition, ready to be copied.
func only(ctx context.Context, s store, table string, where Condition, v Vary) (Row, error) {
	rows, err := source(ctx, s, table, where, v)
	if err == nil && len(rows) != 1 {
		err = fmt.Errorf("%s has %d rows with %s", table, len(rows), where.SQL)
	}
	if err != nil {
		return Row{}, err
	}
	return rows[0], nil
}

// common is the number of entries with the same word from which the product no longer files
// entries under it.
const common = 2000

// words files the entries under their search words.
func (p Plan) words(ctx context.Context, s store, v Vary) error {
	rows, err := source(ctx, s, "directory_word", OfEntry("entry_id", p.SourceID), v)
	if err != nil || len(rows) == 0 {
		return err
	}
	type filed struct {
		word  string
		entry int
		row   Row
	}
	var all []filed
	var shared []string // words that all entries have
	column := slices.Index(rows[0].Columns, "word")
	for _, row := range rows {
		for i := range p.Entries {
			word := fmt.Sprint(row.values[column](i))
			if word == fmt.Sprint(row.values[column](i+1)) && i == common {
				shared = append(shared, word)
				break
			}
			all = append(all, filed{word, i, row})
		}
	}
	slices.SortFunc(all, func(a, b filed) int {
		if c := strings.Compare(a.word, b.word); c != 0 {
			return c
		}
		return a.entry - b.entry
	})
	if err := s.write(ctx, "directory_word", rows[0].Columns, len(all), func(i int) []any { return all[i].row.Values(all[i].entry) }); err != nil {
		return err
	}
	workspace := rows[0].values[slices.Index(rows[0].Columns, "workspace_number")](0)
	return s.write(ctx, "directory_common_word", []string{"workspace_number", "word"}, len(shared), func(i int) []any { return []any{workspace, shared[i]} })
}

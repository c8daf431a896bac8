// Package fill puts many rows into a store that the product has set up, past the
// product: a million creates by the API would take longer than all that is measured.
package fill

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bursar/api"
	"bursar/internal/db"
)

// Plan is what a store is filled with.
type Plan struct {
	WorkspaceID string
	ActorID     string // whose deeds the audit rows are
	Entries     int    // directory entries, and as many audit rows
	Now         int64  // Unix milliseconds; rows are a millisecond apart and all before it
}

// TagID is the tag that every second entry carries.
func (p Plan) TagID() string { return db.FirstID("tag", p.Now) }

// EntryID is the id of an entry, counted from the oldest.
func (p Plan) EntryID(i int) string { return db.FirstID("entry", p.at(i)) }

func (p Plan) at(i int) int64 { return p.Now - int64(p.Entries-i) }

// Every second entry is of the first type and status, so that a filter has half
// of the rows to go through.
func kind(i int) string {
	if i%2 == 0 {
		return "person"
	}
	return "organization"
}

func status(i int) string {
	if i/2%2 == 0 {
		return "active"
	}
	return "inactive"
}

func tagged(i int) bool { return i/4%2 == 0 }

func label(i int) string { return "Ada Lovelace " + strconv.Itoa(i) }

func fields(i int) string {
	n := strconv.Itoa(i)
	return `{"first-name":"Ada","last-name":"Lovelace ` + n + `","email":"ada` + n + `@example.com"}`
}

// words are what the product would find in label and fields.
func words(i int) []string {
	n := strconv.Itoa(i)
	return []string{n, "ada" + n, "com", "example", "lovelace"}
}

// common is how many entries are filed under a word that all have, before the
// product takes it for common.
const common = 2000

// filed says whether an entry is filed under one of its words.
func filed(i int, word string) bool { return i < common || !slices.Contains(commonWords(), word) }

func commonWords() []string { return []string{"com", "example", "lovelace"} }

// sink takes rows of a table, in the order of its primary key.
type sink interface {
	rows(ctx context.Context, table string, columns []string, n int, row func(i int) []any) error
}

func (p Plan) into(ctx context.Context, s sink) error {
	for _, step := range []func(context.Context, sink) error{p.entries, p.words, p.tags, p.audit} {
		if err := step(ctx, s); err != nil {
			return fmt.Errorf("fill the store: %w", err)
		}
	}
	return nil
}

func (p Plan) entries(ctx context.Context, s sink) error {
	columns := []string{"id", "workspace_id", "type", "label", "label_sent", "name", "status", "fields", "words", "created_at", "updated_at"}
	return s.rows(ctx, "directory_entry", columns, p.Entries, func(i int) []any {
		return []any{p.EntryID(i), p.WorkspaceID, kind(i), label(i), false, "", status(i), fields(i),
			" " + strings.Join(words(i), " "), p.at(i), p.at(i)}
	})
}

func (p Plan) words(ctx context.Context, s sink) error {
	type place struct {
		word  string
		entry int
	}
	var places []place
	for i := range p.Entries {
		for _, word := range words(i) {
			if filed(i, word) {
				places = append(places, place{word, i})
			}
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		if c := strings.Compare(a.word, b.word); c != 0 {
			return c
		}
		return a.entry - b.entry
	})
	err := s.rows(ctx, "directory_word", []string{"workspace_id", "word", "entry_id"}, len(places), func(i int) []any {
		return []any{p.WorkspaceID, places[i].word, p.EntryID(places[i].entry)}
	})
	if err != nil || p.Entries < common {
		return err
	}
	return s.rows(ctx, "directory_common_word", []string{"workspace_id", "word"}, len(commonWords()), func(i int) []any {
		return []any{p.WorkspaceID, commonWords()[i]}
	})
}

func (p Plan) tags(ctx context.Context, s sink) error {
	err := s.rows(ctx, "directory_tag", []string{"id", "workspace_id", "name", "name_key", "applies_to", "created_at"}, 1, func(int) []any {
		return []any{p.TagID(), p.WorkspaceID, "Half", "half", "all", p.Now}
	})
	if err != nil {
		return err
	}
	var with []int
	for i := range p.Entries {
		if tagged(i) {
			with = append(with, i)
		}
	}
	return s.rows(ctx, "directory_entry_tag", []string{"entry_id", "tag_id", "live"}, len(with), func(i int) []any {
		return []any{p.EntryID(with[i]), p.TagID(), true}
	})
}

func (p Plan) audit(ctx context.Context, s sink) error {
	columns := []string{"id", "workspace_id", "organization_id", "action", "outcome", "description", "actor_type", "actor_id",
		"actor_name", "actor_email", "resource_type", "resource_id", "request_id", "ip", "at", "sent"}
	return s.rows(ctx, "audit_log", columns, p.Entries, func(i int) []any {
		deed := p.Deed(i)
		row := api.AuditEntry{
			ID: db.FirstID("aud", p.at(i)), Action: deed.Action, ActorName: "Ada Lovelace", ActorEmail: "ada@example.com",
			Description: "Created " + kind(i) + " " + label(i), Outcome: deed.Outcome, Timestamp: p.at(i), ActorID: deed.ActorID, ActorType: "user",
			ResourceType: deed.ResourceType, ResourceID: deed.ResourceID, RequestID: db.FirstID("req", p.at(i)), IP: "127.0.0.1",
		}
		return []any{row.ID, p.WorkspaceID, nil, row.Action, row.Outcome, row.Description, row.ActorType, row.ActorID,
			row.ActorName, row.ActorEmail, row.ResourceType, row.ResourceID, row.RequestID, row.IP, row.Timestamp, string(row.AppendJSON(nil))}
	})
}

// Deed is what an audit row can be filtered by.
type Deed struct{ ActorID, Action, ResourceType, ResourceID, Outcome string }

// Deed is that of the i-th audit row. Each value but the last is on half of the
// rows; a hundred entries share all rows between them.
func (p Plan) Deed(i int) Deed {
	d := Deed{ActorID: p.ActorID, Action: "directory.entry.created", ResourceType: "directory_entry", ResourceID: p.EntryID(i % min(100, p.Entries)), Outcome: "success"}
	if i%2 == 1 {
		d.ActorID = db.FirstID("usr", p.Now)
	}
	if i/2%2 == 1 {
		d.Action = "directory.entry.updated"
	}
	if i/4%2 == 1 {
		d.ResourceType = "directory_tag"
	}
	if i/8%2 == 1 {
		d.Outcome = "denied"
	}
	return d
}

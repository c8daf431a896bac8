package directory

import (
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/directory/entryfile"
	"bursar/internal/web"
)

// columns are those of a row, in the order in which read scans them.
var columns = `workspace_number, type, label_sent, fields, words, created_at, updated_at, deleted_at, merged_into, ` + propertyColumns(``)

// propertyColumns returns the columns of the properties, in their order.
func propertyColumns(table string) string {
	var names []string
	for _, p := range entryfile.Properties() {
		names = append(names, table+p.Name)
	}
	return strings.Join(names, ", ")
}

// stored returns the query parameter for the id of an entry.
func stored(id string) any { return db.PackID("entry", id) }

func storedAll(ids []string) []any {
	all := make([]any, len(ids))
	for i, id := range ids {
		all[i] = stored(id)
	}
	return all
}

// entryRef identifies an entry and its workspace: the row itself has only the number of the workspace.
type entryRef struct {
	id, workspaceID string
	workspace       int64 // its number
}

// read reads an entry by a query whose first parameter is its id; the entry's id is empty
// if the query finds none.
func read(q db.Q, sql string, at entryRef, args ...any) (entry, error) {
	e := entry{Entry: api.Entry{WorkspaceID: at.workspaceID}}
	var object string
	var merged []byte
	to := []any{&e.workspace, &e.Type, &e.labelSent, &object, &e.words, &e.CreatedAt, &e.UpdatedAt, &e.deletedAt, &merged}
	for _, p := range entryfile.Properties() {
		to = append(to, p.Of(&e.Entry))
	}
	found, err := q.Row(sql, append([]any{stored(at.id)}, args...)...).Scan(to...)
	if found {
		e.ID = at.id
	}
	if len(merged) > 0 {
		e.MergedInto = string(db.AppendID(nil, "entry", merged))
	}
	e.Fields = api.SplitFields([]byte(object))
	return e, err
}

// find reads an entry that is not deleted, but may have been merged into another; its id is empty if there is none.
func find(q db.Q, at entryRef) (entry, error) {
	return read(q, `SELECT `+columns+` FROM directory_entry WHERE id = $1 AND (deleted_at IS NULL OR merged_into IS NOT NULL)`, at)
}

// locate returns where an entry is, deleted or not; the workspace is empty if there is none.
func locate(q db.Q, id string) (entryRef, error) {
	at := entryRef{id: id}
	_, err := q.Row(`SELECT (SELECT id FROM workspace WHERE number = workspace_number), workspace_number FROM directory_entry WHERE id = $1`, stored(id)).
		Scan(&at.workspaceID, &at.workspace)
	return at, err
}

// lock reads an entry that can be changed and locks it until the end of the transaction.
func lock(tx *db.Tx, at entryRef) (entry, error) {
	e, err := lockAny(tx, at)
	if err == nil {
		err = e.live()
	}
	return e, err
}

// lockAny is lock for an entry that may be deleted or merged into another.
func lockAny(tx *db.Tx, at entryRef) (entry, error) {
	return read(tx.Q, `UPDATE directory_entry SET updated_at = updated_at WHERE id = $1 RETURNING `+columns, at)
}

// idsAtOnce is how many ids or keys one statement looks up.
const idsAtOnce = 512

// withExternalIDs returns the ids of the entries that have some external ids.
func withExternalIDs(q db.Q, workspace int64, given []string) (map[string]string, error) {
	return matchExternalIDs(q, `SELECT external_id, id FROM directory_entry WHERE workspace_number = `, ` AND deleted_at IS NULL AND external_id IN (`, workspace, given)
}

// matchExternalIDs returns the ids of the entries that a query finds for external ids. The query begins with selection and ends with
// condition and the list.
func matchExternalIDs(q db.Q, selection, condition string, workspace int64, given []string) (map[string]string, error) {
	found := map[string]string{}
	for some := range slices.Chunk(given, idsAtOnce) {
		sql := db.NewStatement(selection, workspace)
		sql.AddList(condition, db.Args(some))
		err := q.EachOf(sql, func(r db.Rows) error {
			found[r.Text(0)] = db.UnpackID("entry", r, 1)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// rowValue is the value of a column in the store.
type rowValue struct {
	column string
	value  any
}

// values returns the values of the columns that a change of the entry sets.
func (e entry) values(tx *db.Tx) []rowValue {
	all := []rowValue{
		{"label_sent", e.labelSent}, {"fields", e.Fields.String()}, {"words", e.words}, {"email_key", db.MatchKey(api.FieldEmail, e.Fields)},
		{"phone_key", db.MatchKey(api.FieldPhone, e.Fields)}, {"name_key", e.nameKey()}, {"label_key", tx.LabelKey(e.Label)},
	}
	for _, p := range entryfile.Properties() {
		if text := *p.Of(&e.Entry); p.Clearable {
			all = append(all, rowValue{p.Name, db.NullText(text)})
		} else {
			all = append(all, rowValue{p.Name, text})
		}
	}
	return all
}

// insert stores the entry and indexes some of its words; see entryword.Common.
func insert(tx *db.Tx, e entry, words []string) error {
	values := e.values(tx)
	sql := db.NewStatement(`INSERT INTO directory_entry (id, workspace_number, type, created_at, updated_at`)
	for _, v := range values {
		sql.Add(`, ` + v.column)
	}
	sql.Add(`) VALUES (`, stored(e.ID), e.workspace, e.Type, tx.Now(), tx.Now())
	for _, v := range values {
		sql.Add(`, `, v.value)
	}
	sql.Add(`)`)
	if err := tx.ExecOf(sql); err != nil {
		return err
	}
	return addWords(tx, e, words)
}

func update(tx *db.Tx, before, after entry) error { return updateAt(tx, before, after, tx.Now()) }

// updateAt stores the entry as changed at a time.
func updateAt(tx *db.Tx, before, after entry, at int64) error {
	sql := db.NewStatement(`UPDATE directory_entry SET updated_at = `, at)
	for _, v := range after.values(tx) {
		sql.Add(`, `+v.column+` = `, v.value)
	}
	sql.Add(` WHERE id = `, stored(after.ID))
	if err := tx.ExecOf(sql); err != nil {
		return err
	}
	if before.Label != after.Label || before.Name != after.Name || before.ExternalID != after.ExternalID {
		if err := renamed(tx, after); err != nil {
			return err
		}
	}
	if before.words == after.words {
		return nil
	}
	old, new := strings.Fields(before.words), strings.Fields(after.words)
	if err := dropWords(tx, before, without(old, new)); err != nil {
		return err
	}
	return addWords(tx, after, without(new, old))
}

// touch sets the time of a change that is not in the row itself, such as of tags.
func touch(tx *db.Tx, id string) error {
	return tx.Exec(`UPDATE directory_entry SET updated_at = $2 WHERE id = $1`, stored(id), tx.Now())
}

func without(words, others []string) []string {
	has := make(map[string]bool, len(others))
	for _, w := range others {
		has[w] = true
	}
	var left []string
	for _, w := range words {
		if !has[w] {
			left = append(left, w)
		}
	}
	return left
}

// wordsAtOnce is how many words one statement inserts. Each number of words is another statement to prepare, so it is small.
const wordsAtOnce = 16

func addWords(tx *db.Tx, e entry, words []string) error {
	for some := range slices.Chunk(words, wordsAtOnce) {
		sql := db.NewStatement(`INSERT INTO directory_word (workspace_number, word, entry_id) VALUES `)
		for i, word := range some {
			if i > 0 {
				sql.Add(`, `)
			}
			sql.Add(`(`, e.workspace, word, stored(e.ID))
			sql.Add(`)`)
		}
		if err := tx.ExecOf(sql); err != nil {
			return err
		}
	}
	return nil
}

func dropWords(tx *db.Tx, e entry, words []string) error {
	for _, word := range words {
		if err := tx.Exec(`DELETE FROM directory_word WHERE workspace_number = $1 AND word = $2 AND entry_id = $3`, e.workspace, word, stored(e.ID)); err != nil {
			return err
		}
	}
	return nil
}

func hide(tx *db.Tx, e entry, at int64) error {
	if err := tx.Exec(`UPDATE directory_entry SET deleted_at = $2 WHERE id = $1`, stored(e.ID), at); err != nil {
		return err
	}
	return unlist(tx, e)
}

// unhide restores an entry that was deleted after the cutoff; its id is empty if there is none.
func unhide(tx *db.Tx, at entryRef, cutoff int64) (entry, error) {
	e, err := read(tx.Q, `UPDATE directory_entry SET deleted_at = NULL, updated_at = $3
		WHERE id = $1 AND deleted_at IS NOT NULL AND deleted_at > $2 AND merged_into IS NULL RETURNING `+columns, at, cutoff, tx.Now())
	if err != nil || e.ID == "" {
		return e, err
	}
	return e, listAgain(tx, e)
}

// unlist removes an entry from the lists in other tables.
func unlist(tx *db.Tx, e entry) error {
	if err := tx.Exec(`UPDATE directory_entry_tag SET live = FALSE WHERE entry_id = $1`, stored(e.ID)); err != nil {
		return err
	}
	return dropWords(tx, e, strings.Fields(e.words))
}

// listAgain adds it to those lists again.
func listAgain(tx *db.Tx, e entry) error {
	if err := tx.Exec(`UPDATE directory_entry_tag SET live = TRUE WHERE entry_id = $1`, stored(e.ID)); err != nil {
		return err
	}
	return addWords(tx, e, strings.Fields(e.words))
}

// restorable lists deleted entries that can still be restored, newest first.
func restorable(q db.Q, workspace int64, now int64, w web.Window) ([]DeletedEntry, error) {
	// PostgreSQL would use the index of the deleted entries of all workspaces; the sum prevents that.
	return db.Collect(q, func(r db.Rows) DeletedEntry {
		return DeletedEntry{ID: db.UnpackID("entry", r, 0), Type: r.Text(1), Label: r.Text(2), DeletedAt: r.Int(3), PurgedAt: r.Int(3) + keepDeleted.Milliseconds()}
	}, `SELECT id, type, label, deleted_at FROM directory_entry
		WHERE workspace_number = $1 AND deleted_at IS NOT NULL AND merged_into IS NULL AND id < $2 AND deleted_at + $3 > $4 ORDER BY id DESC LIMIT $5`,
		workspace, db.PackBelow("entry", w.After), keepDeleted.Milliseconds(), now, w.Limit)
}

const purgeBatch = 100

func deletedBefore(q db.Q, cutoff int64) ([]string, error) {
	return db.Collect(q, func(r db.Rows) string { return db.UnpackID("entry", r, 0) },
		`SELECT id FROM directory_entry WHERE deleted_at IS NOT NULL AND merged_into IS NULL AND deleted_at <= $1 ORDER BY deleted_at LIMIT $2`, cutoff, purgeBatch)
}

// purge permanently deletes an entry, and with it those that were merged into it. It returns them all; the first has no id if the entry is
// not due.
func purge(tx *db.Tx, id string, cutoff int64) ([]entry, error) {
	at, err := locate(tx.Q, id)
	if err != nil {
		return nil, err
	}
	e, err := read(tx.Q, `DELETE FROM directory_entry WHERE id = $1 AND deleted_at IS NOT NULL AND merged_into IS NULL AND deleted_at <= $2 RETURNING `+columns, at, cutoff)
	gone := []entry{e}
	if err != nil || e.ID == "" {
		return gone, err
	}
	for i := 0; i < len(gone); i++ { // it grows
		if err := tx.Exec(`DELETE FROM directory_merge WHERE target_id = $1`, stored(gone[i].ID)); err != nil {
			return nil, err
		}
		sources, err := db.Collect(tx.Q, func(r db.Rows) string { return db.UnpackID("entry", r, 0) },
			`SELECT id FROM directory_entry WHERE merged_into = $1`, stored(gone[i].ID))
		if err != nil {
			return nil, err
		}
		for _, id := range sources {
			at.id = id
			source, err := read(tx.Q, `DELETE FROM directory_entry WHERE id = $1 RETURNING `+columns, at)
			if err != nil {
				return nil, err
			}
			gone = append(gone, source)
		}
	}
	return gone, nil
}

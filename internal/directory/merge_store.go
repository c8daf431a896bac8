package directory

import (
	"encoding/json"
	"fmt"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/directory/entryfile"
	"bursar/internal/directory/entryword"
	"bursar/internal/vault"
	"bursar/internal/web"
)

// mergeState contains what undoing a merge needs.
type mergeState struct {
	Target  entryState   `json:"target"`  // before the merge
	Sources []entryState `json:"sources"` // before the merge
	After   entryState   `json:"after"`   // the target after it
	History []string     `json:"history"` // what the merge added to the history of the target
}

// entryState contains everything that can be changed about an entry. Texts are as in the store.
type entryState struct {
	ID         string                `json:"id"`
	Properties map[string]string     `json:"properties"`
	LabelSent  bool                  `json:"label_sent"`
	Fields     string                `json:"fields"`
	UpdatedAt  int64                 `json:"updated_at"`
	Tags       []string              `json:"tags"` // ids
	Methods    []api.ReceivingMethod `json:"methods"`
	Chosen     map[string]int64      `json:"chosen"` // when a method was made the default
}

func (p party) state() entryState {
	s := entryState{
		ID: p.ID, Properties: map[string]string{}, LabelSent: p.labelSent,
		Fields: p.Fields.String(), UpdatedAt: p.UpdatedAt, Tags: []string{}, Methods: p.methods, Chosen: p.chosen,
	}
	for _, property := range entryfile.Properties() {
		s.Properties[property.Name] = *property.Of(&p.Entry)
	}
	for _, t := range p.tags {
		s.Tags = append(s.Tags, t.ID)
	}
	return s
}

// of returns an entry with the values of the state.
func (s entryState) of(e entry) entry {
	for _, property := range entryfile.Properties() {
		*property.Of(&e.Entry) = s.Properties[property.Name]
	}
	e.Fields, e.labelSent = api.SplitFields([]byte(s.Fields)), s.LabelSent
	e.words = entryword.Join(entryword.Of(e.Label, e.Fields))
	return e
}

func (e entry) ref() entryRef {
	return entryRef{id: e.ID, workspaceID: e.WorkspaceID, workspace: e.workspace}
}

// chosenAt returns when the methods of an entry were made the default, for those that were.
func chosenAt(q db.Q, entryID string) (map[string]int64, error) {
	at := map[string]int64{}
	return at, q.Each(func(r db.Rows) error {
		at[r.Text(0)] = r.Int(1)
		return nil
	}, `SELECT id, default_since FROM receiving_method WHERE entry_id = $1 AND default_since IS NOT NULL`, stored(entryID))
}

const mergeColumns = `m.id, (SELECT w.id FROM workspace w WHERE w.number = m.workspace_number), m.target_id, m.sources, m.created_at, m.undone_at, m.workspace_number`

func scanMerge(r db.Rows) (api.Merge, error) {
	m := api.Merge{ID: r.Text(0), WorkspaceID: r.Text(1), TargetID: db.UnpackID("entry", r, 2), CreatedAt: r.Int(4), UndoneAt: r.Int(5)}
	m.UndoUntil = m.CreatedAt + keepMerge.Milliseconds()
	if err := json.Unmarshal([]byte(r.Text(3)), &m.Sources); err != nil {
		return m, fmt.Errorf("read the sources of a merge: %w", err)
	}
	return m, nil
}

func findMerge(q db.Q, id string) (m api.Merge, err error) {
	err = q.Each(func(r db.Rows) (err error) {
		m, err = scanMerge(r)
		return err
	}, `SELECT `+mergeColumns+` FROM directory_merge m WHERE m.id = $1`, id)
	return m, err
}

// mergesOf returns the merges of a workspace, or only those into an entry, newest first.
func mergesOf(q db.Q, workspace int64, entryID *string, w web.Window) (rows []api.Merge, err error) {
	sql := db.NewStatement(`SELECT `+mergeColumns+` FROM directory_merge m WHERE m.id < `, w.After)
	if entryID != nil {
		sql.Add(` AND m.target_id = `, stored(*entryID))
	} else {
		sql.Add(` AND m.workspace_number = `, workspace)
	}
	sql.Add(` ORDER BY m.id DESC`)
	sql.Limit(w.Limit)
	err = q.EachOf(sql, func(r db.Rows) error {
		m, err := scanMerge(r)
		if r.Int(6) == workspace { // an index has the entries of all workspaces
			rows = append(rows, m)
		}
		return err
	})
	return rows, err
}

func (s *Service) insertMerge(tx *db.Tx, m api.Merge, target entry, state mergeState) error {
	text, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("store what entries were before a merge: %w", err)
	}
	sources, err := json.Marshal(m.Sources)
	if err != nil {
		return fmt.Errorf("store the sources of a merge: %w", err)
	}
	sealed, err := s.vault.Seal(target.workspace, vault.MergeState(m.ID), text)
	if err != nil {
		return err
	}
	return tx.Exec(`INSERT INTO directory_merge (id, workspace_number, target_id, sources, created_at, undone_at, state_sealed, sealed_by)
		VALUES ($1, $2, $3, $4, $5, 0, $6, $7)`,
		m.ID, target.workspace, stored(target.ID), string(sources), m.CreatedAt, sealed, vault.KeyOf(sealed))
}

// lockMerge reads a merge and locks it until the end of the transaction. The state is sealed, and empty if the merge can no longer be
// undone.
func lockMerge(tx *db.Tx, id string) (m api.Merge, sealed []byte, err error) {
	if _, err := tx.Row(`UPDATE directory_merge SET undone_at = undone_at WHERE id = $1 RETURNING state_sealed`, id).Scan(&sealed); err != nil {
		return m, nil, err
	}
	m, err = findMerge(tx.Q, id)
	return m, sealed, err
}

// laterMerge returns the id of a merge into the same entry that came later and was not undone.
func laterMerge(q db.Q, m api.Merge) (id string, err error) {
	_, err = q.Row(`SELECT id FROM directory_merge WHERE target_id = $1 AND id > $2 AND undone_at = 0 ORDER BY id DESC LIMIT 1`, stored(m.TargetID), m.ID).Scan(&id)
	return id, err
}

// ExpireMerges deletes the stored states of merges that can no longer be undone.
func ExpireMerges(tx *db.Tx) error {
	return tx.Exec(`UPDATE directory_merge SET state_sealed = NULL, sealed_by = NULL WHERE sealed_by IS NOT NULL AND created_at <= $1`,
		tx.Now()-keepMerge.Milliseconds())
}

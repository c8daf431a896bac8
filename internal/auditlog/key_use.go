package auditlog

import (
	"slices"

	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
)

// maxKeys is how many keys are included: the key itself, and the newest of those that depend on it. A user has a hundred live keys at
// most.
const maxKeys = 4000

// keyUse identifies the rows of an API key.
type keyUse struct {
	keys   []string // the key, those that were created with it, and their successors
	actors []string // the owner of the keys, and the machine clients whose secrets were created with them
}

// useOf finds the keys and actors of an API key. No row was written with a key that does not exist.
func useOf(q db.Q, keyID string) (*keyUse, error) {
	keys, err := access.KeyFamily(q, keyID)
	if err != nil {
		return nil, err
	}
	u := &keyUse{keys: slices.Clone(keys[max(0, len(keys)-maxKeys):]), actors: []string{""}}
	if !u.has(keyID) {
		u.keys[0] = keyID
	}
	if _, err := q.Row(`SELECT account_id FROM api_key WHERE id = $1`, keyID).Scan(&u.actors[0]); err != nil {
		return nil, err
	}
	for piece := range db.Pieces(keys) {
		sql := db.NewStatement(`SELECT client_id FROM client_secret_key WHERE key_id IN (`, db.Args(piece)...)
		sql.Add(`)`)
		if err := q.EachOf(sql, func(r db.Rows) error {
			u.actors = append(u.actors, r.Text(0))
			return nil
		}); err != nil {
			return nil, err
		}
	}
	slices.Sort(u.actors)
	u.actors = slices.Compact(u.actors)
	return u, nil
}

// restrict selects the rows that were written with the keys. With byActor, an index of actors finds them.
func (u *keyUse) restrict(sql *db.Statement, workspaceID string, byActor bool) {
	if byActor {
		var actors []any
		for _, id := range u.actors {
			actors = append(actors, audit.FilterKey(audit.ByActor, workspaceID, id))
		}
		sql.Add(` AND actor_id_key IN (`, padded(actors)...)
		sql.Add(`)`)
	}
	keys := []any{nil} // of a key that does not exist
	for _, id := range u.keys {
		keys = append(keys, db.PackID("key", id))
	}
	sql.AddList(` AND key_id IN (`, keys)
}

// has reports whether a key is one of them.
func (u *keyUse) has(keyID string) bool { return slices.Contains(u.keys, keyID) }

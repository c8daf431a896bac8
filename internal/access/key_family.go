package access

import (
	"slices"

	"bursar/internal/db"
)

// KeyFamily returns an API key, those that were made with it and their successors, also if they have ended.
func KeyFamily(q db.Q, keyID string) ([]string, error) {
	return keysFrom(q, keyID, `k.parent_id = f.id OR k.rotated_from = f.id`)
}

// KeysMadeWith returns an API key and those that were made with it, directly or by keys between, also if they have ended.
func KeysMadeWith(q db.Q, keyID string) ([]string, error) {
	return keysFrom(q, keyID, `k.parent_id = f.id`)
}

func keysFrom(q db.Q, keyID, next string) ([]string, error) {
	keys, err := db.Collect(q, func(r db.Rows) string { return r.Text(0) },
		`WITH RECURSIVE f (id) AS (SELECT id FROM api_key WHERE id = $1 UNION SELECT k.id FROM f JOIN api_key k ON `+next+`) SELECT id FROM f`, keyID)
	slices.Sort(keys)
	return keys, err
}

// MadeWith reports whether an API key is another one or was made with it, directly or by keys between.
func MadeWith(q db.Q, id, ancestor string) (bool, error) {
	for id != "" && id != ancestor {
		var parentID string
		if _, err := q.Row(`SELECT parent_id FROM api_key WHERE id = $1`, id).Scan(&parentID); err != nil {
			return false, err
		}
		id = parentID
	}
	return id == ancestor, nil
}

// isOneOf reports whether a sorted list of keys has one.
func isOneOf(keys []string, id string) bool {
	_, found := slices.BinarySearch(keys, id)
	return found
}

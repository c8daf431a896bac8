package access

import (
	"maps"
	"slices"

	"bursar/internal/db"
)

// KeyFamily returns an API key, the keys created with it and their successors, sorted. It includes ended keys.
func KeyFamily(q db.Q, keyID string) ([]string, error) {
	return keysFrom(q, keyID, `SELECT id FROM api_key WHERE parent_id IN (`, `SELECT id FROM api_key WHERE rotated_from IN (`)
}

// KeysMadeWith returns an API key and the keys created with it, directly or indirectly, sorted. It includes ended keys.
func KeysMadeWith(q db.Q, keyID string) ([]string, error) {
	return keysFrom(q, keyID, `SELECT id FROM api_key WHERE parent_id IN (`)
}

func keysFrom(q db.Q, keyID string, queries ...string) ([]string, error) {
	all := map[string]bool{keyID: true}
	for last := []string{keyID}; len(last) > 0; {
		var next []string
		for _, query := range queries {
			err := eachOf(q, last, query, func(r db.Rows) error {
				if id := r.Text(0); !all[id] {
					all[id], next = true, append(next, id)
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
		last = next
	}
	return slices.Sorted(maps.Keys(all)), nil
}

// MadeWith reports whether an API key is the ancestor itself or was created with it, directly or indirectly.
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

package directory

import (
	"slices"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/directory/entryfile"
	"bursar/internal/fault"
	"bursar/internal/vault"
)

// matches are the entries that rows of a transaction may match. They are all looked up at once, since a query for each row would cost a
// round trip. They are updated when rows change entries.
type matches struct {
	ids  map[string][]string // by the values that they are matched by; of many entries, two are enough
	mine map[string]bool     // for match=id: whether an entry is of this workspace; unknown ones are absent
}

// look finds the entries that rows match.
func (a *Applier) look(rows []*entryfile.Row) error {
	a.matches = matches{ids: map[string][]string{}, mine: map[string]bool{}}
	var keys []any
	for _, row := range rows {
		switch {
		case a.wrong[row] != nil:
		case a.Match == entryfile.MatchID && row.ID != "":
			keys = append(keys, stored(row.ID))
		default:
			keys = append(keys, a.keysOf(row.Fields, row.Methods)...)
		}
	}
	for some := range slices.Chunk(keys, idsAtOnce) { // one statement for a whole transaction
		err := a.tx.EachOf(a.lookup(some), func(r db.Rows) error {
			id := db.UnpackID("entry", r, 0)
			if a.Match == entryfile.MatchID {
				a.matches.mine[id] = r.Int(1) == a.Workspace
			} else {
				a.matches.add(string(r.Raw(1)), id)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lookup returns the statement that looks up values.
func (a *Applier) lookup(some []any) *db.Statement {
	sql := db.NewStatement(``)
	switch a.Match {
	case entryfile.MatchID:
		sql.AddList(`SELECT id, workspace_number FROM directory_entry WHERE id IN (`, some)
	case entryfile.MatchAccount:
		sql.AddList(`SELECT m.entry_id, m.account_key FROM receiving_method m WHERE m.account_key IN (`, some)
		// A retired or rejected method identifies no entry. With a join, the planners would start with all entries of the workspace.
		sql.Add(` AND m.status IN ('pending', 'active') AND (SELECT e.workspace_number FROM directory_entry e WHERE e.id = m.entry_id AND e.deleted_at IS NULL) = `, a.Workspace)
	default:
		column := map[string]string{entryfile.MatchEmail: "email_key", entryfile.MatchPhone: "phone_key"}[a.Match]
		sql.Add(`SELECT id, `+column+` FROM directory_entry WHERE workspace_number = `, a.Workspace)
		sql.AddList(` AND deleted_at IS NULL AND `+column+` IN (`, some)
	}
	return sql
}

// keysOf returns the keys by which an entry with fields and methods is found.
func (a *Applier) keysOf(fields api.Fields, methods []api.ReceivingMethodCreate) (keys []any) {
	switch a.Match {
	case entryfile.MatchEmail, entryfile.MatchPhone:
		if key := db.MatchKey(a.Match, fields); key != nil {
			keys = append(keys, key)
		}
	case entryfile.MatchAccount:
		for _, m := range methods[:min(len(methods), 1)] {
			for _, key := range a.accounts.Lookups(vault.NormalNumber(m.AccountID)) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func (m matches) add(key, id string) {
	if have := m.ids[key]; len(have) < 2 && !slices.Contains(have, id) {
		m.ids[key] = append(have, id)
	}
}

// matchKey returns the text under which a key is stored in the map.
func matchKey(key any) string {
	if sealed, ok := key.([]byte); ok {
		return string(sealed)
	}
	text, _ := key.(string)
	return text
}

// matched records that rows may match a created or changed entry. before are the fields that it had, and added its new methods.
func (a *Applier) matched(id string, before, after api.Fields, added []api.ReceivingMethodCreate) {
	for _, key := range a.keysOf(before, nil) {
		a.matches.ids[matchKey(key)] = slices.DeleteFunc(a.matches.ids[matchKey(key)], func(other string) bool { return other == id })
	}
	keys := a.keysOf(after, nil)
	for i := range added {
		keys = append(keys, a.keysOf(nil, added[i:i+1])...)
	}
	for _, key := range keys {
		a.matches.add(matchKey(key), id)
	}
}

// find returns the id of the entry that a row matches, or "" if it matches none.
func (a *Applier) find(row *entryfile.Row) (string, error) {
	switch a.Match {
	case entryfile.MatchID:
		if row.ID != "" && !a.matches.mine[row.ID] {
			return row.ID, fault.Invalid(entryfile.MatchID, "is not that of an entry of this workspace: without ids, lines make new entries")
		}
		return row.ID, nil
	case entryfile.MatchExternal:
		if row.ExternalID == nil {
			return "", nil
		}
		if id := a.waiting[*row.ExternalID]; id != "" && id != a.external[*row.ExternalID] {
			return "", errWaiting
		}
		return a.external[*row.ExternalID], nil
	}
	var found []string
	for _, key := range a.keysOf(row.Fields, row.Methods) {
		for _, id := range a.matches.ids[matchKey(key)] {
			if !slices.Contains(found, id) {
				found = append(found, id)
			}
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", fault.Invalid(a.Match, "is that of more than one entry")
}

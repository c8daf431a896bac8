package directory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/vault"
)

// What two entries can have in common, the strongest reason first.
const (
	reasonExternal = "external_id"
	reasonEmail    = "email"
	reasonPhone    = "phone"
	reasonAccount  = "account"
	reasonName     = "name"
)

// entryKeys are the keys by which an entry is compared with others.
type entryKeys struct{ external, email, phone, name any }

func (e entry) keys() entryKeys {
	return entryKeys{db.NullText(e.ExternalID), db.MatchKey(api.FieldEmail, e.Fields), db.MatchKey(api.FieldPhone, e.Fields), e.nameKey()}
}

// each yields the keys that are set, with the column and the reason of each.
func (k entryKeys) each(yield func(column, reason string, key any)) {
	for _, one := range []struct {
		column, reason string
		key            any
	}{
		{"external_id", reasonExternal, k.external}, {"email_key", reasonEmail, k.email}, {"phone_key", reasonPhone, k.phone}, {"name_key", reasonName, k.name},
	} {
		if one.key != nil {
			yield(one.column, one.reason, one.key)
		}
	}
}

const duplicateColumns = `id, label, external_id, email_key, phone_key, name_key`

// duplicates returns the entries that may be duplicates of one, those with the most in common first. lookups are the possible stored keys
// of its account numbers. Each key has an index, of which a few rows are read: if hundreds have one name, the result has some of them.
func duplicates(q db.Q, e entry, lookups [][]byte) ([]api.Duplicate, error) {
	own := e.keys()
	var list []api.Duplicate
	add := func(reason string) func(r db.Rows) error {
		return func(r db.Rows) error {
			one := api.Duplicate{ID: db.UnpackID("entry", r, 0), Label: r.Text(1)}
			if one.ID == e.ID || slices.ContainsFunc(list, func(d api.Duplicate) bool { return d.ID == one.ID }) {
				return nil
			}
			if reason != "" {
				one.Reasons = append(one.Reasons, reason)
			}
			theirs := map[string]string{reasonExternal: r.Text(2), reasonEmail: r.Text(3), reasonPhone: r.Text(4), reasonName: r.Text(5)}
			own.each(func(_, reason string, key any) {
				if theirs[reason] == key {
					one.Reasons = append(one.Reasons, reason)
				}
			})
			list = append(list, one)
			return nil
		}
	}
	if len(lookups) > 0 {
		if err := eachWithAccount(q, e, lookups, add(reasonAccount)); err != nil {
			return nil, err
		}
	}
	sql, parts := db.NewStatement(``), 0
	own.each(func(column, _ string, key any) {
		if parts++; parts > 1 {
			sql.Add(` UNION ALL `)
		}
		sql.Add(`SELECT `+duplicateColumns+` FROM (SELECT `+duplicateColumns+` FROM directory_entry WHERE workspace_number = `, e.workspace)
		sql.Add(` AND `+column+` = `, key)
		sql.Add(` AND deleted_at IS NULL`)
		sql.Limit(api.MaxDuplicates + 1) // one may be the entry itself
		sql.Add(fmt.Sprintf(`) p%d`, parts))
	})
	if parts > 0 {
		if err := q.EachOf(sql, add("")); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(list, func(a, b api.Duplicate) int {
		return cmp.Or(cmp.Compare(weight(b), weight(a)), cmp.Compare(a.ID, b.ID))
	})
	return list[:min(len(list), api.MaxDuplicates)], nil
}

// weight returns how much two entries have in common. The same name alone counts least.
func weight(d api.Duplicate) (sum int) {
	for _, reason := range d.Reasons {
		sum += map[string]int{reasonExternal: 16, reasonEmail: 8, reasonPhone: 4, reasonAccount: 2, reasonName: 1}[reason]
	}
	return sum
}

// eachWithAccount yields the other entries of the workspace that have one of some account numbers.
func eachWithAccount(q db.Q, e entry, lookups [][]byte, fn func(r db.Rows) error) error {
	var ids []string
	for some := range slices.Chunk(lookups, accountsAtOnce) {
		sql := db.NewStatement(``)
		sql.AddList(`SELECT DISTINCT m.entry_id FROM receiving_method m WHERE m.account_key IN (`, db.Args(some))
		sql.Add(` AND m.status IN ('active', 'pending')`)
		sql.Limit(api.MaxDuplicates + 1) // one may be the entry itself, which is removed later
		err := q.EachOf(sql, func(r db.Rows) error {
			ids = append(ids, db.UnpackID("entry", r, 0))
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, id := range ids {
		err := q.Each(fn, `SELECT `+duplicateColumns+` FROM directory_entry WHERE id = $1 AND workspace_number = $2 AND deleted_at IS NULL`, stored(id), e.workspace)
		if err != nil {
			return err
		}
	}
	return nil
}

// accountsAtOnce is how many keys of account numbers one statement looks for.
const accountsAtOnce = 8

// Duplicates returns the entries that may be duplicates of one. Callers who may not read receiving methods do not learn which entries share
// an account.
func (s *Service) Duplicates(ctx context.Context, by db.Caller, in EntryInput) (api.Duplicates, error) {
	at, held, err := s.authorize(ctx, by, in.ID, access.DirectoryRead)
	if err != nil {
		return api.Duplicates{}, partNotFound(err)
	}
	var e entry
	var sealed []storedMethod
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		if e, err = find(q, at); err == nil && e.ID == "" {
			err = fault.Missing("directory entry")
		}
		if err == nil && held.Has(access.ReceivingRead) {
			sealed, err = s.loadMethods(q, e)
		}
		return err
	})
	if err != nil {
		return api.Duplicates{}, err
	}
	var lookups [][]byte
	if len(sealed) > 0 {
		if lookups, err = s.lookups(ctx, e, sealed); err != nil {
			return api.Duplicates{}, err
		}
	}
	if e.MergedInto != "" { // so that a merged entry is not reviewed again
		return api.Duplicates{Duplicates: []api.Duplicate{}}, nil
	}
	return s.duplicatesOf(ctx, e, lookups)
}

func (s *Service) duplicatesOf(ctx context.Context, e entry, lookups [][]byte) (answer api.Duplicates, err error) {
	err = s.db.Read(ctx, func(q db.Q) error {
		found, err := duplicates(q, e, lookups)
		answer.Duplicates = append([]api.Duplicate{}, found...)
		return err
	})
	return answer, err
}

// Doubles returns the possible duplicates of a new entry, for a form that shows them before it creates the entry.
func (s *Service) Doubles(ctx context.Context, by db.Caller, in CreateInput) (api.Duplicates, error) {
	held, err := s.authority.Held(ctx, by.Actor, in.WorkspaceID, access.DirectoryRead)
	if err != nil {
		return api.Duplicates{}, err
	}
	workspace, err := s.authority.Enter(ctx, by.Actor, in.WorkspaceID, access.DirectoryRead)
	if err != nil {
		return api.Duplicates{}, err
	}
	e := newEntry(workspace, in.EntryCreate)
	var lookups [][]byte
	if in.Method != nil && held.Has(access.ReceivingRead) {
		finder, err := s.vault.Finder(ctx, workspace)
		if err != nil {
			return api.Duplicates{}, err
		}
		lookups = finder.Lookups(vault.NormalNumber(in.Method.AccountID))
	}
	return s.duplicatesOf(ctx, e, lookups)
}

// lookups returns the possible stored keys of account numbers, for every data key.
func (s *Service) lookups(ctx context.Context, e entry, sealed []storedMethod) ([][]byte, error) {
	methods, err := s.openMethods(e, sealed)
	if err != nil {
		return nil, err
	}
	finder, err := s.vault.Finder(ctx, e.workspace)
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for _, m := range live(methods) {
		all = append(all, finder.Lookups(vault.NormalNumber(m.AccountID))...)
	}
	return all, nil
}

// OnDuplicate returns what is done with duplicates: the request decides, otherwise the workspace.
func (s *Service) OnDuplicate(ctx context.Context, by db.Caller, workspaceID string, asked *string) (string, error) {
	if asked != nil {
		return *asked, nil
	}
	return s.authority.OnDuplicate(ctx, by.Actor, workspaceID)
}

// oneAtATime serializes creates that refuse duplicates: if two are the same, the second must find the first. It is called before all other
// locks.
func oneAtATime(tx *db.Tx, workspace int64, on string) error {
	if on != api.OnDuplicateRefuse {
		return nil
	}
	_, err := tx.Row(`UPDATE workspace SET name = name WHERE number = $1 RETURNING id`, workspace).Scan(new(string))
	return err
}

// doubles returns the possible duplicates of a new entry, or a fault if duplicates are refused. It lists them only for callers who may read
// them.
func doubles(tx *db.Tx, e entry, on string, held access.Set) ([]api.Duplicate, error) {
	if on == api.OnDuplicateAllow || on == "" {
		return nil, nil
	}
	found, err := duplicates(tx.Q, e, nil)
	if err != nil {
		return nil, err
	}
	double := len(found) > 0
	if !held.Has(access.DirectoryRead) {
		found = nil
	}
	if double && on == api.OnDuplicateRefuse {
		no := fault.New(api.CodeDuplicateEntry, "the entry may be a double of another, and doubles are refused")
		no.Details = api.Duplicates{Duplicates: append([]api.Duplicate{}, found...)}
		return nil, no
	}
	return found, nil
}

package directory

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
)

// NamedPayee is what a name stands for: a payee only if there is one entry of that name.
type NamedPayee struct {
	Entries int                   // that are called so
	Methods []api.ReceivingMethod // those of the entry that can be paid, with masked numbers

	entryID string
}

// namesAtOnce is how many names one statement looks up. It is always the same number, so that there is one statement to prepare.
const namesAtOnce = 50

// FindPayees finds the payees that are meant by ids or labels of entries, in any case. It takes few queries for a thousand names.
func (s *Service) FindPayees(ctx context.Context, by db.Caller, workspaceID string, names []string) (map[string]*NamedPayee, error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, workspaceID, access.ReceivingRead); err != nil {
		return nil, err
	}
	workspace, err := s.authority.Enter(ctx, by.Actor, workspaceID, access.DirectoryRead)
	if err == nil {
		err = s.vault.Ready(ctx, workspace)
	}
	if err != nil {
		return nil, err
	}
	found := map[string]*NamedPayee{}
	for _, name := range names {
		found[name] = &NamedPayee{}
	}
	ids, labels := s.searchKeys(found)
	for part := range slices.Chunk(ids, namesAtOnce) {
		err = s.db.Read(ctx, func(q db.Q) error { return findByID(q, workspace, part, found) })
		if err != nil {
			return nil, err
		}
	}
	for part := range slices.Chunk(labels, namesAtOnce) {
		err = s.db.Read(ctx, func(q db.Q) error { return findByLabel(q, workspace, part) })
		if err != nil {
			return nil, err
		}
	}
	var payees []*NamedPayee
	for _, one := range found {
		if one.Entries == 1 {
			payees = append(payees, one)
		}
	}
	for part := range slices.Chunk(payees, namesAtOnce) {
		if err = s.findMethods(ctx, workspace, part); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// labelSearch is a range of labels, and the names that are in it.
type labelSearch struct {
	low, high []byte
	names     map[string]*NamedPayee
}

// searchKeys divides names into ids and labels. Labels that differ in case are searched once.
func (s *Service) searchKeys(names map[string]*NamedPayee) (ids []string, labels []*labelSearch) {
	ranges := map[string]*labelSearch{}
	for name, payee := range names {
		if strings.HasPrefix(name, "entry_") {
			ids = append(ids, name)
			continue
		}
		low, high := s.db.LabelRange(name)
		search := ranges[string(low)]
		if search == nil {
			search = &labelSearch{low, high, map[string]*NamedPayee{}}
			ranges[string(low)] = search
			labels = append(labels, search)
		}
		search.names[name] = payee
	}
	return ids, labels
}

func findByID(q db.Q, workspace int64, ids []string, found map[string]*NamedPayee) error {
	// With the workspace as a condition, PostgreSQL would read all of its entries.
	sql := db.NewStatement(`SELECT id, workspace_number, deleted_at FROM directory_entry WHERE id IN (`)
	for i := range namesAtOnce {
		sql.Add(separator(i), stored(ids[min(i, len(ids)-1)]))
	}
	sql.Add(`)`)
	return q.EachOf(sql, func(r db.Rows) error {
		id := db.UnpackID("entry", r, 0)
		if payee := found[id]; payee != nil && r.Int(1) == workspace && r.Null(2) {
			*payee = NamedPayee{Entries: 1, entryID: id}
		}
		return nil
	})
}

func findByLabel(q db.Q, workspace int64, searches []*labelSearch) error {
	for _, search := range searches { // it may run more than once
		for _, payee := range search.names {
			*payee = NamedPayee{}
		}
	}
	// A part for each range: PostgreSQL would join ranges with all entries of the workspace.
	sql := db.NewStatement(``)
	for i := range namesAtOnce {
		low, high := []byte{0}, []byte{0} // an empty range
		if i < len(searches) {
			low, high = searches[i].low, searches[i].high
		}
		if i > 0 {
			sql.Add(` UNION ALL `)
		}
		sql.Add(`SELECT id, label, `+strconv.Itoa(i)+` FROM directory_entry WHERE workspace_number = `, workspace)
		sql.Add(` AND deleted_at IS NULL AND type IN (`, db.Args(api.EntryTypes())...)
		sql.Add(`) AND status IN (`, db.Args(api.EntryStatuses())...)
		sql.Add(`) AND label_key >= `, low)
		sql.Add(` AND label_key < `, high)
	}
	return q.EachOf(sql, func(r db.Rows) error {
		for name, payee := range searches[r.Int(2)].names {
			if strings.EqualFold(name, r.Text(1)) {
				payee.Entries++
				payee.entryID = db.UnpackID("entry", r, 0)
			}
		}
		return nil
	})
}

func (s *Service) findMethods(ctx context.Context, workspace int64, payees []*NamedPayee) error {
	byEntry := map[string][]storedMethod{}
	err := s.db.Read(ctx, func(q db.Q) error {
		clear(byEntry)
		sql := db.NewStatement(`SELECT ` + methodColumns + `, entry_id FROM receiving_method WHERE entry_id IN (`)
		for i := range namesAtOnce {
			sql.Add(separator(i), stored(payees[min(i, len(payees)-1)].entryID))
		}
		sql.Add(`) ORDER BY entry_id, id`)
		return q.EachOf(sql, func(r db.Rows) error {
			id := db.UnpackID("entry", r, 9)
			byEntry[id] = append(byEntry[id], readMethod(r))
			return nil
		})
	})
	if err != nil {
		return err
	}
	now := s.db.Now()
	for _, payee := range payees {
		list := slices.Clone(byEntry[payee.entryID]) // the payee may be named by id and by label
		settle(list, now)
		if payee.Methods, err = s.openMethods(entry{workspace: workspace}, onlyPayable(list, now)); err != nil {
			return err
		}
		for i := range payee.Methods {
			payee.Methods[i].AccountID = audit.Mask(payee.Methods[i].AccountID)
		}
	}
	return nil
}

func separator(i int) string {
	if i == 0 {
		return ``
	}
	return `, `
}

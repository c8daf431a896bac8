package directory

import (
	"strconv"
	"strings"

	"bursar/api"
	"bursar/internal/db"
)

// order is the order of a list. The zero value is that of creation, newest first.
type order struct {
	column    string // compared before the id; "" is the id alone, which begins with the time of creation
	ascending bool
}

// The columns that a list can be sorted by.
const (
	byLabel   = "label_key"
	byUpdated = "updated_at"
)

// order returns the order of the list. At most one entry has an external id.
func (in *ListInput) order() order {
	if in.ExternalID != nil {
		return order{}
	}
	return orderOf(in.Sort)
}

// orderOf reads a value of sort; absent means newest first.
func orderOf(sort *string) order {
	if sort == nil {
		return order{}
	}
	name, descending := strings.CutPrefix(*sort, "-")
	columns := map[string]string{"label": byLabel, "updated": byUpdated}
	return order{columns[name], !descending}
}

// idLength is the length of the id at the end of a position in a sorted list.
const idLength = len("entry_") + 26

// positionOf returns the position of a row in a sorted list: the value of the sort column and the id. The value is in the given column of
// the row.
func (o order) positionOf(r db.Rows, column int, id []byte) []byte {
	if o.column == byUpdated {
		return append(strconv.AppendInt(nil, r.Int(column), 10), id...)
	}
	return append(append([]byte{}, r.Raw(column)...), id...)
}

// bound reads a position; resumed is false where the list begins.
func (o order) bound(after string) (key any, id any, resumed bool) {
	if len(after) < idLength {
		return nil, nil, false
	}
	text, entry := after[:len(after)-idLength], after[len(after)-idLength:]
	switch o.column {
	case byLabel:
		key = []byte(text)
	case byUpdated:
		at, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, nil, false
		}
		key = at
	}
	return key, stored(entry), true
}

// sorted returns a query for the entries in an order other than the default. The sort column follows the given beginning.
//
// There is one index for each order, which begins with type and status. A list that is not filtered by them is merged from the few lists
// that are. So no combination needs an index of its own.
func (f filter) sorted(q db.Q, begin string) (*db.Statement, error) {
	begin += `, ` + f.order.sortColumn() // positionOf reads it
	byTag, err := f.beginsWithTag(q)
	if err != nil {
		return nil, err
	}
	if byTag {
		sql := db.NewStatement(begin+` FROM directory_entry_tag t JOIN directory_entry e ON e.id = t.entry_id WHERE t.tag_id = `, f.tagID)
		// The tag implies both conditions, but the indexes of type and status need them spelled out.
		sql.Add(` AND t.live = TRUE AND e.deleted_at IS NULL AND e.workspace_number = `, f.workspace)
		f.narrow(sql, f.kind, f.status, `t.entry_id`)
		f.arrange(sql, `t.entry_id`)
		sql.Limit(f.take)
		return sql, nil
	}
	kinds, statuses := api.EntryTypes(), api.EntryStatuses()
	if f.kind != nil {
		kinds = []string{*f.kind}
	}
	if f.status != nil {
		statuses = []string{*f.status}
	}
	sql := db.NewStatement(`SELECT * FROM (`)
	parts := 0
	for _, kind := range kinds {
		for _, status := range statuses {
			if parts++; parts > 1 {
				sql.Add(` UNION ALL `)
			}
			sql.Add(`SELECT * FROM (`+begin+` AS sorted_by, e.id AS sorted_id FROM directory_entry e WHERE e.workspace_number = `, f.workspace)
			sql.Add(` AND e.deleted_at IS NULL`)
			f.narrow(sql, &kind, &status, `e.id`)
			if f.tagID != "" {
				// With EXISTS, PostgreSQL would begin with all entries that have the tag, and sort them.
				sql.Add(` AND e.id = (SELECT x.entry_id FROM directory_entry_tag x WHERE x.entry_id = e.id AND x.tag_id = `, f.tagID)
				sql.Add(`)`)
			}
			f.arrange(sql, `e.id`)
			sql.Limit(f.take)
			sql.Add(`) p` + strconv.Itoa(parts))
		}
	}
	sql.Add(`) s ORDER BY sorted_by` + f.order.direction() + `, sorted_id` + f.order.direction())
	sql.Limit(f.take)
	return sql, nil
}

func (o order) direction() string {
	if o.ascending {
		return ``
	}
	return ` DESC`
}

func (o order) sortColumn() string {
	if o.column == "" {
		return `e.id`
	}
	return `e.` + o.column
}

// narrow adds the conditions about the entry itself, and where the page begins. The id of an entry is in the given column, which belongs to
// the index that is read.
func (f filter) narrow(sql *db.Statement, kind, status *string, idColumn string) {
	if kind != nil {
		sql.Add(` AND e.type = `, *kind)
	}
	if status != nil {
		sql.Add(` AND e.status = `, *status)
	}
	key, id, resumed := f.order.bound(f.after)
	if !resumed {
		return
	}
	beyond := ` < `
	if f.order.ascending {
		beyond = ` > `
	}
	if f.order.column == "" {
		sql.Add(` AND `+idColumn+beyond, id)
		return
	}
	sql.Add(` AND (e.`+f.order.column+`, `+idColumn+`)`+beyond+`(`, key, id)
	sql.Add(`)`)
}

func (f filter) arrange(sql *db.Statement, idColumn string) {
	sql.Add(` ORDER BY `)
	if f.order.column != "" {
		sql.Add(`e.` + f.order.column + f.order.direction() + `, `)
	}
	sql.Add(idColumn + f.order.direction())
}

// beginsWithTag reports whether the entries are read from those of the tag. They come in the order of creation. For another order that is
// faster as long as few enough entries have the tag to be collected and sorted. Otherwise they are soon found in the order of the list.
func (f filter) beginsWithTag(q db.Q) (bool, error) {
	if f.tagID == "" || f.order.column == "" {
		return f.tagID != "", nil
	}
	var n int
	_, err := q.Row(`SELECT count(*) FROM (SELECT 1 FROM directory_entry_tag WHERE tag_id = $1 AND live = TRUE LIMIT $2) t`, f.tagID, commonThreshold).Scan(&n)
	return n < commonThreshold, err
}

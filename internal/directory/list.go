package directory

import (
	"strings"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/web"
)

// filter selects the entries of a page.
type filter struct {
	workspace int64
	kind      *string
	status    *string
	tagID     string
	external  *string
	ids       []string // only these, MaxIDs at most
	words     []string
	tails     [][]byte // finds the accounts that end with the only word: see lastDigits
	order     order
	after     string
	take      int
	none      bool // no entry has the tag
}

// commonThreshold is how many entries must have a word before scanning the newest is faster than collecting and sorting all that have it.
const commonThreshold = 2000

// each adds the entries to the page, in the order of the filter.
func (f filter) each(q db.Q, page *web.JSONPage[api.EntrySummary]) error {
	sql, err := f.statement(q, `SELECT e.id, e.type, e.label, e.status, e.fields FROM `)
	if err != nil {
		return err
	}
	var at struct { // one variable, so that a page allocates only once for it
		row db.Rows
		id  [32]byte
	}
	write := func(dst []byte) []byte { return appendEntry(dst, at.id[:], at.row) }
	return q.EachOf(sql, func(r db.Rows) error {
		at.row = r
		position := db.AppendID(at.id[:0], "entry", r.Raw(0))
		if f.order.column != "" {
			position = f.order.positionOf(r, 5, position)
		}
		page.Row(position, write)
		return nil
	})
}

// statement returns a query for the entries, in the order of the filter. Its beginning is given, up to FROM. If the order is not that of
// creation, the column that it uses follows the given ones.
func (f filter) statement(q db.Q, begin string) (*db.Statement, error) {
	if f.order != (order{}) {
		return f.sorted(q, strings.TrimSuffix(begin, ` FROM `))
	}
	source, rest, err := f.source(q)
	if err != nil {
		return nil, err
	}
	after := db.PackBelow("entry", f.after)
	sql := db.NewStatement(begin)
	switch source {
	case byTag:
		sql.Add(`directory_entry_tag t JOIN directory_entry e ON e.id = t.entry_id WHERE t.tag_id = `, f.tagID)
		sql.Add(` AND t.live = TRUE AND t.entry_id < `, after)
		if f.kind != nil || f.status != nil {
			// The tag implies both conditions, but the indexes of type and status need them spelled out.
			sql.Add(` AND e.deleted_at IS NULL AND e.workspace_number = `, f.workspace)
			sql.Add(` AND e.id < `, after)
		}
	case byWord:
		low, high := wordRange(rest[0])
		sql.Add(`(SELECT DISTINCT entry_id FROM directory_word WHERE workspace_number = `, f.workspace)
		sql.Add(` AND word >= `, low)
		sql.Add(` AND word < `, high)
		sql.Add(` AND entry_id < `, after)
		if len(f.tails) > 0 {
			sql.Add(` UNION SELECT entry_id FROM receiving_method WHERE status IN ('active', 'pending') AND tail_key IN (`)
			f.addTails(sql)
			sql.Add(`) AND entry_id < `, after)
		}
		sql.Add(`) t JOIN directory_entry e ON e.id = t.entry_id WHERE e.deleted_at IS NULL`)
		rest = rest[1:]
	default:
		sql.Add(`directory_entry e WHERE e.workspace_number = `, f.workspace)
		sql.Add(` AND e.deleted_at IS NULL AND e.id < `, after)
	}
	if f.kind != nil {
		sql.Add(` AND e.type = `, *f.kind)
	}
	if f.status != nil {
		sql.Add(` AND e.status = `, *f.status)
	}
	if f.external != nil {
		sql.Add(` AND e.external_id = `, *f.external)
	}
	if f.ids != nil {
		sql.AddList(` AND e.id IN (`, storedAll(f.ids))
	}
	for _, word := range rest {
		sql.Add(` AND (e.words LIKE `, "% "+word+"%")
		if len(f.tails) > 0 {
			sql.Add(` OR EXISTS (SELECT 1 FROM receiving_method m WHERE m.entry_id = e.id AND m.status IN ('active', 'pending') AND m.tail_key IN (`)
			f.addTails(sql)
			sql.Add(`))`)
		}
		sql.Add(`)`)
	}
	if source != byTag && f.tagID != "" {
		sql.Add(` AND EXISTS (SELECT 1 FROM directory_entry_tag x WHERE x.entry_id = e.id AND x.tag_id = `, f.tagID)
		sql.Add(`)`)
	}
	if source == byNewest {
		sql.Add(` ORDER BY e.id DESC`)
	} else {
		sql.Add(` ORDER BY t.entry_id DESC`)
	}
	sql.Limit(f.take)
	return sql, nil
}

type source int

const (
	byNewest source = iota
	byTag
	byWord
)

// source decides from where the page is read, and puts the rarest word first.
func (f filter) source(q db.Q) (source, []string, error) {
	words := append([]string{}, f.words...)
	if f.external != nil || f.ids != nil { // few entries at most
		return byNewest, words, nil
	}
	rarest, fewest := 0, commonThreshold
	for i, word := range words {
		n, err := frequency(q, f.workspace, word)
		if err != nil {
			return byNewest, nil, err
		}
		if len(f.tails) > 0 {
			more, err := f.tailFrequency(q)
			if n += more; err != nil {
				return byNewest, nil, err
			}
		}
		if n < fewest {
			rarest, fewest = i, n
		}
	}
	if fewest < commonThreshold {
		words[0], words[rarest] = words[rarest], words[0]
		return byWord, words, nil
	}
	if f.tagID != "" {
		return byTag, words, nil
	}
	return byNewest, words, nil
}

// frequency counts the entries with a word, up to commonThreshold.
func frequency(q db.Q, workspace int64, word string) (n int, err error) {
	low, high := wordRange(word)
	common, err := q.Row(`SELECT word FROM directory_common_word WHERE workspace_number = $1 AND word >= $2 AND word < $3 LIMIT 1`,
		workspace, low, high).Scan(new(string))
	if err != nil || common {
		return commonThreshold, err
	}
	_, err = q.Row(`SELECT count(*) FROM (SELECT 1 FROM directory_word WHERE workspace_number = $1 AND word >= $2 AND word < $3 LIMIT $4) w`,
		workspace, low, high, commonThreshold).Scan(&n)
	return n, err
}

// wordRange returns the range of all words with a prefix, compared bytewise.
func wordRange(prefix string) (low, high string) { return prefix, prefix + "\U0010FFFF" }

func appendEntry(dst, id []byte, r db.Rows) []byte {
	dst = append(dst, `{"id":"`...)
	dst = append(dst, id...)
	dst = append(dst, `","type":"`...)
	dst = append(dst, r.Raw(1)...)
	dst = append(dst, `","label":`...)
	dst = api.AppendString(dst, r.Raw(2))
	dst = append(dst, `,"status":"`...)
	dst = append(dst, r.Raw(3)...)
	dst = append(dst, `","fields":`...)
	dst = append(dst, r.Raw(4)...)
	return append(dst, '}')
}

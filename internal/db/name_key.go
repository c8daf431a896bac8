package db

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"bursar/api"
	"bursar/internal/db/engine"
)

// maxNameKey bounds what an index holds of a name, in bytes. Longer names that agree up to there
// are shown to a person, who sees whether they are the same.
const maxNameKey = 200

// NameKey returns the parameter for the name by which two entries may be the same: its words
// without regard to their order, case, accents and punctuation; NULL if there is none. What an
// entry is called by its e-mail address or phone number is no name. label is one that was sent.
func NameKey(name, label string, fields api.Fields) any {
	for _, one := range []string{name, fields.Text(api.FieldName), fields.Text(api.FieldFirstName) + " " + fields.Text(api.FieldLastName), label} {
		if key := foldedName(one); key != "" {
			return key
		}
	}
	return nil
}

func foldedName(name string) string {
	folded := cases.Fold().String(norm.NFKD.String(name))
	words := strings.FieldsFunc(strings.Map(func(r rune) rune {
		if unicode.IsMark(r) || r == '\'' || r == '’' { // O'Neill is ONeill
			return -1
		}
		return r
	}, folded), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	slices.Sort(words)
	key := strings.Join(words, " ")
	return strings.ToValidUTF8(key[:min(len(key), maxNameKey)], "")
}

// fillNameKeys computes the keys of names and of phone numbers of the entries that were stored
// before there were such keys, or before phone numbers were compared as E.164 writes them.
func fillNameKeys(c engine.Conn) error {
	type keys struct{ id, name, phone any }
	var last any = [16]byte{}
	for {
		var some []keys
		rows, err := c.Query(`SELECT id, name, CASE WHEN label_sent THEN label ELSE '' END, fields FROM directory_entry WHERE id > $1 ORDER BY id LIMIT 1000`, []any{last})
		if err != nil {
			return fmt.Errorf("read names: %w", err)
		}
		for rows.Next() {
			fields := api.SplitFields([]byte(rows.Text(3)))
			some = append(some, keys{[16]byte(rows.Raw(0)), NameKey(rows.Text(1), rows.Text(2), fields), MatchKey(api.FieldPhone, fields)})
		}
		err = rows.Err()
		rows.Close()
		if err != nil || len(some) == 0 {
			return err
		}
		for _, k := range some {
			if err := c.Exec(`UPDATE directory_entry SET name_key = $2, phone_key = $3 WHERE id = $1`, []any{k.id, k.name, k.phone}); err != nil {
				return fmt.Errorf("store the key of a name: %w", err)
			}
		}
		last = some[len(some)-1].id
	}
}

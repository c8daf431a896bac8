package db

import (
	"fmt"
	"sync"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"bursar/internal/db/engine"
)

// maxLabelKey bounds what an index holds of a label. What two long labels have in common up to
// there is some eighty letters; the rest does not count.
const maxLabelKey = 255

// labelKeys computes the keys that labels are sorted by.
type labelKeys struct {
	idle sync.Pool // of *collator: making one takes seven times as long as using it
}

// collator has memory that only one goroutine can use.
type collator struct {
	*collate.Collator
	buffer collate.Buffer
}

// of returns bytes that sort as people expect the label to, in any script: by the root order
// of the Unicode Collation Algorithm.
func (k *labelKeys) of(label string) []byte {
	c, ok := k.idle.Get().(*collator)
	if !ok {
		c = &collator{Collator: collate.New(language.Und)}
	}
	defer k.idle.Put(c)
	c.buffer.Reset()
	key := c.KeyFromString(&c.buffer, label)
	return append([]byte{}, key[:min(len(key), maxLabelKey)]...)
}

// LabelKey returns what an entry with this label is sorted by.
func (tx *Tx) LabelKey(label string) []byte { return tx.db.labels.of(label) }

// fillLabelKeys computes the keys of labels that were stored before there were keys.
func fillLabelKeys(c engine.Conn) error {
	type label struct {
		id  any
		key []byte
	}
	var keys labelKeys
	var last any = [16]byte{}
	for {
		var some []label
		rows, err := c.Query(`SELECT id, label FROM directory_entry WHERE id > $1 ORDER BY id LIMIT 1000`, []any{last})
		if err != nil {
			return fmt.Errorf("read labels: %w", err)
		}
		for rows.Next() {
			some = append(some, label{[16]byte(rows.Raw(0)), keys.of(rows.Text(1))})
		}
		err = rows.Err()
		rows.Close()
		if err != nil || len(some) == 0 {
			return err
		}
		for _, l := range some {
			if err := c.Exec(`UPDATE directory_entry SET label_key = $2 WHERE id = $1`, []any{l.id, l.key}); err != nil {
				return fmt.Errorf("store the key of a label: %w", err)
			}
		}
		last = some[len(some)-1].id
	}
}

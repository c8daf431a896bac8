package db

import (
	"sync"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// maxLabelKey bounds the sort key of a label in an index. It covers some eighty letters; the
// rest of a longer label does not affect the order.
const maxLabelKey = 255

// labelKeys computes the sort keys of labels.
type labelKeys struct {
	idle sync.Pool // of *collator: creating one takes seven times as long as using it
}

// collator has memory that only one goroutine can use.
type collator struct {
	all, letters *collate.Collator
	buffer       collate.Buffer
}

// of returns the sort key of a label in the root order of the Unicode Collation Algorithm,
// which suits any script.
func (k *labelKeys) of(label string) []byte {
	c := k.get()
	defer k.idle.Put(c)
	key := c.all.KeyFromString(&c.buffer, label)
	return append([]byte{}, key[:min(len(key), maxLabelKey)]...)
}

func (k *labelKeys) get() *collator {
	c, ok := k.idle.Get().(*collator)
	if !ok {
		c = &collator{all: collate.New(language.Und), letters: collate.New(language.Und, collate.IgnoreCase, collate.IgnoreDiacritics)}
	}
	c.buffer.Reset()
	return c
}

// LabelKey returns the sort key of an entry with this label.
func (tx *Tx) LabelKey(label string) []byte { return tx.db.labels.of(label) }

// LabelRange returns the range of the sort keys of a label in any case: from low, inclusive, to high. Labels with other accents and, if it is
// very long, with another end are in it, too. A few rare scripts, such as Cherokee, are compared with their case.
func (d *DB) LabelRange(label string) (low, high []byte) {
	c := d.labels.get()
	defer d.labels.idle.Put(c)
	// After the weights of the letters, two zeros begin those of accents and case.
	low = append(append([]byte{}, c.letters.KeyFromString(&c.buffer, label)...), 0, 0)
	low = low[:min(len(low), maxLabelKey)]
	high = append([]byte{}, low...)
	for i := len(high) - 1; i >= 0; i-- {
		if high[i]++; high[i] != 0 {
			break
		}
	}
	return low, high
}

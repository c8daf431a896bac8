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
	*collate.Collator
	buffer collate.Buffer
}

// of returns the sort key of a label in the root order of the Unicode Collation Algorithm,
// which suits any script.
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

// LabelKey returns the sort key of an entry with this label.
func (tx *Tx) LabelKey(label string) []byte { return tx.db.labels.of(label) }

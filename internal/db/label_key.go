package db

import (
	"sync"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
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

package entryword

import "sync"

const (
	// maxCounts bounds the memory: how many words are counted at a time.
	maxCounts = 8192
	// sampleEvery means that the words of every eighth new entry are counted.
	sampleEvery = 8
	// recheckAfter is the count at which the database is queried whether a word has become common. It is queried again each time the count
	// has doubled.
	recheckAfter = 64
)

// Common caches words that very many entries of a workspace have, such as the domain of an email address. A search never starts from a
// common word, so the index of words leaves them out. That saves most of the cost of indexing an entry (creates are 1.07 to 1.26 times as
// fast). The database has the list. The process caches the part that it has seen, so that it need not query for each word. A word that is
// not known to be common is indexed, which is never wrong.
type Common struct {
	mu    sync.Mutex
	met   int                // entries so far
	words map[placedWord]int // how often each was counted, or known
}

type placedWord struct{ workspaceID, word string }

// known marks a word that is in the database's list of common words.
const known = -1

// NewCommon returns an empty cache.
func NewCommon() *Common { return &Common{words: map[placedWord]int{}} }

// Split returns which words of a new entry to index, and which of those may have become common.
func (c *Common) Split(workspaceID string, words []string) (indexed, doubtful []string) {
	indexed = make([]string, 0, len(words))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.met++
	for _, word := range words {
		at := placedWord{workspaceID, word}
		n := c.words[at]
		if n == known {
			continue
		}
		indexed = append(indexed, word)
		if c.met%sampleEvery > 0 {
			continue
		}
		if n++; n >= recheckAfter && n&(n-1) == 0 {
			doubtful = append(doubtful, word)
		}
		c.words[at] = n
	}
	if len(c.words) > maxCounts {
		c.fade()
	}
	return indexed, doubtful
}

// fade halves all counts and drops the lowest, so that frequent words stay. Words known to be common keep at most half of the room; the
// others are learned again.
func (c *Common) fade() {
	knownWords := 0
	for at, n := range c.words {
		switch {
		case n == known:
			if knownWords++; knownWords > maxCounts/2 {
				delete(c.words, at)
			}
		case n < 2:
			delete(c.words, at)
		default:
			c.words[at] = n / 2
		}
	}
}

// Learn caches words that a committed transaction has put into the list.
func (c *Common) Learn(workspaceID string, words []string) {
	if len(words) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, word := range words {
		c.words[placedWord{workspaceID, word}] = known
	}
}

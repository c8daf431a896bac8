package directory

import (
	"sync"

	"bursar/internal/db"
)

const (
	// maxCounted bounds how many words are counted at a time.
	maxCounted = 8192
	// counted is of how many entries the words of one are counted.
	counted = 8
	// countedOften is after how many of those it is worth asking the store whether a
	// word has become common; it is asked again each time their number has doubled.
	countedOften = 64
)

// commonWords knows words that very many entries of a workspace have, such as the end
// of a mail address. A search never begins with those, so entries are not filed under
// them: that is most of what filing an entry would cost. Which words they are stands
// in the store; here is what this process has learned of it, so that it need not ask
// for each. A word that is not known to be common is filed, which is never wrong.
type commonWords struct {
	mu    sync.Mutex
	met   int                // entries
	words map[placedWord]int // how often it was counted, or known
}

type placedWord struct{ workspaceID, word string }

const known = -1

func newCommonWords() *commonWords { return &commonWords{words: map[placedWord]int{}} }

// split tells which words an entry is to be filed under, and which of those may have
// become common.
func (c *commonWords) split(workspaceID string, words []string) (file, doubtful []string) {
	file = make([]string, 0, len(words))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.met++
	for _, word := range words {
		at := placedWord{workspaceID, word}
		n := c.words[at]
		if n == known {
			continue
		}
		file = append(file, word)
		if c.met%counted > 0 {
			continue
		}
		if n++; n >= countedOften && n&(n-1) == 0 {
			doubtful = append(doubtful, word)
		}
		c.words[at] = n
	}
	if len(c.words) > maxCounted {
		c.fade()
	}
	return file, doubtful
}

// fade halves all counts and forgets those of few: what is met often stays. Words
// that are known to be common go too once they are too many, and are learned again.
func (c *commonWords) fade() {
	knownWords := 0
	for at, n := range c.words {
		switch {
		case n == known:
			if knownWords++; knownWords > maxCounted/2 {
				delete(c.words, at)
			}
		case n < 2:
			delete(c.words, at)
		default:
			c.words[at] = n / 2
		}
	}
}

// learn is told what is in the store for good.
func (c *commonWords) learn(workspaceID string, words []string) {
	if len(words) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, word := range words {
		c.words[placedWord{workspaceID, word}] = known
	}
}

// declareCommon notes which of the words are common by now, and returns those. They
// may be left out once the transaction is committed, not before.
func declareCommon(tx *db.Tx, workspaceID string, doubtful []string) (common []string, err error) {
	for _, word := range doubtful {
		n, err := frequency(tx.Q, workspaceID, word)
		if err != nil {
			return nil, err
		}
		if n < dense {
			continue
		}
		if err := tx.Exec(`INSERT INTO directory_common_word (workspace_id, word) VALUES ($1, $2) ON CONFLICT DO NOTHING`, workspaceID, word); err != nil {
			return nil, err
		}
		common = append(common, word)
	}
	return common, nil
}

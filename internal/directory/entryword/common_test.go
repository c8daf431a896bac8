package entryword

import (
	"fmt"
	"slices"
	"testing"
)

func TestFrequentWordsAreCheckedAgainstTheDatabase(t *testing.T) {
	c := NewCommon()
	asked := 0
	for range sampleEvery * recheckAfter * 4 {
		indexed, doubtful := c.Split("ws", []string{"com", "example"})
		if len(indexed) != 2 {
			t.Fatalf("indexed under %v", indexed)
		}
		if len(doubtful) > 0 {
			asked++
		}
	}
	if asked != 3 { // at once, twice and four times recheckAfter
		t.Errorf("asked %d times", asked)
	}
}

func TestCommonWordsAreNotIndexed(t *testing.T) {
	c := NewCommon()
	c.Learn("ws", []string{"com"})
	if indexed, _ := c.Split("ws", []string{"ada", "com"}); !slices.Equal(indexed, []string{"ada"}) {
		t.Errorf("indexed under %v", indexed)
	}
	if indexed, _ := c.Split("other", []string{"ada", "com"}); len(indexed) != 2 {
		t.Errorf("another workspace indexes %v", indexed)
	}
}

func TestCountingWordsTakesBoundedMemory(t *testing.T) {
	c := NewCommon()
	for i := range 50 * maxCounts {
		c.Learn("ws", []string{fmt.Sprint("known", i)})
		c.Split("ws", []string{fmt.Sprint("rare", i), "often"})
		if len(c.words) > 2*maxCounts {
			t.Fatalf("%d words are remembered", len(c.words))
		}
	}
	if c.words[placedWord{"ws", "often"}] < recheckAfter {
		t.Error("a word of every entry was forgotten")
	}
}

package directory

import (
	"fmt"
	"slices"
	"testing"
)

func TestWordsAreDoubtfulOnceTheyWereMetOften(t *testing.T) {
	c := newCommonWords()
	asked := 0
	for range counted * countedOften * 4 {
		file, doubtful := c.split("ws", []string{"com", "example"})
		if len(file) != 2 {
			t.Fatalf("filed under %v", file)
		}
		if len(doubtful) > 0 {
			asked++
		}
	}
	if asked != 3 { // at once, twice and four times countedOften
		t.Errorf("asked %d times", asked)
	}
}

func TestEntriesAreNotFiledUnderWordsKnownToBeCommon(t *testing.T) {
	c := newCommonWords()
	c.learn("ws", []string{"com"})
	if file, _ := c.split("ws", []string{"ada", "com"}); !slices.Equal(file, []string{"ada"}) {
		t.Errorf("filed under %v", file)
	}
	if file, _ := c.split("other", []string{"ada", "com"}); len(file) != 2 {
		t.Errorf("another workspace files under %v", file)
	}
}

func TestCountingWordsTakesBoundedMemory(t *testing.T) {
	c := newCommonWords()
	for i := range 50 * maxCounted {
		c.learn("ws", []string{fmt.Sprint("known", i)})
		c.split("ws", []string{fmt.Sprint("rare", i), "often"})
		if len(c.words) > 2*maxCounted {
			t.Fatalf("%d words are remembered", len(c.words))
		}
	}
	if c.words[placedWord{"ws", "often"}] < countedOften {
		t.Error("a word of every entry was forgotten")
	}
}

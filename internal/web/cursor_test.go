package web

import (
	"testing"
)

func FuzzCursor(f *testing.F) {
	cursors := NewCursors([]byte("a key that all nodes share"))
	f.Add("9:directory", "entry_01", "9:audit", uint(0), "abc")
	f.Add("", "x", "0:", uint(77), "")
	f.Add("5:tags", "~", "5:tags0:", uint(131), cursors.make("5:tags", "~"))
	f.Add("5:tags", "é\x00", "", uint(9), cursors.make("5:tags", "é\x00")+"\n")
	f.Add("a", "b", "b", uint(3), cursors.make("a", "b")+"=")
	f.Fuzz(func(t *testing.T, scope, position, other string, bit uint, text string) {
		cursor := cursors.make(scope, position)
		if got, ok := cursors.open(scope, cursor); position != "" && (!ok || got != position) {
			t.Fatalf("a cursor of %q at %q opens at %q, %v", scope, position, got, ok)
		}
		if _, ok := cursors.open(other, cursor); ok && other != scope {
			t.Fatalf("a cursor of %q opens as one of %q", scope, other)
		}
		if _, ok := NewCursors([]byte("another key")).open(scope, cursor); ok {
			t.Fatal("a cursor opens under another key")
		}
		flipped := []byte(cursor)
		flipped[bit/8%uint(len(flipped))] ^= 1 << (bit % 8)
		if _, ok := cursors.open(scope, string(flipped)); ok {
			t.Fatalf("%q opens with bit %d of it flipped", cursor, bit)
		}
		if got, ok := cursors.open(scope, text); ok && text != cursors.make(scope, got) {
			t.Fatalf("%q opens at %q, whose cursor is %q", text, got, cursors.make(scope, got))
		}
	})
}

func TestCursorWithAnyBitFlippedIsRefused(t *testing.T) {
	cursors := NewCursors([]byte("key"))
	cursor := cursors.make("scope", "entry_01m7ehx9x4000f1h3gypmzn0g4")
	for bit := range 8 * len(cursor) {
		flipped := []byte(cursor)
		flipped[bit/8] ^= 1 << (bit % 8)
		if position, ok := cursors.open("scope", string(flipped)); ok {
			t.Errorf("with bit %d flipped the cursor opens at %q", bit, position)
		}
	}
}

func TestScopesOfDifferentPartsDiffer(t *testing.T) {
	scopes := [][]string{{}, {""}, {"", ""}, {"a"}, {"a", ""}, {"", "a"}, {"ab"}, {"a", "b"}, {"1:a"}, {"a", "1:b"}, {"a1:b"}, {"=a"}, {"=", "a"}}
	seen := map[string][]string{}
	for _, parts := range scopes {
		text := scopeText(parts)
		if other, ok := seen[text]; ok {
			t.Errorf("%q and %q are both %q", parts, other, text)
		}
		seen[text] = parts
	}
}

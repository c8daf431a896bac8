package directory

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"bursar/internal/fault"
	"bursar/internal/web"
)

// object makes of a text what the binder hands on: a valid object without white
// space between its tokens.
func object(text []byte) (compact []byte, ok bool) {
	value := jsontext.Value(slices.Clone(text))
	if value.Kind() != '{' || !value.IsValid() || value.Compact(jsontext.PreserveRawStrings(true)) != nil {
		return nil, false
	}
	return value, true
}

// pair is a key and its value in the simplest form that can be compared.
type pair struct{ name, value string }

func pairs(f fields) []pair {
	all := []pair{}
	for _, one := range f {
		all = append(all, pair{one.name, string(one.value)})
	}
	return all
}

// merged is what merge must do, said in another way: what is known stays in its
// place with its new value, what is new comes after it, nulls are left out.
func merged(before, change []pair) []pair {
	find := func(list []pair, name string) int {
		return slices.IndexFunc(list, func(p pair) bool { return p.name == name })
	}
	after := []pair{}
	for _, p := range before {
		if i := find(change, p.name); i >= 0 {
			p = change[i]
			if p.value == "null" {
				continue
			}
		}
		after = append(after, p)
	}
	for _, p := range change {
		if find(before, p.name) < 0 && p.value != "null" {
			after = append(after, p)
		}
	}
	return after
}

// levels counts how deep a value goes by walking it.
func levels(value any) int {
	deepest := 0
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			deepest = max(deepest, levels(inner))
		}
		return deepest + 1
	case []any:
		for _, inner := range v {
			deepest = max(deepest, levels(inner))
		}
		return deepest + 1
	}
	return 0
}

func FuzzFields(f *testing.F) {
	for _, seed := range [][2]string{
		{`{}`, `{}`}, {`{"a":1}`, `{"a":null}`}, {`{"b":1,"a":2,"c":3}`, `{"c":null,"d":4,"b":{"x":null}}`}, {`{"\u0061":1}`, `{"a":2}`},
		{`{"z":1.00,"n":1e400,"i":123456789012345678901234567890}`, `{"z":-0}`}, {`{"s":"\ud83d\ude00\/\u0000<é"}`, `{"":"","s":"\\\"[{"}`},
		{` { "a" : [ 1 , { "b" : null } ] } `, `{"a":[]}`}, {`{"email":"ada@example.com","name":"\n Ada \u0000"}`, `{"email":"nope"}`},
		{`{"a":[[[[[[[[]]]]]]]]}`, `{"q":"\"}]"}`}, {`{"x":null}`, `{"x":null,"y":null}`}, {`{"first-name":"\u200b","phone":" "}`, `{"name":"` + strings.Repeat("é", 300) + `"}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		one, ok := object(first)
		two, fine := object(second)
		if !ok || !fine {
			return
		}
		before, change := parseFields(one), parseFields(two)
		if before.text() != string(one) || change.text() != string(two) {
			t.Fatalf("%s became %s, %s became %s", one, before.text(), two, change.text())
		}
		after := before.merge(change)
		if got, want := pairs(after), merged(pairs(before), pairs(change)); !slices.Equal(got, want) {
			t.Fatalf("%s and %s became %q, want %q", one, two, got, want)
		}
		if before.text() != string(one) || change.text() != string(two) {
			t.Fatalf("merging changed %s to %s or %s to %s", one, before.text(), two, change.text())
		}
		if again := parseFields([]byte(after.text())); again.text() != after.text() {
			t.Fatalf("%s became %s", after.text(), again.text())
		}
		checkLimits(t, after)
		checkLabel(t, after)
	})
}

func checkLimits(t *testing.T, f fields) {
	t.Helper()
	text := f.text()
	var value map[string]any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&value) != nil { // the other reader knows fewer levels
		return
	}
	var v fault.Violations
	f.check(&v)
	if fits := len(value) <= 64 && len(text) <= 16<<10 && levels(value) <= 8; v.Has("fields") == fits {
		t.Fatalf("%d keys, %d bytes and %d levels: %v", len(value), len(text), levels(value), v.Err())
	}
	email, isText := value["email"].(string)
	if good := value["email"] == nil || isText && web.IsEmail(email); v.Has("fields.email") == good {
		t.Fatalf("the email %v: %v", value["email"], v.Err())
	}
}

func checkLabel(t *testing.T, f fields) {
	t.Helper()
	label := deriveLabel(typePerson, "", f)
	var v fault.Violations
	web.CheckText(&v, "label", label, 1, maxName)
	if err := v.Err(); err != nil || !utf8.ValidString(label) {
		t.Fatalf("%s is labelled %q: %v", f.text(), label, err)
	}
	words := wordsOf(label, f)
	if !slices.Equal(strings.Fields(joinWords(words)), words) || !slices.IsSorted(words) || len(words) > maxWords {
		t.Fatalf("%s has the words %q", f.text(), words)
	}
	for _, word := range split(label) {
		if !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, word) }) {
			t.Fatalf("%q of the label is not among %q", word, words)
		}
	}
}

func TestDepthCountsLevelsOutsideOfTexts(t *testing.T) {
	for value, want := range map[string]int{
		`1`: 0, `"[{"`: 0, `"\"[{"`: 0, `"\\"`: 0, `[]`: 1, `{}`: 1, `[[],[[]]]`: 3, `{"[":"{"}`: 1, `{"a":[{"b":"\\"}]}`: 3, `["\\\"",[]]`: 2,
	} {
		if _, got := measure([]byte(value)); got != want {
			t.Errorf("%s has %d levels, want %d", value, got, want)
		}
	}
}

func TestWordsThatBeginAnotherAreLeftOut(t *testing.T) {
	for label, want := range map[string][]string{
		"An Anna Annabel": {"annabel"}, "b a b": {"a", "b"}, "O'Brien-Smith": {"brien", "o", "smith"}, "  ": {}, "Éa é": {"éa"}, "12.50": {"12", "50"},
	} {
		if got := wordsOf(label, nil); !slices.Equal(got, want) {
			t.Errorf("%q has the words %q, want %q", label, got, want)
		}
	}
}

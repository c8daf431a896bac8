package api

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// object returns a text as the binder hands it on: a valid object without white
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

func pairs(f Fields) []pair {
	all := []pair{}
	for _, one := range f {
		all = append(all, pair{one.Key, string(one.Value)})
	}
	return all
}

// merged is a second implementation of Merge: known keys stay in their places with
// their new values, new keys follow, nulls are left out.
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
		before, change := SplitFields(one), SplitFields(two)
		if before.String() != string(one) || change.String() != string(two) {
			t.Fatalf("%s became %s, %s became %s", one, before.String(), two, change.String())
		}
		after := before.Merge(change)
		if got, want := pairs(after), merged(pairs(before), pairs(change)); !slices.Equal(got, want) {
			t.Fatalf("%s and %s became %q, want %q", one, two, got, want)
		}
		if before.String() != string(one) || change.String() != string(two) {
			t.Fatalf("merging changed %s to %s or %s to %s", one, before.String(), two, change.String())
		}
		if parsed, err := ParseFields(first); err != nil || parsed.String() != string(one) {
			t.Fatalf("%s was parsed as %s, %v", first, parsed, err)
		}
		if again := SplitFields([]byte(after.String())); again.String() != after.String() {
			t.Fatalf("%s became %s", after.String(), again.String())
		}
		checkLimits(t, after)
	})
}

func checkLimits(t *testing.T, f Fields) {
	t.Helper()
	text := f.String()
	var value map[string]any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&value) != nil { // the other reader knows fewer levels
		return
	}
	wrong := map[string]string{}
	f.Check(func(field, rule string) { wrong[field] = rule })
	if fits := len(value) <= 64 && len(text) <= 16<<10 && levels(value) <= 8; (wrong["fields"] == "") != fits {
		t.Fatalf("%d keys, %d bytes and %d levels: %v", len(value), len(text), levels(value), wrong)
	}
	email, isText := value["email"].(string)
	if good := value["email"] == nil || isText && IsEmail(email); (wrong["fields.email"] == "") != good {
		t.Fatalf("the email %v: %v", value["email"], wrong)
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

package entryword

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"bursar/api"
	"bursar/internal/fault"
	"bursar/internal/web"
)

func FuzzLabel(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1}`, `{"z":1.00,"n":1e400}`, `{"s":"\ud83d\ude00\/\u0000<é"}`, `{"email":"ada@example.com","name":"\n Ada \u0000"}`,
		`{"a":[[{"b":"deep words"}]],"q":"\"}]"}`, `{"first-name":"\u200b","phone":" "}`, `{"name":"` + strings.Repeat("é", 300) + `"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if fields, err := api.ParseFields(text); err == nil && !api.HasHidden(Label(api.TypePerson, "", fields)) { // those are refused
			checkLabel(t, fields)
		}
	})
}

func checkLabel(t *testing.T, f api.Fields) {
	t.Helper()
	label := Label(api.TypePerson, "", f)
	var v fault.Violations
	web.CheckText(&v, "label", label, 1, api.MaxEntryName)
	if err := v.Err(); err != nil || !utf8.ValidString(label) {
		t.Fatalf("%s is labelled %q: %v", f, label, err)
	}
	words := Of(label, f)
	if !slices.Equal(strings.Fields(Join(words)), words) || !slices.IsSorted(words) || len(words) > maxWords {
		t.Fatalf("%s has the words %q", f, words)
	}
	for _, word := range Split(label) {
		if !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, word) }) {
			t.Fatalf("%q of the label is not among %q", word, words)
		}
	}
}

func TestWordsThatBeginAnotherAreLeftOut(t *testing.T) {
	for label, want := range map[string][]string{
		"An Anna Annabel": {"annabel"}, "b a b": {"a", "b"}, "O'Brien-Smith": {"brien", "o", "smith"}, "  ": {}, "Éa é": {"éa"}, "12.50": {"12", "50"},
	} {
		if got := Of(label, nil); !slices.Equal(got, want) {
			t.Errorf("%q has the words %q, want %q", label, got, want)
		}
	}
}

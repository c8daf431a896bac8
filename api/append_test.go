package api

import (
	"testing"

	"github.com/go-json-experiment/json"
)

func TestAppendedAnswersAreThoseOfTheEncoder(t *testing.T) {
	for _, text := range []string{"", "Ada", `a "quoted" \ back/slash`, "line\nbreak\x00\x1f", "<&>\u2028é漢😀"} {
		for _, answer := range []interface{ AppendJSON([]byte) []byte }{User{ID: text, Email: text, Name: text}, Created{ID: text}} {
			want, err := json.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			if got := answer.AppendJSON([]byte("x")); string(got) != "x"+string(want) {
				t.Errorf("%T of %q: %s, want %s", answer, text, got, want)
			}
		}
	}
}

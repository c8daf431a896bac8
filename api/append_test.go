package api

import (
	"testing"

	"github.com/go-json-experiment/json"
)

func TestAnAppendedUserIsThatOfTheEncoder(t *testing.T) {
	for _, text := range []string{"", "Ada", `a "quoted" \ back/slash`, "line\nbreak\x00\x1f", "<&>\u2028é漢😀"} {
		user := User{ID: text, Email: text, Name: text}
		want, err := json.Marshal(user)
		if err != nil {
			t.Fatal(err)
		}
		if got := user.AppendJSON([]byte("x")); string(got) != "x"+string(want) {
			t.Errorf("a user of %q: %s, want %s", text, got, want)
		}
	}
}

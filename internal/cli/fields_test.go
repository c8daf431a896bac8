package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/cli/term"
)

func TestFieldsAreTextOrJSON(t *testing.T) {
	for given, want := range map[string]string{
		"a=b":              `{"a":"b"}`,
		"a=":               `{"a":""}`,
		"a= b ":            `{"a":" b "}`,
		"a=b=c:=d":         `{"a":"b=c:=d"}`,
		"a=1":              `{"a":"1"}`,
		"a=<&>\u2028\"":    "{\"a\":\"<&>\u2028\\\"\"}",
		"a:=1":             `{"a":1}`,
		"a:=1.50":          `{"a":1.50}`,
		"a:=1e400":         `{"a":1e400}`,
		`a:="b"`:           `{"a":"b"}`,
		"a:=null":          `{"a":null}`,
		`a:= [1, {"b":2}]`: `{"a":[1, {"b":2}]}`,
		"first name=x":     `{"first name":"x"}`,
		"a:b=c":            `{"a:b":"c"}`,
		`a"b=c`:            `{"a\"b":"c"}`,
		"größe=ü":          `{"größe":"ü"}`,
	} {
		one, err := parseField(given)
		if err != nil {
			t.Errorf("%s: %v", given, err)
			continue
		}
		if got, _ := (api.Fields{one}).MarshalJSON(); string(got) != want {
			t.Errorf("%s makes %s, want %s", given, got, want)
		}
	}
}

func TestFieldsThatAreTypedWrong(t *testing.T) {
	for _, given := range []string{"", "a", "=", "=b", ":=1", "a:=", "a:=b", "a:=1 2", "a:={", `a:={"b":1}}`, "a=\xff", "\xff=a"} {
		if one, err := parseField(given); err == nil {
			t.Errorf("%q makes %s: %s", given, one.Key, one.Value)
		}
	}
}

func TestFieldsOfAFileKeepTheirOrder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fields.json")
	if err := os.WriteFile(file, []byte("{\"z\": 1.0, \"a\": {\"y\":1,\n\"x\":2}, \"m\": \"text\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := fieldFlags{file: file, set: []string{"a=b", "new:=true"}, remove: []string{"m", "gone"}}.list(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(list)
	if want := `{"z":1.0,"a":"b","m":null,"new":true,"gone":null}`; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

func TestNoFieldsAreNotEmptyFields(t *testing.T) {
	if list, err := (fieldFlags{}).list(nil); list != nil || err != nil {
		t.Errorf("nothing given makes %v, %v", list, err)
	}
	if list, err := (fieldFlags{file: "-"}).list(strings.NewReader("{}")); list == nil || err != nil {
		t.Errorf("an empty object makes %v, %v", list, err)
	}
}

func TestFilesThatAreNoFields(t *testing.T) {
	for _, text := range []string{"", "null", "[]", `"a"`, "{", `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1,"a":2}`, `{"a":1} x`, `{"a":1}}`, "{\"a\":\"\xff\"}"} {
		list, err := fieldFlags{file: "-"}.list(strings.NewReader(text))
		var usage term.UsageError
		if !errors.As(err, &usage) {
			t.Errorf("%q makes %v, %v", text, list, err)
		}
	}
	if _, err := (fieldFlags{file: "-"}).list(strings.NewReader(`{"a":"` + strings.Repeat("x", maxInput) + `"}`)); err == nil || !strings.Contains(err.Error(), "1 MiB") {
		t.Errorf("a large file: %v", err)
	}
}

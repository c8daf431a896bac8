package cli

import (
	"encoding/json"
	"testing"
)

func TestFieldsMakeABody(t *testing.T) {
	body := map[string]any{}
	for _, f := range [][2]string{{"a", "1"}, {"b[x]", "2"}, {"b[y][z]", "3"}, {"c[]", "4"}, {"c[]", "5"}, {"b[list][]", "6"}} {
		if err := putField(body, f[0], f[1]); err != nil {
			t.Fatalf("%s: %v", f[0], err)
		}
	}
	got, err := json.Marshal(body)
	if want := `{"a":"1","b":{"list":["6"],"x":"2","y":{"z":"3"}},"c":["4","5"]}`; err != nil || string(got) != want {
		t.Errorf("the body is %s, %v; want %s", got, err, want)
	}
	for _, name := range []string{"", "[x]", "a", "a[x]", "a[]", "b", "b[]", "c[x]", "c", "d[x", "e[x]y"} {
		if err := putField(body, name, "again"); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

func TestFieldsAreTyped(t *testing.T) {
	call := &rawCall{}
	for text, want := range map[string]string{
		"true": `true`, "null": `null`, "-12": `-12`, "1.50": `1.50`, "0": `0`,
		"007": `"007"`, "1e9": `"1e9"`, "+49": `"+49"`, "": `""`, "True": `"True"`, "Ada": `"Ada"`,
	} {
		value, err := call.typed(text)
		got, _ := json.Marshal(value)
		if err != nil || string(got) != want {
			t.Errorf("%q is %s, %v; want %s", text, got, err, want)
		}
	}
}

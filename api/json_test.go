package api

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAppendStringMakesValidJSONOfAnything(t *testing.T) {
	for _, text := range []string{"", "a", "\"\\\n\x00\u2028<é😀", strings.Repeat("x", 1000)} {
		var got string
		if err := json.Unmarshal(AppendString([]byte(nil), text), &got); err != nil || got != text {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
	if got := AppendString([]byte("x"), []byte{0xff}); !json.Valid(got[1:]) {
		t.Errorf("invalid UTF-8 became %q", got)
	}
}

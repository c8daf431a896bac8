package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendString appends a text as a JSON string. Invalid UTF-8 becomes replacement characters.
func AppendString[S ~string | ~[]byte](dst []byte, text S) []byte {
	out, err := jsontext.AppendQuote(dst, text)
	if err != nil { // only invalid UTF-8 fails
		out, _ = jsontext.AppendQuote(dst, strings.ToValidUTF8(string(text), "\uFFFD"))
	}
	return out
}

// EncodeJSON encodes a value without escaping <, > and &, which is needed only inside an HTML page.
func EncodeJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode JSON: %w", err)
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

package entryfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"bursar/api"
	"bursar/internal/directory/entryfile"
)

// texts that are hard on CSV.
func hardText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringMatching(`[a,;"\n\r\t |\\{\[0é ='+\-@]{0,6}`),
		rapid.SampledFrom([]string{"", "null", "true", "12", `{"a":1}`, "\ufeff", "\\.", "<&>", "\u2028"}))
}

func encoded(value any) json.RawMessage {
	text, _ := api.EncodeJSON(value)
	return text
}

func anyJSON() *rapid.Generator[json.RawMessage] {
	return rapid.OneOf(
		rapid.Map(hardText(), func(s string) json.RawMessage { return encoded(s) }),
		rapid.Map(hardText(), func(s string) json.RawMessage { return encoded(map[string]any{"k": []string{s}}) }),
		rapid.Map(rapid.SampledFrom([]string{"null", "true", "1.50", "1e400", "[]", "{}", "12345678901234567890"}),
			func(s string) json.RawMessage { return json.RawMessage(s) }),
	)
}

func entries(t *rapid.T) (out []*api.Entry) {
	keys := []string{"email-2", "name", "Notes", "fields.x", "json.x", " padded ", "", "a,b", "two\nlines", "id", "=1"}
	for i := range rapid.IntRange(1, 5).Draw(t, "entries") {
		e := &api.Entry{ID: fmt.Sprint("entry_", i), Type: "person", Label: "Ada, \"the\" first", Status: "active", Fields: api.Fields{}}
		e.Name = rapid.SampledFrom([]string{"", "Ada", " Ada;", "=1+1", "'Neill", "'@Ada"}).Draw(t, "name")
		e.Tags = rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b|c", `d\`, "e f", "-g", "'+h"}), 0, 3).Draw(t, "tags")
		for _, key := range keys {
			if rapid.Bool().Draw(t, "has") {
				e.Fields.Set(api.Field{Key: key, Value: anyJSON().Draw(t, "value")})
			}
		}
		out = append(out, e)
	}
	return out
}

func writeFile(t *rapid.T, format string, raw bool, list []*api.Entry) []byte {
	var file bytes.Buffer
	w := entryfile.NewNDJSONWriter(&file)
	if format == entryfile.CSV {
		columns := entryfile.NewColumns(nil)
		for _, e := range list {
			if err := columns.Add(e.Fields); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if w, err = entryfile.NewCSVWriter(&file, columns, ',', raw, false); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range list {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func compare(t *rapid.T, e *api.Entry, row *entryfile.Row) {
	sorted := func(list api.Fields) (out []string) {
		for _, one := range list {
			out = append(out, one.Key+"="+one.Display())
		}
		slices.Sort(out)
		return out
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	want := []any{e.ID, e.Type, e.Label, e.Name, e.Status, strings.Join(e.Tags, "\n"), sorted(e.Fields)}
	got := []any{row.ID, row.Type, text(row.Label), text(row.Name), text(row.Status), strings.Join(row.Tags, "\n"), sorted(row.Fields)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

// Every row comes back, also if the reader is made again between any two of them, as after a
// restart.
func TestWhatIsWrittenIsReadFromAnyRowOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, raw := entries(t), rapid.Bool().Draw(t, "raw")
		for _, format := range entryfile.Formats() {
			file := writeFile(t, format, raw, want)
			o := entryfile.Options{Format: format, Raw: raw, IDs: true}
			at := entryfile.Position{}
			for i := 0; ; i++ {
				r, err := entryfile.Open(bytes.NewReader(file), o)
				if err != nil {
					t.Fatalf("%v\n%s", err, file)
				}
				if i > 0 {
					r.Resume(bytes.NewReader(file[at.Offset:]), at)
				}
				row, err := r.Next()
				if errors.Is(err, io.EOF) && i == len(want) {
					break
				}
				if err != nil || row.Problem != "" || i >= len(want) {
					t.Fatalf("%v %+v\n%s", err, row, file)
				}
				compare(t, want[i], row)
				at = r.Position()
			}
		}
	})
}

func TestLinesKeepTheirNumbersAfterARestart(t *testing.T) {
	file := "type,name\n\nperson,\"A\nda\"\n\nperson,Bob,x\nperson,C\"c\n"
	for begun := range 3 {
		r, err := entryfile.Open(strings.NewReader(file), entryfile.Options{Format: entryfile.CSV})
		var lines []int
		for i := 0; err == nil; i++ {
			if i == begun && i > 0 {
				at := r.Position()
				r.Resume(strings.NewReader(file[at.Offset:]), at)
			}
			var row *entryfile.Row
			if row, err = r.Next(); err == nil {
				lines = append(lines, row.Line)
			}
		}
		if !slices.Equal(lines, []int{3, 6, 7}) || !errors.Is(err, io.EOF) {
			t.Errorf("begun anew before row %d, the lines are %v, %v", begun, lines, err)
		}
	}
}

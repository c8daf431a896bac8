package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// rowsIn reads a file from beginning to end: what each row would send, or why not.
func rowsIn(t *testing.T, name, text string, flags importFlags) ([]string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	terminal, _, _ := pipes()
	flags.parallel = 1
	in, err := flags.file(&remote{terminal: terminal}, file)
	if err != nil {
		return nil, err
	}
	reader, closer, err := in.open(t.Context(), "ws_1")
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	var out []string
	for row, err := range rowsOf(reader, name) {
		if err != nil {
			return out, err
		}
		if problem := row.check(); problem != "" {
			out = append(out, strings.TrimSpace(row.id+" refused: "+problem))
			continue
		}
		text := string(encoded(row.create("")))
		if row.id != "" {
			text = row.id + " " + text
		}
		if row.Status != nil {
			text += " " + *row.Status
		}
		out = append(out, text)
	}
	return out, nil
}

func TestFilesAreReadInEveryForm(t *testing.T) {
	ada := `{"workspace_id":"","type":"person","fields":{"email":"ada@example.com","age":36},"name":"Ada","tags":["a","b"]}`
	for name, test := range map[string]struct {
		file, text string
		flags      importFlags
	}{
		"commas":           {file: "a.csv", text: "type,name,email,json.age,tags\nperson,Ada,ada@example.com,36,a|b\n"},
		"semicolons":       {file: "a.csv", text: "type;name;email;json.age;tags\nperson;Ada;ada@example.com;36;a|b"},
		"tabs":             {file: "a.txt", text: "type\tname\temail\tjson.age\ttags\nperson\tAda\tada@example.com\t36\ta|b"},
		"a tsv":            {file: "a.tsv", text: "type\tname\temail\tjson.age\ttags\nperson\tAda\tada@example.com\t36\ta|b"},
		"a delimiter":      {file: "a.csv", text: "type:name:email:json.age:tags\nperson:Ada:ada@example.com:36:a|b", flags: importFlags{delimiter: ":"}},
		"a mark":           {file: "a.csv", text: "\xef\xbb\xbftype,name,email,json.age,tags\r\nperson,Ada,ada@example.com,36,a|b\r\n"},
		"empty lines":      {file: "a.csv", text: "\ntype,name,email,json.age,tags\n\n\nperson,Ada,ada@example.com,36,a|b\n\n"},
		"quoted commas":    {file: "a.csv", text: "type;\"name\";email;json.age;tags;\",,,,,,,\"\nperson;Ada;ada@example.com;36;a|b;", flags: importFlags{mapping: []string{",,,,,,,="}}},
		"a default type":   {file: "a.csv", text: "Name,E-Mail,json.age,tags\nAda,ada@example.com,36,a|b", flags: importFlags{kind: "person"}},
		"a mapping":        {file: "a.csv", text: "Who,Mail,Years,Groups,X\nAda,ada@example.com,36,a|b,x", flags: importFlags{kind: "person", mapping: []string{"who=name", "Mail=email", "Years=json.age", "Groups=tags", "X="}}},
		"unnamed columns":  {file: "a.csv", text: "type,name,email,json.age,tags,,\nperson,Ada,ada@example.com,36,a|b,, \n"},
		"ndjson":           {file: "a.ndjson", text: "\n" + `{"type":"person","name":"Ada","tags":["a","b"],"fields":{"email":"ada@example.com","age":36}}` + "\r\n\n"},
		"ndjson by its {":  {file: "a.txt", text: ` {"type":"person","name":"Ada","tags":["a"," b "],"fields":{"email":"ada@example.com","age":36}}`},
		"ndjson by flag":   {file: "a.csv", text: `{"type":"person","name":"Ada","tags":["a","b"],"fields":{"email":"ada@example.com","age":36}}`, flags: importFlags{format: "ndjson"}},
		"what the API has": {file: "a.jsonl", text: `{"workspace_id":"ws_1","type":"person","name":"Ada","label":null,"tags":["a","b"],"fields":{"email":"ada@example.com","age":36},"created_at":1,"updated_at":2,"receiving_methods":[]}`},
		"ndjson mapped":    {file: "a.json", text: `{"who":"Ada","tags":["a","b"],"mail":"ada@example.com","years":36,"junk":1}`, flags: importFlags{kind: "person", mapping: []string{"who=name", "mail=email", "years=json.age", "junk="}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := rowsIn(t, test.file, test.text, test.flags)
			if err != nil || len(got) != 1 || got[0] != ada {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestLinesThatCannotBeImportedSayWhy(t *testing.T) {
	got, err := rowsIn(t, "a.csv", strings.Join([]string{
		"id,type,name,email,json.x,status,tags,",
		`entry_1,,Ada,,,inactive,|,`,
		`entry_1,,Ada,,,,,`,
		`,,Ada,,,,,`,
		`,starship,Ada,,,,,`,
		`,person,Ada,nobody,,asleep,,`,
		`,person,Ada,,{x},,,`,
		`,person,Ada,,,,,lost`,
		`,person,Ada`,
		`,person,A"da,,,,,`,
		",person,\xff,,,,,",
		`,person,` + strings.Repeat("x", 201) + `,,,,,`,
		`,person,Ada,,,,` + strings.Repeat("x", 65) + `,`,
		`,person,Ada,,"""` + strings.Repeat("x", 17000) + `""",,,`,
		`,person,Ada,,[[[[[[[[]]]]]]]],,,`,
		`,person,Ada,,,,,`,
	}, "\n"), importFlags{})
	want := []string{
		`entry_1 {"workspace_id":"","type":"","fields":{},"name":"Ada"} inactive`,
		"entry_1 refused: has the id entry_1, as a line before",
		"refused: type is missing: fill the column, or give --type",
		"refused: type must be one of person, organization",
		"refused: fields.email must be an email address; status must be one of active, inactive",
		"refused: json.x must be JSON",
		`refused: has "lost" in a column without a header`,
		"refused: has 3 columns, and the header has 8",
		`refused: is not CSV: bare " in non-quoted-field`,
		"refused: is not UTF-8: save the file as UTF-8",
		"refused: name must be 1 to 200 characters",
		"refused: tags must be 1 to 64 characters",
		"refused: fields must be at most 16384 bytes of JSON",
		"refused: fields must be at most 8 levels deep",
		`{"workspace_id":"","type":"person","fields":{},"name":"Ada"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	got, err = rowsIn(t, "a.ndjson", strings.Join([]string{
		`{"type":"person","nmae":"Ada"}`, `{"type":"person","type":"person"}`, `{"type":1}`, `[1]`, `nothing`,
		`{"type":"person","fields":{"email":1}}`, `{"type":"person","workspace_id":"ws_2"}`, `{"type":"person","receiving_methods":[{}]}`,
		`{"type":"person","fields":[]}`, `{"type":"person","name":"Ada","refused.line":7,"refused.reason":"why"}`, `{"type":"person"}`,
	}, "\n"), importFlags{})
	for i, part := range []string{`unknown key "nmae"`, "more than once", "wrong type", "cannot be read", "cannot be read", "fields.email", "another workspace", "receiving methods", "fields: ", `"type":"person"`, "does not say who"} {
		if i >= len(got) || !strings.Contains(got[i], part) {
			t.Errorf("line %d has no %q in %q, %v", i+1, part, got, err)
		}
	}
}

func TestFilesThatCannotBeImportedSayWhy(t *testing.T) {
	for name, test := range map[string]struct {
		file, text, want string
		flags            importFlags
	}{
		"empty":          {"a.csv", "", "is empty", importFlags{}},
		"UTF-16":         {"a.csv", "\xff\xfet\x00", "UTF-16", importFlags{}},
		"no header":      {"a.csv", "Ada,ada@example.com\n", "must name the columns", importFlags{kind: "person"}},
		"no type":        {"a.csv", "name\nAda\n", "--type", importFlags{}},
		"twice":          {"a.csv", "type,email,E-mail\n", "both mean fields.email", importFlags{}},
		"text and JSON":  {"a.csv", "type,fields.a,json.a\n", "both mean fields.a", importFlags{}},
		"wrong map":      {"a.csv", "type,name\n", "there are only: type, name", importFlags{mapping: []string{"Nmae=name"}}},
		"no map":         {"a.csv", "type,name\n", "HEADER=COLUMN", importFlags{mapping: []string{"name"}}},
		"an array":       {"a.json", `[{"type":"person"}]`, "jq -c", importFlags{}},
		"an open quote":  {"a.csv", "type,name\nperson,\"Ada\n" + strings.Repeat("person,Ada\n", 200_000), "a quote is not closed", importFlags{}},
		"a long line":    {"a.ndjson", `{"a":"` + strings.Repeat("x", 2<<20), "larger than 1 MiB", importFlags{}},
		"a bad format":   {"a.csv", "", "--format", importFlags{format: "xml"}},
		"a bad type":     {"a.csv", "", "--type", importFlags{kind: "ship"}},
		"two delimiters": {"a.csv", "", "--delimiter", importFlags{delimiter: ",,"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := rowsIn(t, test.file, test.text, test.flags)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestHeadersMeanColumns(t *testing.T) {
	for header, want := range map[string]string{
		"id": "id", " ID ": "id", "Type": "type", "NAME": "name", "tags": "tags", "": "?", " ": "?",
		"E-Mail": "fields.email", "First Name": "fields.first-name", "last_name": "fields.last-name", "Phone": "fields.phone",
		"Notes": "fields.Notes", "fields.Email": "fields.Email", "fields.name": "fields.name", "fields. x ": "fields. x ", "fields.": "fields.",
		"json.age": "json.age", "refused.line": "", "refused.reason": "",
	} {
		if got := columnOf(header); string(got.to)+got.key != want {
			t.Errorf("%q means %s%s, want %s", header, got.to, got.key, want)
		}
	}
}

func TestTagsComeBackFromACell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tags := rapid.SliceOfN(rapid.StringMatching(`[a|\\é]([a |\\é]{0,4}[a|\\é])?`), 1, 4).Draw(t, "tags")
		if diff := cmp.Diff(tags, splitTags(joinTags(tags))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	for cell, want := range map[string]int{"|": 0, " | ": 0, "a||b": 2, `C:\x`: 1} {
		if got := splitTags(cell); len(got) != want || got == nil {
			t.Errorf("%q holds %q", cell, got)
		}
	}
}

func TestLinesOfAPipeAreReadAsTheyCome(t *testing.T) {
	for format, lines := range map[string][]string{formatCSV: {"type;name\n", "person;Ada\n"}, formatNDJSON: {"", `{"type":"person","name":"Ada"}` + "\n"}} {
		from, to := io.Pipe()
		go func() {
			for _, line := range lines {
				_, _ = io.WriteString(to, line) // fails once the test has ended
			}
		}()
		in := &importFile{name: "-", stdin: from}
		reader, closer, err := in.open(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		row, err := reader.next()
		if err != nil || row.Name == nil || *row.Name != "Ada" {
			t.Errorf("%s: %+v, %v", format, row, err)
		}
		_ = closer.Close()
		_ = from.Close()
	}
}

func TestAReaderGivesUpWithItsContext(t *testing.T) {
	never, _ := io.Pipe()
	ctx, cancel := contextOf(t)
	r := newPatientReader(ctx, never)
	cancel()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, ctx.Err()) {
		t.Errorf("got %v", err)
	}
	whole, err := io.ReadAll(newPatientReader(t.Context(), strings.NewReader("a text")))
	if string(whole) != "a text" || err != nil {
		t.Errorf("%q, %v", whole, err)
	}
}

package term

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/mattn/go-runewidth"
	"pgregory.net/rapid"
)

// strangeTexts are what strangers call themselves.
var strangeTexts = rapid.OneOf(
	rapid.StringMatching(`[a-zA-Z0-9@._-]{0,60}`),
	rapid.String(),
	rapid.SampledFrom([]string{"日本語の長い名前です", "👩‍👩‍👧‍👦 family", "e\u0301le\u0300ve", "\x1b[31mred\x1b[0m", "one\ntwo\tthree\r", "\u202egnp.exe", "a\xffb", "\u009b2J", "…………………………"}),
)

// TestTableFitsTheScreen holds for whatever strangers write: lines that fit, as
// many as there are rows, with nothing in them that moves the cursor.
func TestTableFitsTheScreen(t *testing.T) {
	s := newScreen(t, 80, "LANG", "C.UTF-8", "NO_COLOR", "1")
	ascii := newScreen(t, 80, "LANG", "C", "NO_COLOR", "1")
	rapid.Check(t, func(t *rapid.T) {
		rows := &Table{Columns: []string{"id", "label", "email", "status"}}
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			rows.Add(strangeTexts.Draw(t, "id"), strangeTexts.Draw(t, "label"), strangeTexts.Draw(t, "email"), strangeTexts.Draw(t, "status"))
		}
		for _, terminal := range []Terminal{s.Terminal, ascii.Terminal} {
			var out strings.Builder
			if err := rows.print(terminal, &out, false); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if len(lines) != len(rows.rows)+1 {
				t.Fatalf("%d rows are %d lines:\n%s", len(rows.rows), len(lines)-1, out.String())
			}
			for _, line := range lines {
				if width := runewidth.StringWidth(line); width > 80 {
					t.Fatalf("a line is %d columns wide: %q", width, line)
				}
				if strings.ContainsFunc(line, unicode.IsControl) {
					t.Fatalf("a line moves the cursor: %q", line)
				}
				if !terminal.Unicode() && strings.ContainsFunc(line, func(r rune) bool { return r > '~' }) {
					t.Fatalf("a line is not ASCII: %q", line)
				}
			}
		}
	})
}

func TestNarrowTableStaysReadable(t *testing.T) {
	s := newScreen(t, 10, "LANG", "C.UTF-8", "NO_COLOR", "1")
	rows := &Table{Columns: []string{"name", "email"}}
	rows.Add("Ada Lovelace", "ada.lovelace@example.com")
	var out strings.Builder
	if err := rows.print(s.Terminal, &out, false); err != nil {
		t.Fatal(err)
	}
	if want := "NAME      EMAIL\nAda Lov…  ada.lov…\n"; out.String() != want {
		t.Errorf("the table is\n%s", out.String())
	}
}

func TestPipeGetsRowsUncut(t *testing.T) {
	terminal, out, errs := pipes("LANG", "C")
	rows := &Table{Columns: []string{"name", "email"}, Empty: "There is nobody."}
	long := strings.Repeat("é", 500)
	rows.Add(long, "with\ttab\nand line")
	if err := (Format{}).WriteTable(terminal, nil, rows); err != nil {
		t.Fatal(err)
	}
	if want := long + "\twith tab and line\n"; out.String() != want {
		t.Errorf("the pipe gets %q", out.String())
	}
	out.Reset()
	if err := (Format{}).WriteTable(terminal, nil, &Table{Empty: "There is nobody."}); err != nil || out.Len() != 0 || errs.String() != "There is nobody.\n" {
		t.Errorf("an empty list: %q, %q, %v", out, errs, err)
	}
}

func TestEmptyListsAreStillListsForPrograms(t *testing.T) {
	terminal, out, errs := pipes()
	rows := &Table{Columns: []string{"name"}, Empty: "There is nobody."}
	for want, f := range map[string]Format{"[]\n": {JSON: true}, "name\n": {CSV: true}, "0\n": {JQ: compiled(t, "length")}} {
		out.Reset()
		if err := f.WriteTable(terminal, []string{}, rows); err != nil || out.String() != want || errs.Len() != 0 {
			t.Errorf("got %q, %q, %v", out, errs, err)
		}
	}
}

func TestJQKeepsEveryDigit(t *testing.T) {
	terminal, out, _ := pipes()
	value := json.RawMessage(`{"big":12345678901234567890,"cents":0.1,"html":"<a & b>","ms":1700000000000}`)
	for expression, want := range map[string]string{
		".big":      "12345678901234567890\n",
		".cents":    "0.1\n",
		".ms":       "1700000000000\n",
		".html":     "<a & b>\n",
		"[.html]":   `["<a & b>"]` + "\n",
		".none":     "null\n",
		".big, .ms": "12345678901234567890\n1700000000000\n",
	} {
		out.Reset()
		if err := (Format{JQ: compiled(t, expression)}).Write(terminal, value, nil); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v", expression, out, err)
		}
	}
	out.Reset()
	if err := (Format{JSON: true}).Write(terminal, value, nil); err != nil || out.String() != string(value)+"\n" {
		t.Errorf("JSON: %q, %v", out, err)
	}
}

func TestAnExpressionThatDoesNotCompileIsAUsageError(t *testing.T) {
	var usage UsageError
	for _, expression := range []string{".[", "frobnicate", "$x"} {
		if _, err := CompileJQ(expression); !errors.As(err, &usage) || !strings.Contains(err.Error(), "--jq") {
			t.Errorf("%s: %v", expression, err)
		}
	}
}

func TestAnExpressionThatFailsIsNoUsageError(t *testing.T) {
	terminal, _, _ := pipes()
	var usage UsageError
	for _, expression := range []string{`error("no")`, ".a.b"} {
		err := compiled(t, expression).Write(terminal, map[string]any{"a": 1})
		if err == nil || errors.As(err, &usage) || !strings.Contains(err.Error(), "--jq") {
			t.Errorf("%s: %v", expression, err)
		}
	}
}

func compiled(t *testing.T, expression string) *JQ {
	t.Helper()
	q, err := CompileJQ(expression)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestJQSeesNoSecrets: expressions are pasted from strangers.
func TestJQSeesNoSecrets(t *testing.T) {
	const secret = "bk_00000000000000000000000000000000000a"
	t.Setenv("BURSAR_API_KEY", secret)
	terminal, out, _ := pipes("BURSAR_API_KEY", secret)
	for _, expression := range []string{"env", "$ENV", "input_filename"} {
		if q, err := CompileJQ(expression); err == nil {
			_ = q.Write(terminal, map[string]any{})
		}
	}
	if strings.Contains(out.String(), secret) {
		t.Errorf("an expression reads the environment: %s", out)
	}
}

func TestPairsAreAligned(t *testing.T) {
	terminal, out, _ := pipes()
	if err := WritePairs(terminal, out, "Name", "Ada\x1b[2J\nLovelace", "Größe", "", "Id", "usr_1"); err != nil {
		t.Fatal(err)
	}
	if want := "Name   Ada[2J Lovelace\nGröße\nId     usr_1\n"; out.String() != want {
		t.Errorf("got %q", out)
	}
	s := newScreen(t, 80, "LANG", "C")
	var shown strings.Builder
	if err := WritePairs(s.Terminal, &shown, "Name", "Zoë"); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b[1mName  \x1b[0mZo?\n"; shown.String() != want {
		t.Errorf("got %q", shown.String())
	}
}

// TestResultThatCannotBeWrittenIsAnError: a full disk must not look like success.
func TestResultThatCannotBeWrittenIsAnError(t *testing.T) {
	terminal, _, _ := pipes()
	terminal.Out = fullDisk{}
	rows := &Table{Columns: []string{"name"}}
	rows.Add("Ada")
	for name, f := range map[string]Format{"table": {}, "json": {JSON: true}, "csv": {CSV: true}, "jq": {JQ: compiled(t, ".[]")}} {
		if err := f.WriteTable(terminal, []string{"Ada"}, rows); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

var errFull = errors.New("no space left on device")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

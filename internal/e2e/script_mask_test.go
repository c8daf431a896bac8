package e2e_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

// masks are what differs from one run to the next, and what stands for it.
var masks = []struct {
	what *regexp.Regexp
	by   string
}{
	{regexp.MustCompile("\x1b"), "ESC"},
	{regexp.MustCompile(`bursar admin \([^)]*\)`), "bursar admin (USER)"}, // who runs the tests
	{regexp.MustCompile(`,\s*"seq": ?\d+`), ""},                           // an entry of the log gets its place a moment after it was written
	{regexp.MustCompile(`eyJ[\w-]+\.[\w-]+\.[\w-]+`), "TOKEN"},
	{apiKey, "bk_KEY"},
	{regexp.MustCompile(`\bbk_[0-9A-Za-z]{2,12}(…|\.\.\.)`), "bk_KEY…"},
	{regexp.MustCompile(`\bbcs_[0-9A-Za-z]{20,}`), "bcs_SECRET"},
	{regexp.MustCompile(`\b([a-z]{2,6})_[0-9a-hjkmnp-tv-z]{26}\b`), "${1}_ID"},
	{regexp.MustCompile(`\b([a-z]{2,6})_(…|\.\.\.)[0-9a-hjkmnp-tv-z]{6}\b`), "${1}_${2}ID"},
	{regexp.MustCompile(`\b(SIM)?[0-9A-HJKMNP-TV-Z]{26}A\d+\b`), "${1}END_TO_END"}, // a payout at the rail
	{regexp.MustCompile(`\bidentity [A-Z2-7]{26}\b`), "identity IDENTITY"},         // of a folder
	{regexp.MustCompile(`"cursor":( ?)"[^"]+"`), `"cursor":$1"CURSOR"`},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "UUID"},
	{regexp.MustCompile(`\bbursar/\d[\w.+-]*`), "bursar/VERSION"},
	{regexp.MustCompile(`\b(just now|(\d+|an?|one) (second|minute|hour)s? ago)\b`), "AGO"},
	{regexp.MustCompile(`\b(\d+h)?\d+m\d+s\b`), "DURATION"},
}

var (
	millis   = regexp.MustCompile(`\b1[0-9]{12}\b`)
	dateTime = regexp.MustCompile(`\b(\d{4}-\d\d-\d\d)([T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?(UTC|Z)\b|[+-]\d\d:\d\d)?)?`)
)

// mask replaces ids (their prefix stays: entry_ID), secrets, request ids, the
// addresses of servers (URL, HOST; NAME_URL of others), the work folder and times
// that are near now.
func (s *stage) mask(ts *testscript.TestScript, text string) string {
	for _, name := range slices.Sorted(maps.Keys(s.servers)) {
		prefix := name
		if name != "" {
			prefix += "_"
		}
		text = strings.ReplaceAll(text, s.servers[name].URL, prefix+"URL")
		text = strings.ReplaceAll(text, s.servers[name].host(), prefix+"HOST")
	}
	text = strings.ReplaceAll(text, ts.Getenv("WORK"), "WORK")
	for _, m := range masks {
		text = m.what.ReplaceAllString(text, m.by)
	}
	text = millis.ReplaceAllStringFunc(text, func(found string) string { return maskTime(found, "TIME", asMillis) })
	return dateTime.ReplaceAllStringFunc(text, func(found string) string {
		mask := "TIME"
		if len(found) == len(time.DateOnly) {
			mask = "DATE"
		}
		return maskTime(found, mask, func(found string) (time.Time, error) { return time.Parse(time.DateOnly, found[:len(time.DateOnly)]) })
	})
}

// maskTime masks a time of the last or the next two years: others are data.
func maskTime(found, mask string, parse func(string) (time.Time, error)) string {
	at, err := parse(found)
	if err != nil || time.Since(at).Abs() > 2*365*24*time.Hour {
		return found
	}
	return mask
}

func asMillis(text string) (time.Time, error) {
	var n int64
	for _, digit := range text {
		n = n*10 + int64(digit-'0')
	}
	return time.UnixMilli(n), nil
}

func cmdCompareMasked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cmpmasked ACTUAL FILE")
	}
	s := stageOf(ts)
	got, golden := s.mask(ts, ts.ReadFile(args[0])), args[1]
	want, err := os.ReadFile(ts.MkAbs(golden))
	if err == nil && string(want) == got {
		return
	}
	if *update {
		if before, done := s.goldens[golden]; done && before != got {
			ts.Fatalf("%s cannot be both:\n%s\n%s", golden, before, got)
		}
		s.goldens[golden] = got
		return
	}
	ts.Check(err)
	ts.Fatalf("%s is not as in %s (-want +got):\n%s", args[0], golden, cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")))
}

// writeGoldens puts masked output into the archive.
func (s *stage) writeGoldens(file string) {
	if len(s.goldens) == 0 {
		return
	}
	archive, err := txtar.ParseFile(file)
	if err != nil {
		s.t.Errorf("read the script: %v", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.goldens)) {
		at := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == name })
		if at < 0 {
			at = len(archive.Files)
			archive.Files = append(archive.Files, txtar.File{Name: name})
		}
		archive.Files[at].Data = []byte(s.goldens[name])
	}
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		s.t.Errorf("update the script: %v", err)
	}
}

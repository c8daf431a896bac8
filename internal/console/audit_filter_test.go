package console

import (
	"net/url"
	"testing"
	"time"
)

func TestFilterTimesAreInTheReadersZone(t *testing.T) {
	t.Parallel()
	manila, err := time.LoadLocation("Asia/Manila")
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2025, 11, 15, 12, 0, 0, 0, time.UTC)
	at := func(text string) int64 {
		when, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return when.UnixMilli()
	}
	for text, want := range map[string]struct {
		shown       string
		first, last int64
	}{
		"2025-11-12T09:30":    {"2025-11-12T09:30", at("2025-11-12T01:30:00Z"), at("2025-11-12T01:30:59.999Z")},
		"2025-11-12T09:30:15": {"2025-11-12T09:30:15", at("2025-11-12T01:30:15Z"), at("2025-11-12T01:30:15.999Z")},
		"2025-11-12":          {"2025-11-12T00:00", at("2025-11-11T16:00:00Z"), at("2025-11-12T15:59:59.999Z")},
		"1762911000000":       {"2025-11-12T09:30:00", 1762911000000, 1762911000000},
	} {
		f := readFilter(url.Values{"from": {text}, "to": {text}}, noon.In(manila))
		if f.From != want.shown || f.from != want.first || f.to != want.last || len(f.problems.Fields) > 0 {
			t.Errorf("%s is read as %+v, want %+v", text, f, want)
		}
	}
	for _, text := range []string{"yesterday", "2025-13-01", "-5", "99999999999999999", "2025-11-12T25:00"} {
		if f := readFilter(url.Values{"to": {text}}, noon.In(manila)); f.problems.Fields["to"] == "" || f.To != text {
			t.Errorf("%s is read as %+v", text, f)
		}
	}
	if f := readFilter(url.Values{"from": {"2025-11-13"}, "to": {"2025-11-12"}}, noon.In(manila)); f.problems.Fields["to"] == "" {
		t.Error("an end before the beginning is taken")
	}
}

func TestPeriodsBeginAtMidnightOfTheReader(t *testing.T) {
	t.Parallel()
	manila, err := time.LoadLocation("Asia/Manila")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2025, 11, 15, 1, 30, 0, 0, manila) // in UTC it is still 14 November
	for period, first := range map[string]time.Time{
		"today": time.Date(2025, 11, 15, 0, 0, 0, 0, manila),
		"7d":    time.Date(2025, 11, 9, 0, 0, 0, 0, manila),
		"30d":   time.Date(2025, 10, 17, 0, 0, 0, 0, manila),
	} {
		f := readFilter(url.Values{"period": {period}, "from": {"2025-01-01"}, "to": {"2025-01-02"}}, now)
		if f.from != first.UnixMilli() || f.to != 0 || f.From+f.To != "" || !f.Narrow() {
			t.Errorf("%s is read as %+v, want it to begin at %s", period, f, first)
		}
		if got := f.address("/audit"); got != "/audit?period="+period {
			t.Errorf("the address of %s is %s", period, got)
		}
	}
	if f := readFilter(url.Values{"period": {"custom"}}, now); f.Narrow() || f.Period != "custom" {
		t.Errorf("a custom period without times is read as %+v", f)
	}
	if f := readFilter(url.Values{"period": {"someday"}}, now); f.Narrow() || f.Period != "" {
		t.Errorf("an unknown period is read as %+v", f)
	}
	if f := readFilter(url.Values{"from": {"2025-11-12"}}, now); f.Period != "custom" {
		t.Errorf("a link with a time is read as %+v", f)
	}
}

func TestAuditFilterSurvivesItsURL(t *testing.T) {
	t.Parallel()
	noon := time.Date(2025, 11, 15, 12, 0, 0, 0, time.UTC)
	given := url.Values{
		"scope": {"organization"}, "actor": {"usr_1"}, "action": {"iam.role.created"}, "resource_type": {"role"}, "resource_id": {"a b&c"},
		"outcome": {"denied"}, "period": {"custom"}, "from": {"2025-11-12T09:30"}, "to": {"2025-11-13T09:30"},
	}
	address, err := url.Parse(readFilter(given, noon).address("/x", "cursor", "c+d"))
	if err != nil {
		t.Fatal(err)
	}
	got := address.Query()
	if got.Get("cursor") != "c+d" {
		t.Errorf("the cursor is %q", got.Get("cursor"))
	}
	got.Del("cursor")
	if got.Encode() != given.Encode() {
		t.Errorf("%v became %v", given, got)
	}
	if f := readFilter(url.Values{"scope": {"own"}, "actor": {"x"}}, noon); f.Narrow() || f.Scope != scopeOwn {
		t.Errorf("one's own activity is read as %+v", f)
	}
	if f := readFilter(url.Values{"actor": {"usr_1"}, "actor_id": {" cli_2 "}}, noon); f.Actor != "cli_2" {
		t.Errorf("the actor that was typed is read as %+v", f)
	}
}

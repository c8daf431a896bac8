package audit_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/audit"
)

func TestOnlyWhatDiffersIsAChange(t *testing.T) {
	fields := func(text string) api.Fields { return api.SplitFields([]byte(text)) }
	for name, c := range map[string]struct {
		add  func(changes *audit.Changes)
		want []string
	}{
		"a text":      {func(c *audit.Changes) { c.Add("label", "Ada", "Ada Lovelace") }, []string{`label "Ada" "Ada Lovelace"`}},
		"the same":    {func(c *audit.Changes) { c.Add("same", []string{"a", "b"}, []string{"a", "b"}) }, []string{}},
		"something":   {func(c *audit.Changes) { c.Add("added", nil, 3) }, []string{`added null 3`}},
		"empty texts": {func(c *audit.Changes) { c.Add("name", "", "Ada") }, []string{`name null "Ada"`}},
		"no number":   {func(c *audit.Changes) { c.Add("end", 0, 7); c.Add("end", int64(7), int64(0)) }, []string{`end null 7`, `end 7 null`}},
		"a switch":    {func(c *audit.Changes) { c.Add("on", false, true) }, []string{`on false true`}},
		"nothing":     {func(c *audit.Changes) { c.Add("none", "", nil); c.Add("none", 0, nil) }, []string{}},
		"items": {func(c *audit.Changes) { c.AddItems("roles", []string{"a", "b"}, []string{"c", "b"}) },
			[]string{`roles "a" null`, `roles null "c"`}},
		"fields": {func(c *audit.Changes) {
			c.AddFields(fields(`{"a":1,"b":"","c":"\u0041","d":[]}`), fields(`{"a":1.0,"b":null,"c":"A","e":{"x":2}}`))
		}, []string{`fields.a 1 1.0`, `fields.b "" null`, `fields.c "\u0041" "A"`, `fields.d [] null`, `fields.e null {"x":2}`}},
		"an account number": {func(c *audit.Changes) {
			c.AddMasked("account", "001234567890", "991234567890")
			c.AddMasked("account", "001234567890", "001234567890")
			c.AddMasked("account", "", "1")
		}, []string{`account "•••• 7890" "•••• 7890"`, `account null "••••"`}},
		"a secret": {func(c *audit.Changes) { c.AddSecret("secret") }, []string{`secret "••••" "••••"`}},
	} {
		t.Run(name, func(t *testing.T) {
			var changes audit.Changes
			c.add(&changes)
			got := []string{}
			for _, c := range changes {
				got = append(got, c.Field+" "+string(c.Before)+" "+string(c.After))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALongValueIsShownByItsStartLengthAndDigest(t *testing.T) {
	long := strings.Repeat("é", 200)
	var changes audit.Changes
	changes.Add("note", long, nil)
	digest := sha256.Sum256([]byte(long))
	want := `{"start":"` + strings.Repeat("é", 32) + `","length":400,"sha256":"` + hex.EncodeToString(digest[:]) + `"}`
	if got := string(changes[0].Before); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestARowHasABoundedNumberOfChanges(t *testing.T) {
	var changes audit.Changes
	for i := range 1000 {
		changes.Add("field", i, nil)
	}
	if len(changes) != 200 {
		t.Errorf("a row has %d changes", len(changes))
	}
}

func TestMaskedNumbersShowFourDigitsOfAtLeastEight(t *testing.T) {
	for number, want := range map[string]string{"001234567890": "•••• 7890", "12345678": "•••• 5678", "1234567": "••••", "1234-567": "••••", "": "••••",
		"DE89 3704 0044 0532 0130 00": "•••• 3000",
		audit.LostNumber:              "•••• (lost)"} {
		if got := audit.Mask(number); got != want {
			t.Errorf("%q is shown as %q, want %q", number, got, want)
		}
	}
}

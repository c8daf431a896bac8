package audit_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/audit"
)

func TestOnlyWhatDiffersIsAChange(t *testing.T) {
	var changes audit.Changes
	changes.Add("same", []string{"a", "b"}, []string{"a", "b"})
	changes.Add("label", "Ada", "Ada Lovelace")
	changes.Add("added", nil, 3)
	got := []string{}
	for _, c := range changes {
		got = append(got, c.Field+" "+string(c.Before)+" "+string(c.After))
	}
	if diff := cmp.Diff([]string{`label "Ada" "Ada Lovelace"`, `added null 3`}, got); diff != "" {
		t.Error(diff)
	}
}

func TestALongValueIsToldByItsStartItsLengthAndItsDigest(t *testing.T) {
	long := strings.Repeat("é", 200)
	var changes audit.Changes
	changes.Add("note", long, nil)
	digest := sha256.Sum256([]byte(long))
	want := `{"start":"` + strings.Repeat("é", 32) + `","length":400,"sha256":"` + hex.EncodeToString(digest[:]) + `"}`
	if got := string(changes[0].Before); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestARowTellsOfABoundedNumberOfChanges(t *testing.T) {
	var changes audit.Changes
	for i := range 1000 {
		changes.Add("field", i, nil)
	}
	if len(changes) != 200 {
		t.Errorf("a row has %d changes", len(changes))
	}
}

func TestMaskedNumbersShowFourDigitsOfAtLeastEight(t *testing.T) {
	for number, want := range map[string]string{"001234567890": "•••• 7890", "12345678": "•••• 5678", "1234567": "••••", "": "••••"} {
		if got := audit.Mask(number); got != want {
			t.Errorf("%q is shown as %q, want %q", number, got, want)
		}
	}
}

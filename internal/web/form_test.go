package web

import (
	"net/url"
	"reflect"
	"testing"

	"bursar/internal/fault"
)

// typedSample has a field of every kind that a form can fill.
type typedSample struct {
	ID     string   `path:"id"`
	Name   string   `json:"name" required:"true"`
	Note   *string  `json:"note"`
	Was    *string  `json:"was"`
	Yes    bool     `json:"yes"`
	May    *bool    `json:"may"`
	Days   *int64   `json:"days"`
	Amount int64    `json:"amount_cents"`
	UpTo   *int64   `json:"up_to_cents"`
	Lines  []string `json:"lines"`
}

func TestFormFillsAnInput(t *testing.T) {
	t.Parallel()
	form := Form{url.Values{"id": {"other"}, "name": {" Ada "}, "note": {""}, "was": {" "}, "yes": {"yes"}, "may": {"yes"}, "days": {"007"},
		"amount_cents": {"1,500.50"}, "up_to_cents": {""}, "lines": {"a\nb", "c"}, "unknown": {"x"}}, "PHP"}
	in, v := typedSample{ID: "mine", Was: new("before"), UpTo: new(int64(5))}, fault.Violations{}
	form.Fill(&in, &v)
	want := typedSample{ID: "mine", Name: "Ada", Was: new(""), Yes: true, May: new(true), Days: new(int64(7)), Amount: 150_050, UpTo: new(int64(0)), Lines: []string{"a", "b", "c"}}
	if err := v.Err(); err != nil || !reflect.DeepEqual(in, want) {
		t.Errorf("the form fills %+v, want %+v: %v", in, want, err)
	}
}

func TestFormLeavesWhatItDoesNotHave(t *testing.T) {
	t.Parallel()
	was := typedSample{Name: "Ada", Note: new("x"), Yes: true, May: new(false), Days: new(int64(7)), Amount: 1, Lines: []string{"a"}}
	in, v := was, fault.Violations{}
	Form{}.Fill(&in, &v)
	if err := v.Err(); err != nil || !reflect.DeepEqual(in, was) {
		t.Errorf("an empty form makes %+v of %+v: %v", in, was, err)
	}
}

func TestFormReportsEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	for currency, want := range map[string]map[string]string{
		"PHP": {"name": "is required", "days": "must be a whole number", "amount_cents": amountRule, "up_to_cents": amountRule},
		"":    {"name": "is required", "days": "must be a whole number", "amount_cents": noCurrency, "up_to_cents": noCurrency},
	} {
		var in typedSample
		var v fault.Violations
		Form{url.Values{"days": {"soon"}, "amount_cents": {"0"}, "up_to_cents": {"much"}}, currency}.Fill(&in, &v)
		if got := wrongFields(t, v.Err()); !reflect.DeepEqual(got, want) {
			t.Errorf("in the currency %q, the form reports %v, want %v", currency, got, want)
		}
	}
}

package rail_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/fault"
	"bursar/internal/institution"
	"bursar/internal/rail"
	"bursar/internal/rail/iso20022"
	"bursar/internal/rail/simulator"
)

// load reads a rails file, in which FOLDER stands for one that exists.
func load(t *testing.T, text string) (*rail.Rails, error) {
	t.Helper()
	file := ""
	if text != "" {
		file = filepath.Join(t.TempDir(), "rails.json")
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "FOLDER", t.TempDir())), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	holidays, err := rail.LoadHolidays("")
	if err != nil {
		t.Fatal(err)
	}
	return rail.Load(file, rail.Config{
		Simulator: simulator.New(nil), Holidays: holidays,
		Make: map[string]func(string, []byte) (rail.Connector, error){"iso20022": iso20022.Make},
	})
}

func shipped(t *testing.T) *rail.Rails {
	t.Helper()
	rails, err := load(t, "")
	if err != nil {
		t.Fatal(err)
	}
	return rails
}

const bankFile = `{
	"connectors": {"ourbank": {"kind": "iso20022", "settings": {"folder": "FOLDER", "debtor_name": "Bursar", "debtor_account": "001234567890", "debtor_bank": "BOPIPHMM", "final": "ACSC"}}},
	"rails": [
		{"name": "instapay", "title": "InstaPay", "currency": "PHP", "minimum_cents": 100, "maximum_cents": 5000000, "connector": "ourbank", "always": true, "members": "I"},
		{"name": "tuesday", "currency": "PHP", "minimum_cents": 100, "connector": "ourbank", "cycles": ["16:00", "09:30"], "time_zone": "UTC",
			"institutions": [{"code": "BOPIPHMMXXX", "rail_code": "BOPIPHMM"}, {"code": "GXCHPHM2XXX"}]}
	]
}`

func code(err error) api.Code {
	var f *fault.Fault
	if errors.As(err, &f) {
		return f.Code
	}
	return ""
}

func TestTheFastestRailThatTakesThePaymentIsChosen(t *testing.T) {
	t.Parallel()
	rails, now := shipped(t), manila(t, "2026-11-16 10:00:00.001")
	const pesonet = "PESONet: no upper limit, is sent on 16 November 2026 at 13:00 and arrives the same day"
	for name, c := range map[string]struct {
		amount    int64
		to        string
		rail, why string
		code      api.Code
	}{
		"the minimum":            {100, "BOPIPHMMXXX", "instapay", "InstaPay: up to PHP 50,000.00, arrives at once", ""},
		"exactly 50,000.00":      {5_000_000, "BOPIPHMMXXX", "instapay", "InstaPay: up to PHP 50,000.00, arrives at once", ""},
		"a centavo more":         {5_000_001, "BOPIPHMMXXX", "pesonet", pesonet + " (InstaPay carries up to PHP 50,000.00)", ""},
		"on one rail alone":      {100, "PAEYPHM2XXX", "pesonet", pesonet + " (InstaPay does not reach " + institution.Name("PAEYPHM2XXX") + ")", ""},
		"by its other code":      {5_000_001, "MYDBPHM2XXX", "pesonet", pesonet + " (InstaPay carries up to PHP 50,000.00)", ""},
		"too little":             {99, "BOPIPHMMXXX", "", "", api.CodeAmountBelowMinimum},
		"too much for its rail":  {5_000_001, "SHPHPHM2XXX", "", "", api.CodeAmountAboveMaximum},
		"an unknown institution": {100, "NOBODY", "", "", api.CodeInvalidInstitution},
	} {
		r, why, err := rails.Choose("PHP", c.amount, c.to, true, now)
		if c.code != "" {
			if code(err) != c.code {
				t.Errorf("%s: got %v, want %s", name, err, c.code)
			}
			continue
		}
		if err != nil || r.Name != c.rail || why != c.why {
			t.Errorf("%s: got %v, %q, %v", name, r, why, err)
		}
	}
	if _, _, err := rails.Choose("EUR", 100, "BOPIPHMMXXX", true, now); code(err) != api.CodeValidation {
		t.Errorf("euros: %v", err)
	}
	if _, _, err := rails.Choose("PHP", 100, "BOPIPHMMXXX", false, now); err == nil {
		t.Error("a live payment travels on the sandbox's rails")
	}
}

func TestARailReturnsAllReasonsWhyItRefusesAPayment(t *testing.T) {
	t.Parallel()
	instapay := shipped(t).Named("instapay", true)
	pay := func(amount int64, to, number string) rail.Payment {
		return rail.Payment{Amount: amount, Currency: "PHP", To: rail.Destination{Institution: to, AccountNumber: number}}
	}
	for name, c := range map[string]struct {
		p    rail.Payment
		want []api.Code
	}{
		"all is well":              {pay(5_000_000, "BOPIPHMMXXX", "1234-5678-90"), nil},
		"nothing is":               {rail.Payment{Amount: 99, Currency: "EUR"}, []api.Code{api.CodeValidation, api.CodeAmountBelowMinimum, api.CodeInvalidInstitution, api.CodeInvalidAccount}},
		"too much":                 {pay(5_000_001, "BOPIPHMMXXX", "1234567890"), []api.Code{api.CodeAmountAboveMaximum}},
		"not on it":                {pay(100, "PAEYPHM2XXX", "1234567890"), []api.Code{api.CodeInvalidInstitution}},
		"another form":             {pay(100, "BOPIPHMMXXX", "12345678901"), []api.Code{api.CodeInvalidAccount}},
		"an IBAN":                  {pay(100, "BOPIPHMMXXX", "DE89370400440532013000"), []api.Code{api.CodeInvalidAccount}},
		"a wallet":                 {pay(100, "GXCHPHM2XXX", "09171234567"), nil},
		"digits that decide":       {pay(100, "GXCHPHM2XXX", "09171239001"), nil},
		"such ones in any form":    {pay(100, "GXCHPHM2XXX", "1239001"), nil},
		"but not in none":          {pay(100, "GXCHPHM2XXX", "9001"), []api.Code{api.CodeInvalidAccount}},
		"no known form":            {pay(100, "UNOBPHM2XXX", "123456"), nil},
		"no known form, too short": {pay(100, "UNOBPHM2XXX", "12345"), []api.Code{api.CodeInvalidAccount}},
		"no known form, too long":  {pay(100, "UNOBPHM2XXX", strings.Repeat("1", 21)), []api.Code{api.CodeInvalidAccount}},
	} {
		all := instapay.Faults(c.p)
		if len(all) != len(c.want) {
			t.Errorf("%s: got %v, want %v", name, all, c.want)
			continue
		}
		for i, err := range all {
			if code(err) != c.want[i] {
				t.Errorf("%s: got %v, want %v", name, all, c.want)
			}
		}
		if err := instapay.Check(c.p); code(err) != append(c.want, "")[0] {
			t.Errorf("%s: checked it is %v", name, err)
		}
	}
	var f *fault.Fault
	if err := instapay.Check(pay(5_000_001, "BOPIPHMMXXX", "1234567890")); !errors.As(err, &f) || f.Details != (rail.LimitDetails{Maximum: 5_000_000, Rail: "instapay", Amount: 5_000_001}) {
		t.Errorf("the details are %+v", f.Details)
	}
	if err := instapay.Check(pay(1, "BOPIPHMMXXX", "1234567890")); !errors.As(err, &f) || f.Details != (rail.LimitDetails{Minimum: 100, Maximum: 5_000_000, Rail: "instapay", Amount: 1}) {
		t.Errorf("the details are %+v", f.Details)
	}
}

func TestAFileDefinesRails(t *testing.T) {
	t.Parallel()
	rails, err := load(t, bankFile)
	if err != nil {
		t.Fatal(err)
	}
	if !rails.HasLive() || shipped(t).HasLive() {
		t.Error("a rail is live if its connector is")
	}
	live, tuesday := rails.Named("instapay", false), rails.Named("tuesday", false)
	if live == nil || tuesday == nil || live.Connector.Name() != "ourbank" || len(rails.Connectors()) != 2 || len(rails.All()) != 4 {
		t.Fatalf("the rails are %+v", rails.All())
	}
	if sandbox := rails.Named("instapay", true); sandbox == nil || !sandbox.Sandbox() || rails.Named("pesonet", false) != nil {
		t.Error("the sandbox and the bank share a rail")
	}
	if tuesday.CodeOf("BOPIPHMMXXX") != "BOPIPHMM" || tuesday.CodeOf("GXCHPHM2XXX") != "GXCHPHM2XXX" || tuesday.CodeOf("UNOBPHM2XXX") != "" {
		t.Error("institutions have other codes than in the file")
	}
	if send, _ := tuesday.Next(time.Date(2026, 11, 17, 9, 30, 0, 0, time.UTC)); send.Hour() != 9 {
		t.Errorf("cycles are not in order: %v", send)
	}
	if r, why, err := rails.Choose("PHP", 5_000_001, "BOPIPHMMXXX", false, manila(t, "2026-11-16 10:00:00.000")); err != nil || r != tuesday {
		t.Errorf("chose %v, %s, %v", r, why, err)
	}
}

func TestTheExampleOfTheDocumentIsARailsFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/rails.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```json\n")
	example, _, found := strings.Cut(rest, "```")
	rails, err := load(t, strings.Replace(example, "/var/lib/bursar/ourbank", "FOLDER", 1))
	if !found || err != nil || len(rails.All()) != 5 || rails.Named("inhouse", false).CodeOf("BOPIPHMMXXX") != "0010" {
		t.Errorf("the example makes %v, %v", rails, err)
	}
}

func TestAWrongRailsFileIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	for change, want := range map[[2]string]string{
		{`"maximum_cents"`, `"maximun_cents"`}:                           `unknown key "maximun_cents" (at /rails/0)`,
		{`"debtor_name"`, `"deptor_name"`}:                               `unknown key "deptor_name"`,
		{`"kind": "iso20022"`, `"kind": "telex"`}:                        `there is no kind "telex"`,
		{`"connector": "ourbank"`, `"connector": "x"`}:                   `there is no connector "x"`,
		{`"currency": "PHP"`, `"currency": "php"`}:                       "three capital letters",
		{`"minimum_cents": 100, "max`, `"minimum_cents": 5000001, "max`}: "maximum_cents not below it",
		{`"minimum_cents": 100, "max`, `"minimum_cents": 0, "max`}:       "at least 1",
		{`"always": true`, `"always": false`}:                            "either always or cycles",
		{`"always": true`, `"always": true, "answer_within": "soon"`}:    `"soon" is no duration such as 15m`,
		{`"always": true`, `"always": true, "answer_within": "0s"`}:      `"0s" is no duration such as 15m`,
		{`"members": "I"`, `"members": ""`}:                              "either members or institutions",
		{`"16:00"`, `"4 pm"`}:                                            `"4 pm" is no time`,
		{`"UTC"`, `"Nowhere"`}:                                           "time_zone",
		{`"code": "GXCHPHM2XXX"`, `"code": "G"`}:                         `no institution with the code "G"`,
		{`"name": "tuesday"`, `"name": "instapay"`}:                      "defined twice",
		{`"name": "tuesday"`, `"name": "ourbank"`}:                       "not that of a connector",
		{`"ourbank": {`, `"simulator": {`}:                               "not simulator",
		{`]`, ``}:                                                        "rails.json",
		{`"final": "ACSC"`, `"final": "MAYBE"`}:                          "final must be ACSC or ACCC",
		{`"final": "ACSC"`, `"final": "ACSC", "deposits": {"12": "x"}`}:  "deposits",
	} {
		text := strings.Replace(bankFile, change[0], change[1], 1)
		if text == bankFile {
			t.Fatalf("%s is not in the file", change[0])
		}
		if _, err := load(t, text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "rails.json") {
			t.Errorf("with %s: %v", change[1], err)
		}
	}
}

func TestReasonsOfRailsBecomeCodes(t *testing.T) {
	t.Parallel()
	for want, reasons := range map[api.Code]string{
		api.CodeAmountBelowMinimum: "AM06 AM15",
		api.CodeAmountAboveMaximum: "AM02 AM13 AM14",
		api.CodeInvalidAccount:     "AC01 AC03 AC12 AC14",
		api.CodeAccountClosed:      "AC04 AC07",
		api.CodeInvalidInstitution: "RC01",
		api.CodeBankUnavailable:    "AB05 AB08 AB09",
		api.CodeRailUnavailable:    "AB01 AB02 AB03 AB04",
		api.CodeProcessingFailed:   "AM04 AC06 MS03 NARR whatever",
	} {
		for reason := range strings.FieldsSeq(reasons) {
			if got := rail.ReasonOf(reason).Failure; got != want {
				t.Errorf("%s is %s, want %s", reason, got, want)
			}
		}
	}
	if got := rail.ReasonOf("").Failure; got != api.CodeProcessingFailed {
		t.Errorf("no reason is %s", got)
	}
}

func TestAmountsAreWrittenAndReadExactly(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		amount   int64
		currency string
	}{
		"0.01": {1, "PHP"}, "1.00": {100, "PHP"}, "50000.00": {5_000_000, "PHP"}, "9999999999999.99": {999_999_999_999_999, "PHP"},
		"100": {100, "JPY"}, "0.100": {100, "KWD"},
	} {
		if got := rail.Decimal(c.amount, c.currency); got != want {
			t.Errorf("%d %s is written %s, want %s", c.amount, c.currency, got, want)
		}
		if got, err := rail.ParseDecimal(want, c.currency); err != nil || got != c.amount {
			t.Errorf("%s is read as %d, %v", want, got, err)
		}
	}
	for text, want := range map[string]int64{"1": 100, "1.5": 150, "1.500": 150, "007": 700} {
		if got, err := rail.ParseDecimal(text, "PHP"); err != nil || got != want {
			t.Errorf("%s is read as %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", ".5", "-1", "+1", "1e3", "1,00", "0.001", "1.2.3", "10000000000000.00", "NaN", "１"} {
		if got, err := rail.ParseDecimal(text, "PHP"); err == nil {
			t.Errorf("%q is read as %d", text, got)
		}
	}
	for want, amount := range map[string]int64{"PHP 50,000.00": 5_000_000, "PHP 1.00": 100, "PHP -1,234,567.89": -123_456_789, "PHP 999.99": 99_999} {
		if got := api.FormatAmount(amount, "PHP"); got != want {
			t.Errorf("%d is %s, want %s", amount, got, want)
		}
	}
}

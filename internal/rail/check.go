package rail

import (
	"regexp"

	"bursar/api"
	"bursar/internal/accountnumber"
	"bursar/internal/fault"
	"bursar/internal/institution"
)

// LimitDetails contains the details of a fault about an amount that a rail does not carry.
type LimitDetails struct {
	Minimum int64  `json:"minimum,omitempty"`
	Maximum int64  `json:"maximum,omitempty"`
	Rail    string `json:"rail"`
	Amount  int64  `json:"amount"`
}

// InstitutionDetails contains the details of a fault about an institution that cannot be paid.
type InstitutionDetails struct {
	Institution string `json:"institution"`
	Rail        string `json:"rail,omitempty"`
}

// Faults returns all reasons why a payment cannot be sent by the rail.
func (r *Rail) Faults(p Payment) []error {
	var all []error
	if p.Currency != r.Currency {
		all = append(all, fault.Invalid("currency", "must be "+r.Currency+" on the rail "+r.Name))
	}
	for _, err := range []error{r.checkAmount(p.Amount), r.checkInstitution(p.To.Institution), r.Connector.Check(r, p)} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// Check returns the first of Faults, or nil if the payment can be sent by the rail.
func (r *Rail) Check(p Payment) error {
	if all := r.Faults(p); len(all) > 0 {
		return all[0]
	}
	return nil
}

func (r *Rail) takes(amount int64) bool {
	return amount >= r.Minimum && (r.Maximum == 0 || amount <= r.Maximum)
}

func (r *Rail) checkAmount(amount int64) error {
	switch {
	case amount < r.Minimum:
		f := fault.New(api.CodeAmountBelowMinimum, "%s carries %s and more, not %s", r.Title, api.FormatAmount(r.Minimum, r.Currency), api.FormatAmount(amount, r.Currency))
		f.Details = LimitDetails{Minimum: r.Minimum, Maximum: r.Maximum, Rail: r.Name, Amount: amount}
		return f
	case !r.takes(amount):
		f := fault.New(api.CodeAmountAboveMaximum, "%s carries up to %s, not %s", r.Title, api.FormatAmount(r.Maximum, r.Currency), api.FormatAmount(amount, r.Currency))
		f.Details = LimitDetails{Maximum: r.Maximum, Rail: r.Name, Amount: amount}
		return f
	}
	return nil
}

// CodeOf returns the code of an institution on the rail, "" if the rail does not reach it. The codes of some institutions differ between
// rails.
func (r *Rail) CodeOf(code string) string {
	if r.Codes != nil {
		return r.Codes[code]
	}
	return institution.On(code, r.Members)
}

func (r *Rail) checkInstitution(code string) error {
	if r.CodeOf(code) != "" {
		return nil
	}
	f := unknownInstitution(code)
	if institution.Name(code) != "" {
		f = fault.New(api.CodeInvalidInstitution, "%s does not reach %s", r.Title, institution.Name(code))
	}
	f.Details = InstitutionDetails{Institution: code, Rail: r.Name}
	return f
}

func unknownInstitution(code string) *fault.Fault {
	f := fault.New(api.CodeInvalidInstitution, "there is no institution with the code %q", code)
	f.Details = InstitutionDetails{Institution: code}
	return f
}

var numberForm = regexp.MustCompile(`^[0-9]{6,20}$`)

// IsNumber reports whether a text can be an account number at any institution.
func IsNumber(number string) bool { return numberForm.MatchString(accountnumber.Compact(number)) }

// CheckNumber returns a fault if an account number cannot be one of its institution, otherwise nil.
func CheckNumber(to Destination) error {
	if !IsNumber(to.AccountNumber) {
		return fault.New(api.CodeInvalidAccount, "the account number must have 6 to 20 digits")
	}
	if doubt := accountnumber.Doubt(to.Institution, to.AccountNumber); doubt != "" {
		return fault.New(api.CodeInvalidAccount, "the account number is not one of %s: %s", institution.Name(to.Institution), doubt)
	}
	return nil
}

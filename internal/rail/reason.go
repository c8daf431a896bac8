package rail

import (
	"cmp"
	"regexp"

	"bursar/api"
)

// Reason is what the code of a rejection or a return means.
type Reason struct {
	Failure    api.Code // of the payout
	Duplicate  bool     // the rail has received the payment before, and may have paid it
	FloatShort bool     // our own account with the bank is short; the customer's funds are reserved
	Blocked    bool     // the payee's account is blocked
}

// reasons are the codes of ISO 20022 that mean more than a failure.
var reasons = map[string]Reason{
	"AB01": {Failure: api.CodeRailUnavailable},
	"AB02": {Failure: api.CodeRailUnavailable},
	"AB03": {Failure: api.CodeRailUnavailable},
	"AB04": {Failure: api.CodeRailUnavailable},
	"AB05": {Failure: api.CodeBankUnavailable},
	"AB08": {Failure: api.CodeBankUnavailable},
	"AB09": {Failure: api.CodeBankUnavailable},
	"AC01": {Failure: api.CodeInvalidAccount},
	"AC03": {Failure: api.CodeInvalidAccount},
	"AC04": {Failure: api.CodeAccountClosed},
	"AC06": {Blocked: true},
	"AC07": {Failure: api.CodeAccountClosed},
	"AC12": {Failure: api.CodeInvalidAccount},
	"AC14": {Failure: api.CodeInvalidAccount},
	"AM02": {Failure: api.CodeAmountAboveMaximum},
	"AM04": {FloatShort: true},
	"AM05": {Duplicate: true},
	"AM06": {Failure: api.CodeAmountBelowMinimum},
	"AM13": {Failure: api.CodeAmountAboveMaximum},
	"AM14": {Failure: api.CodeAmountAboveMaximum},
	"AM15": {Failure: api.CodeAmountBelowMinimum},
	"DU01": {Duplicate: true},
	"DU02": {Duplicate: true},
	"DU03": {Duplicate: true},
	"DU04": {Duplicate: true},
	"DU05": {Duplicate: true},
	"DUPL": {Duplicate: true},
	"RC01": {Failure: api.CodeInvalidInstitution},
}

// ReasonOf returns what a code of ISO 20022 means, such as AC04.
func ReasonOf(code string) Reason {
	r := reasons[code]
	r.Failure = cmp.Or(r.Failure, api.CodeProcessingFailed)
	return r
}

// Reason returns what the code of the outcome means.
func (o Outcome) Reason() Reason { return ReasonOf(o.Code) }

// IsDuplicate reports whether the rail has rejected the payment because it has received it before.
func (o Outcome) IsDuplicate() bool { return o.State == Rejected && o.Reason().Duplicate }

var reasonForm = regexp.MustCompile(`^[A-Z]{2}[A-Z0-9]{2}$`)

// IsReason reports whether a text has the form of a code of ISO 20022.
func IsReason(code string) bool { return reasonForm.MatchString(code) }

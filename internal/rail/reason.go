package rail

import "bursar/api"

// FailureCode translates a reason of ISO 20022 for which a rail has rejected a payment, such as AC04. AM04 is not a lack of the customer's
// funds, which are reserved, but of our own at the bank.
func FailureCode(reason string) api.Code {
	switch reason {
	case "AM06", "AM15":
		return api.CodeAmountBelowMinimum
	case "AM02", "AM13", "AM14":
		return api.CodeAmountAboveMaximum
	case "AC01", "AC03", "AC12", "AC14":
		return api.CodeInvalidAccount
	case "AC04", "AC07":
		return api.CodeAccountClosed
	case "RC01":
		return api.CodeInvalidInstitution
	case "AB05", "AB08", "AB09":
		return api.CodeBankUnavailable
	case "AB01", "AB02", "AB03", "AB04":
		return api.CodeRailUnavailable
	}
	return api.CodeProcessingFailed
}

// Duplicate reports whether a reason of ISO 20022 means that the rail has received the payment before. The earlier one may have
// been paid.
func Duplicate(code string) bool {
	switch code {
	case "AM05", "DUPL", "DU01", "DU02", "DU03", "DU04", "DU05":
		return true
	}
	return false
}

package api_test

import (
	"testing"

	"bursar/api"
)

func TestEveryCodeHasItsStatus(t *testing.T) {
	for code, want := range map[api.Code]int{
		"VALIDATION_ERROR":     400,
		"UNAUTHORIZED":         401,
		"INVALID_CREDENTIALS":  401,
		"FORBIDDEN":            403,
		"NOT_FOUND":            404,
		"RESOURCE_NOT_FOUND":   404,
		"METHOD_NOT_ALLOWED":   405,
		"IDEMPOTENCY_CONFLICT": 409,
		"BODY_TOO_LARGE":       413,
		"LAST_ADMIN":           422,
		"LAST_WAY_IN":          422,
		"SLUG_TAKEN":           422,
		"ROLE_IN_USE":          422,
		"CODE_NOT_PENDING":     422,
		"TAG_EXISTS":           422,
		"TAG_IN_USE":           422,
		"TOO_MANY":             422,
		"AUDIT_UNSIGNED":       422,
		"RATE_LIMITED":         429,
		"INTERNAL_ERROR":       500,
		"UNAVAILABLE":          503,
		"INSUFFICIENT_FUNDS":   422,
		"ACCOUNT_FROZEN":       422,
		"AMOUNT_BELOW_MINIMUM": 422,
		"AMOUNT_ABOVE_MAXIMUM": 422,
		"INVALID_ACCOUNT":      422,
		"ACCOUNT_CLOSED":       422,
		"INVALID_INSTITUTION":  400,
		"BANK_UNAVAILABLE":     422,
		"RAIL_UNAVAILABLE":     422,
		"PROCESSING_FAILED":    422,
		"LIMIT_EXCEEDED":       422,
		"ACCOUNT_GUARDED":      422,
	} {
		if got := code.Info().Status; got != want {
			t.Errorf("%s is %d, want %d", code, got, want)
		}
	}
}

func TestEachCodeIsDescribedOnce(t *testing.T) {
	described := map[api.Code]bool{}
	for _, one := range api.Codes() {
		if described[one.Code] {
			t.Errorf("%s is described twice", one.Code)
		}
		described[one.Code] = true
	}
}

package fault_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"bursar/internal/fault"
)

func TestEveryCodeHasItsStatus(t *testing.T) {
	for code, want := range map[fault.Code]int{
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
		if got := code.Status(); got != want {
			t.Errorf("%s is %d, want %d", code, got, want)
		}
	}
}

func violations(t *testing.T, err error) []fault.Violation {
	t.Helper()
	f, ok := err.(*fault.Fault)
	if !ok || f.Code != fault.Validation {
		t.Fatalf("got %v, want a VALIDATION_ERROR", err)
	}
	return f.Details.(fault.ViolationDetails).Fields
}

func TestAllViolationsAreToldAtOnce(t *testing.T) {
	var v fault.Violations
	v.Add("email", "must be an email address")
	v.Add("name", "is required")
	err := v.Err()
	if got := violations(t, err); len(got) != 2 || got[0].Field != "email" || got[1].Constraint != "is required" {
		t.Errorf("got %v", got)
	}
	if text := err.Error(); !strings.Contains(text, "email must be an email address; name is required") {
		t.Errorf("the message is %q", text)
	}
}

func TestFirstComplaintAboutAFieldCounts(t *testing.T) {
	var v fault.Violations
	v.Add("name", "is required")
	v.Add("name", "is too short")
	if got := violations(t, v.Err()); len(got) != 1 || got[0].Constraint != "is required" {
		t.Errorf("got %v", got)
	}
}

func TestNoViolationIsNoError(t *testing.T) {
	var v fault.Violations
	if err := v.Err(); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestAnswerStaysSmallHoweverMuchIsWrong(t *testing.T) {
	var v fault.Violations
	for i := range 1000 {
		v.Add(fmt.Sprint(i, strings.Repeat("é", 1000)), "is unknown")
	}
	err := v.Err()
	if len(err.Error()) > 8<<10 {
		t.Errorf("the message has %d bytes", len(err.Error()))
	}
	for _, x := range violations(t, err) {
		if !utf8.ValidString(x.Field) {
			t.Errorf("field %q was cut in the middle of a character", x.Field)
		}
	}
}

func TestDenialNamesThePermission(t *testing.T) {
	f := fault.Denied("ws.members.write", fault.Scope{WorkspaceID: "ws_1"})
	if f.Code != fault.Forbidden || f.Details != (fault.PermissionDetails{Permission: "ws.members.write"}) || f.Scope.WorkspaceID != "ws_1" {
		t.Errorf("got %+v", f)
	}
}

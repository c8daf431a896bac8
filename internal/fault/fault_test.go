package fault_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"bursar/api"
	"bursar/internal/fault"
)

func violations(t *testing.T, err error) []fault.Violation {
	t.Helper()
	f, ok := err.(*fault.Fault)
	if !ok || f.Code != api.CodeValidation {
		t.Fatalf("got %v, want a VALIDATION_ERROR", err)
	}
	return f.Details.(fault.ViolationDetails).Fields
}

func TestAllViolationsAreReturnedAtOnce(t *testing.T) {
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
	if f.Code != api.CodeForbidden || f.Details != (fault.PermissionDetails{Permission: "ws.members.write"}) || f.Scope.WorkspaceID != "ws_1" {
		t.Errorf("got %+v", f)
	}
}

package fault

import (
	"slices"
	"strings"

	"bursar/api"
)

// Violation is one error in a request.
type Violation struct {
	Field      string `json:"field"`
	Constraint string `json:"constraint"`
}

// Violations collects all errors of a request, so that the caller can fix them at once.
// Only the first violation of a field is kept.
type Violations struct{ list []Violation }

// ViolationDetails is the type of `details` of a VALIDATION_ERROR.
type ViolationDetails struct {
	Fields []Violation `json:"fields"`
}

// maxViolations keeps a response readable and small, however many errors there are.
const (
	maxViolations = 32
	maxFieldName  = 80
)

// Add records a violation unless the field already has one.
func (v *Violations) Add(field, constraint string) {
	if len(field) > maxFieldName {
		field = strings.ToValidUTF8(field[:maxFieldName], "") + "…"
	}
	if len(v.list) < maxViolations && !v.Has(field) {
		v.list = append(v.list, Violation{field, constraint})
	}
}

// Has reports whether the field has a violation.
func (v *Violations) Has(field string) bool {
	return slices.ContainsFunc(v.list, func(x Violation) bool { return x.Field == field })
}

// Err returns the VALIDATION_ERROR with all violations, or nil if there are none.
func (v *Violations) Err() error {
	if len(v.list) == 0 {
		return nil
	}
	var text strings.Builder
	for i, x := range v.list {
		if i > 0 {
			text.WriteString("; ")
		}
		text.WriteString(x.Field + " " + x.Constraint)
	}
	return &Fault{Code: api.CodeValidation, Message: text.String(), Details: ViolationDetails{Fields: v.list}}
}

// Invalid is a VALIDATION_ERROR about one field.
func Invalid(field, constraint string) error {
	var v Violations
	v.Add(field, constraint)
	return v.Err()
}

package console

import (
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/fault"
)

// problems are the errors of a form.
type problems struct {
	Text   string            // about the form as a whole
	Fields map[string]string // by field

	page  string        // the page of the form
	order []string      // the form's fields from top to bottom
	wait  time.Duration // before the form can be sent again
}

// Any reports whether there is a problem.
func (p problems) Any() bool { return p.Text != "" || len(p.Fields) > 0 }

// Of returns the problem of a field.
func (p problems) Of(field string) string { return p.Fields[field] }

// Attr returns the attributes of a field's input: its descriptions and whether it is invalid. The first invalid field gets the focus,
// without any script. The input's id is the name of the field. hints are ids of further descriptions.
func (p problems) Attr(field string, hints ...string) template.HTMLAttr {
	text := ""
	if p.Of(field) != "" {
		text = ` aria-invalid="true"`
		hints = append(slices.Clone(hints), fieldID(field)+"-problem")
		if p.wrong()[0] == field {
			text += " autofocus"
		}
	}
	if len(hints) > 0 {
		text += ` aria-describedby="` + template.HTMLEscapeString(strings.Join(hints, " ")) + `"`
	}
	return template.HTMLAttr(text)
}

// fieldLink is a link from the summary above a form to an invalid field.
type fieldLink struct{ ID, Label string }

// Summary lists the invalid fields, in the order of the form.
func (p problems) Summary() []fieldLink {
	var links []fieldLink
	for _, field := range p.wrong() {
		links = append(links, fieldLink{fieldID(field), fieldLabel(p.page, field)})
	}
	return links
}

// wrong returns the invalid fields, in the order of the form.
func (p problems) wrong() []string {
	var fields []string
	for field := range p.Fields {
		fields = append(fields, field)
	}
	slices.SortFunc(fields, func(a, b string) int {
		if by := slices.Index(p.order, a) - slices.Index(p.order, b); by != 0 {
			return by
		}
		return strings.Compare(a, b)
	})
	return fields
}

// prefixed adds a prefix to all fields, to distinguish the fields of two forms on a page.
func (p problems) prefixed(prefix string) problems {
	fields := map[string]string{}
	for field, text := range p.Fields {
		fields[prefix+field] = text
	}
	order := slices.Clone(p.order)
	for i := range order {
		order[i] = prefix + order[i]
	}
	p.Fields, p.order = fields, order
	return p
}

// ownField is the prefix of an entry's own fields in messages of the API.
const ownField = "fields."

// fieldID returns the id of a field's input.
func fieldID(field string) string {
	if key, ok := strings.CutPrefix(field, ownField); ok {
		return "field-" + key
	}
	if field == "tags" {
		return "more-tags"
	}
	return field
}

// fieldLabel returns the label of a field in the form of a page.
func fieldLabel(page, field string) string {
	switch page + " " + field {
	case "roles_edit role":
		return "Key"
	case "profile_password password":
		return "New password"
	case "invite name":
		return "Your name"
	case "keys_new mode", "keys_client mode":
		return "Money"
	case "workspace_new name":
		return "Workspace name"
	case "directory_form name":
		return "Entry name"
	case "rules_new account_id", "rules_limit account_id":
		return "From"
	case "accounts_transfer amount_cents", "accounts_one amount_cents":
		return "Amount"
	}
	switch field {
	case "email":
		return "Email address"
	case "current":
		return "Current password"
	case "expires_at":
		return "Last day"
	case "grace_seconds":
		return "Old key expires"
	case "allowed_cidrs":
		return "Allowed networks"
	case "workspace_ids":
		return "Workspaces"
	case "account_id":
		return "Account number"
	case "provider":
		return "Bank or wallet"
	case "applies_to":
		return "Used for"
	case "fields":
		return "Custom fields"
	case "above_cents":
		return "Above"
	case "up_to_cents":
		return "Up to"
	case "destination_account_id":
		return "To"
	case "amount_cents":
		return "At most"
	case "count":
		return "How many payouts"
	}
	label := strings.NewReplacer("_", " ", "-", " ").Replace(strings.TrimPrefix(field, ownField))
	if label == "" {
		return label
	}
	return strings.ToUpper(label[:1]) + label[1:]
}

// formProblems returns the problems of an error, and whether the person can correct it in the form. fields are the fields of the form, from
// top to bottom. Problems of anything else are shown above the form.
func formProblems(err error, fields ...string) (problems, int, bool) {
	var f *fault.Fault
	if !errors.As(err, &f) {
		return problems{}, 0, false
	}
	status := f.Code.Info().Status
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusConflict:
	default:
		return problems{}, 0, false
	}
	p := problems{Fields: map[string]string{}, order: fields}
	details, ok := f.Details.(fault.ViolationDetails)
	if !ok {
		p.Text, p.wait = wholeFormProblem(f), f.RetryAfter
		return p, status, true
	}
	for _, violation := range details.Fields {
		if slices.Contains(fields, violation.Field) {
			p.Fields[violation.Field] = sentence(violation.Constraint)
		} else {
			p.Text = strings.TrimSpace(p.Text + " " + sentence(violation.Field+" "+violation.Constraint))
		}
	}
	return p, status, true
}

// wholeFormProblem returns the message of an error that is about no field of a form.
func wholeFormProblem(f *fault.Fault) string {
	switch {
	case f.RetryAfter > 0:
		return "Too many attempts. Try again in " + roughly(f.RetryAfter) + "."
	case f.Code == api.CodeIdempotencyConflict:
		return "This form was already sent with different content. Check whether that went through before you send it again."
	}
	return sentence(f.Message)
}

// sentence converts a message of the API to a sentence for people.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

package console

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// bind fills an input of a service, a pointer, from the form, as the binder of the API fills it from JSON, and returns everything that is
// wrong. The form's amounts are in the currency. own are rules that come before those of the input.
func (v *visit) bind(in any, currency string, own ...func(wrong *fault.Violations)) error {
	var wrong fault.Violations
	web.Form{Values: v.form, Currency: currency}.Fill(in, &wrong)
	for _, rule := range own {
		rule(&wrong)
	}
	v.console.endpoints.Check(in, &wrong)
	return wrong.Err()
}

// submit calls a service method that makes a change, with an input that the form completes. in has what the form does not, such as an id.
func submit[In, Out any](v *visit, fn web.Func[In, Out], in In) (out Out, err error) {
	if err := v.bind(&in, ""); err != nil {
		return out, err
	}
	return change(v, fn, in)
}

// again shows the page of a form again, with the typed values and the problems, if the person can correct them there. It returns any other
// error.
func (v *visit) again(err error, page func(v *visit) error) error {
	p, status, ok := formProblems(err)
	if !ok {
		return err
	}
	return v.againWith(status, p, page)
}

// againWith shows the page of a form again, with the typed values and these problems.
func (v *visit) againWith(status int, p problems, page func(v *visit) error) error {
	v.problems, v.status = p, status
	v.retryAfter(p.wait)
	return page(v)
}

// refill shows what a visitor had typed before they had to sign in again, which is in the URL.
func (v *visit) refill() {
	if v.form == nil {
		v.values = v.R.URL.Query()
	}
}

// preset sets the value that an input of the page shows, unless the person has typed one.
func (v *visit) preset(name, value string) {
	if !v.values.Has(name) {
		v.values.Set(name, value)
	}
}

// problems are the errors of a form.
type problems struct {
	Text   string            // about the form as a whole
	Fields map[string]string // by field, without the name of the field

	inputs *inputs
	wait   time.Duration // before the form can be sent again
}

// inputs are the inputs of a page, from top to bottom. They are complete once the page is rendered.
type inputs struct{ all []input }

// input is an input that can have a problem. A page links to it from the summary of the problems.
type input struct{ field, ID, Label string }

func (i *inputs) add(one input) {
	if !slices.ContainsFunc(i.all, func(other input) bool { return other.field == one.field }) {
		i.all = append(i.all, one)
	}
}

// Any reports whether there is a problem.
func (p problems) Any() bool { return p.Text != "" || len(p.Fields) > 0 }

// Of returns the problem of a field that is shown without the template "field". The id of its element is the name of the field.
func (p problems) Of(field string, label ...string) string {
	p.inputs.add(input{field, field, append(label, capitalized(field))[0]})
	return sentence(p.Fields[field])
}

// Summary lists the inputs with a problem, in the order of the page.
func (p problems) Summary() []input {
	return slices.DeleteFunc(slices.Clone(p.inputs.all), func(i input) bool { return p.Fields[i.field] == "" })
}

// placed moves the problems of anything that is not an input of the page to the text above the form.
func (p problems) placed() problems {
	beside := map[string]string{}
	for _, i := range p.Summary() {
		beside[i.field] = p.Fields[i.field]
	}
	var others []string
	for field, text := range p.Fields {
		if beside[field] == "" {
			others = append(others, sentence(field+" "+text))
		}
	}
	slices.Sort(others)
	p.Text, p.Fields = strings.TrimSpace(p.Text+" "+strings.Join(others, " ")), beside
	return p
}

// problem returns the problem of one field.
func problem(field, text string) problems { return problems{Fields: map[string]string{field: text}} }

// move makes the problem of a field that of another one.
func (p problems) move(from, to string) {
	if text := p.Fields[from]; text != "" {
		delete(p.Fields, from)
		p.Fields[to] = text
	}
}

// formProblems returns the problems of an error, and whether the person can correct it in the form.
func formProblems(err error) (problems, int, bool) {
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
	p := problems{Fields: map[string]string{}}
	details, ok := f.Details.(fault.ViolationDetails)
	if !ok {
		p.Text, p.wait = wholeFormProblem(f), f.RetryAfter
	}
	for _, violation := range details.Fields {
		p.Fields[violation.Field] = violation.Constraint
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

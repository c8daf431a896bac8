package web

import (
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"bursar/api"
	"bursar/internal/fault"
)

// Form is a form that a person has sent, to fill the inputs that the API fills from JSON. The name of a value is the key of the body.
type Form struct {
	Values   url.Values
	Currency string // of its amounts, which people type as 1,500.00: the keys that end with amountSuffix
}

const (
	amountSuffix = "_cents"
	amountRule   = "must be a number such as 1,500.00"
	noCurrency   = "has no currency yet: choose an account or a rail"
)

// Fill sets the fields of the body of an input, a pointer, and reports what cannot be converted or is missing. An empty text omits an
// optional value, and empties one that is already set. A field whose key or type the form does not have stays as it is.
func (f Form) Fill(in any, v *fault.Violations) {
	var p plan
	p.add(reflect.TypeOf(in).Elem(), nil)
	value := reflect.ValueOf(in).Elem()
	for _, name := range p.names {
		field := value.FieldByIndex(p.body[name].index)
		texts, given := f.Values[name]
		if given {
			f.set(field, name, texts, v)
		}
		if p.body[name].required && field.IsZero() && (!given || field.Kind() == reflect.Pointer) {
			v.Add(name, "is required")
		}
	}
}

// Check checks an input, a pointer, by its own rules, as the binder does.
func (s *Endpoints) Check(in any, v *fault.Violations) { validate(in, v, s.now) }

// set stores the values of one key, or reports the rule that they break.
func (f Form) set(field reflect.Value, name string, texts []string, v *fault.Violations) {
	text := strings.TrimSpace(texts[0])
	switch target := field.Addr().Interface().(type) {
	case *string:
		*target = text
	case **string:
		if *target != nil || text != "" {
			*target = &text
		}
	case *[]string: // one of each checkbox, or a text of lines
		*target = strings.Fields(strings.Join(texts, " "))
	case *bool:
		*target = true // a checkbox that is not ticked is not sent
	case **bool:
		*target = new(true)
	case *int64:
		if *target = f.number(name, text, v); *target == 0 && strings.HasSuffix(name, amountSuffix) {
			v.Add(name, amountRule)
		}
	case **int64:
		switch {
		case text != "":
			*target = new(f.number(name, text, v))
		case *target != nil:
			*target = new(int64(0))
		}
	}
}

func (f Form) number(name, text string, v *fault.Violations) int64 {
	if strings.HasSuffix(name, amountSuffix) {
		return f.amount(name, text, v)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		v.Add(name, "must be a whole number")
	}
	return n
}

func (f Form) amount(name, text string, v *fault.Violations) int64 {
	if f.Currency == "" {
		v.Add(name, noCurrency)
		return 0
	}
	cents, err := api.ParseAmount(text, f.Currency)
	if err != nil {
		v.Add(name, amountRule)
	}
	return cents
}

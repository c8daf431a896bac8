package console

import (
	"html/template"
	"slices"
	"strings"
)

// field is an input with its label, hint and problem, which the templates "field" and "check" show. A template makes one with Input, Select,
// Area, Blank or Check, and adds to it in a pipeline:
//
//	{{template "field" ($.Input "name" "Name" `required maxlength="100"` | hint "For example Payroll.")}}
type field struct {
	Kind  string // input, select, area, blank or check
	ID    string
	Name  string // in the form
	Label string
	Note  string // after the label, such as Optional
	Class string // of the element around it, beside field
	Hint  string
	// Options are the choices of a select.
	Options []choice

	key        string // of its problem
	attributes string
	value      *string // instead of the value of the form
	keeps      bool    // a value that is not among the options stays visible
	view       view
}

// choice is an option of a select, or a group of them.
type choice struct {
	Value, Text string
	Group       []choice
	Chosen      bool // set for the template
}

func (v view) field(kind, key, label string, attributes []string) field {
	return field{Kind: kind, ID: key, Name: key, Label: label, key: key, attributes: strings.TrimSpace(strings.Join(attributes, " ")), view: v}
}

// Input, Select and Area return inputs with the typed value. key names the input, its id and its problem. attributes are HTML of the
// template, never text that a person typed.
func (v view) Input(key, label string, attributes ...string) field {
	return v.field("input", key, label, attributes)
}
func (v view) Area(key, label string, attributes ...string) field {
	return v.field("area", key, label, attributes)
}
func (v view) Select(key, label string, options []choice, attributes ...string) field {
	f := v.field("select", key, label, attributes)
	f.Options = options
	return f
}

// Blank returns an input for a secret, which is never shown again.
func (v view) Blank(key, label string, attributes ...string) field {
	return v.field("blank", key, label, attributes)
}

// Check returns a checkbox.
func (v view) Check(key, label string) field { return v.field("check", key, label, nil) }

// Typed returns the value of an input, and Ticked whether a checkbox of several is ticked.
func (v view) Typed(name string) string       { return v.values.Get(name) }
func (v view) Ticked(name, value string) bool { return slices.Contains(v.values[name], value) }

// Hidden returns the inputs that carry values of the form along.
func (v view) Hidden(names ...string) template.HTML {
	var out strings.Builder
	for _, name := range names {
		out.WriteString(`<input type="hidden" name="` + name + `" value="` + template.HTMLEscapeString(v.values.Get(name)) + `">`)
	}
	return template.HTML(out.String())
}

// fieldFunctions add to a field in a pipeline.
func fieldFunctions() template.FuncMap {
	return template.FuncMap{
		"as":       func(id string, f field) field { f.ID, f.Name = id, id; return f },
		"named":    func(name string, f field) field { f.Name = name; return f },
		"note":     func(text string, f field) field { f.Note = text; return f },
		"classed":  func(class string, f field) field { f.Class = class; return f },
		"hint":     func(text string, f field) field { f.Hint = text; return f },
		"showing":  func(value string, f field) field { f.value = &value; return f },
		"keeping":  func(f field) field { f.keeps = true; return f },
		"optional": func(f field) field { f.Note = "Optional"; return f },
		"short":    func(f field) field { f.Class = "short"; return f },
		"options":  options,
		"first":    func(text string, list []choice) []choice { return slices.Concat([]choice{{Text: text}}, list) },
		"more":     func(list []choice, pairs ...string) []choice { return slices.Concat(list, options(pairs...)) },
		"when":     when,

		"roleChoices":   roleChoices,
		"memberChoices": memberChoices,
		"sourceChoices": sourceChoices,
	}
}

// options returns choices from pairs of a value and a text.
func options(pairs ...string) (list []choice) {
	for pair := range slices.Chunk(pairs, 2) {
		list = append(list, choice{Value: pair[0], Text: pair[1]})
	}
	return list
}

// when returns a text, or nothing if the condition is false or empty.
func when(condition any, text string) string {
	if truth, ok := template.IsTrue(condition); ok && truth {
		return text
	}
	return ""
}

// Value returns the value to show: the typed one, or the preset one.
func (f field) Value() string {
	switch {
	case f.value != nil:
		return *f.value
	case f.Kind == "blank":
		return ""
	case f.view.values.Has(f.ID):
		return f.view.values.Get(f.ID)
	}
	return f.view.values.Get(f.Name)
}

// Shown returns the options with the chosen one.
func (f field) Shown() []choice {
	value := f.Value()
	list, found := choose(f.Options, value)
	if f.keeps && value != "" && !found {
		list = append(list, choice{Value: value, Text: value, Chosen: true})
	}
	return list
}

// choose marks the option with a value, also in groups, and reports whether there is one.
func choose(options []choice, value string) (list []choice, found bool) {
	for _, one := range options {
		if one.Group != nil {
			one.Group, one.Chosen = choose(one.Group, value)
		} else {
			one.Chosen = one.Value == value
		}
		list, found = append(list, one), found || one.Chosen
	}
	return list, found
}

// Problem returns what is wrong with the value.
func (f field) Problem() string {
	f.view.Problems.inputs.add(input{f.key, f.ID, f.Label})
	return sentence(f.view.Problems.Fields[f.key])
}

// Attributes returns the attributes of the input: the given ones, its descriptions, and whether it is invalid. The first invalid input gets
// the focus, without any script.
func (f field) Attributes() template.HTMLAttr {
	text, problem := f.attributes, f.Problem()
	var described []string
	if f.Hint != "" {
		described = append(described, f.ID+"-hint")
	}
	if wrong := f.view.Problems.Summary(); len(wrong) > 0 {
		text = strings.TrimSpace(strings.ReplaceAll(text, "autofocus", ""))
		if problem != "" {
			text += ` aria-invalid="true"`
			described = append(described, f.ID+"-problem")
		}
		if wrong[0].field == f.key {
			text += " autofocus"
		}
	}
	if len(described) > 0 {
		text += ` aria-describedby="` + template.HTMLEscapeString(strings.Join(described, " ")) + `"`
	}
	return template.HTMLAttr(" " + text)
}

package cli

import (
	"github.com/spf13/cobra"

	"bursar/api"
)

// textProperty is a property of an entry that holds a text and is not one of its
// fields. A line in textProperties makes it a flag of create and update, a column of
// import and export, and a line of get.
type textProperty struct {
	name   string // of the flag, of the column and in JSON
	usage  string
	values []string // that are allowed; nil for any text

	create func(*api.EntryCreate) **string // nil if a new entry cannot be given it
	update func(*api.EntryUpdate) **string
	get    func(*api.Entry) string
	listed bool // lists of entries tell it, too
}

func textProperties() []textProperty {
	return []textProperty{
		{
			name: "label", usage: "what lists call the entry, if it is not the name", listed: true,
			create: func(e *api.EntryCreate) **string { return &e.Label },
			update: func(e *api.EntryUpdate) **string { return &e.Label },
			get:    func(e *api.Entry) string { return e.Label },
		},
		{
			name: "name", usage: "the name",
			create: func(e *api.EntryCreate) **string { return &e.Name },
			update: func(e *api.EntryUpdate) **string { return &e.Name },
			get:    func(e *api.Entry) string { return e.Name },
		},
		{
			name: "status", usage: "active or inactive", values: api.EntryStatuses(), listed: true,
			update: func(e *api.EntryUpdate) **string { return &e.Status },
			get:    func(e *api.Entry) string { return e.Status },
		},
	}
}

// propertyNamed finds the property with a name.
func propertyNamed(name string) (property textProperty, ok bool) {
	for _, p := range textProperties() {
		if p.name == name {
			return p, true
		}
	}
	return textProperty{}, false
}

// propertyFlags are the values of the flags of properties, by name.
type propertyFlags map[string]*string

// bind adds the flags of all properties, or of those that a new entry can have.
func (f *propertyFlags) bind(c *cobra.Command, creating bool) {
	*f = propertyFlags{}
	for _, p := range textProperties() {
		if creating && p.create == nil {
			continue
		}
		(*f)[p.name] = c.Flags().String(p.name, "", p.usage)
		if p.values != nil {
			completeWords(c, p.name, p.values)
		}
	}
}

// fill sets the properties of a new entry that are not empty, and says whether there
// are any.
func (f propertyFlags) fill(e *api.EntryCreate) (any bool) {
	for _, p := range textProperties() {
		if value := f[p.name]; value != nil && *value != "" {
			*p.create(e) = value
			any = true
		}
	}
	return any
}

// change sets the properties that are given, empty or not, and says whether there
// are any.
func (f propertyFlags) change(c *cobra.Command, e *api.EntryUpdate) (any bool, err error) {
	for _, p := range textProperties() {
		if !c.Flags().Changed(p.name) {
			continue
		}
		*p.update(e) = f[p.name]
		any = true
		if p.values != nil && err == nil {
			err = oneOf(p.name, *f[p.name], p.values)
		}
	}
	return any, err
}

// exportedJSON is an entry as export writes and import reads it.
func exportedJSON(e *api.Entry) []byte {
	out := api.Fields{api.TextField("id", e.ID), api.TextField("type", e.Type)}
	for _, p := range textProperties() {
		if text := p.get(e); text != "" {
			out = append(out, api.TextField(p.name, text))
		}
	}
	if e.Tags != nil {
		out = append(out, api.Field{Key: "tags", Value: encoded(e.Tags)})
	}
	return append(out, api.Field{Key: "fields", Value: encoded(e.Fields)}).AppendJSON(nil)
}

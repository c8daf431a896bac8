package entryfile

import (
	"bursar/api"
)

// Property is a property of an entry that holds a text and is not one of its fields. A line in
// Properties makes it a column of import and export, a flag of the command line's create and
// update, and a line of its get.
type Property struct {
	Name   string // of the column, of the flag and in JSON
	Usage  string
	Values []string // that are allowed; nil for any text

	Create func(*api.EntryCreate) **string // nil if a new entry cannot be given it
	Update func(*api.EntryUpdate) **string
	Get    func(*api.Entry) string
}

// Properties lists the text properties of an entry in the order of the columns.
func Properties() []Property {
	return []Property{
		{
			Name: "label", Usage: "what lists call the entry, if it is not the name",
			Create: func(e *api.EntryCreate) **string { return &e.Label },
			Update: func(e *api.EntryUpdate) **string { return &e.Label },
			Get:    func(e *api.Entry) string { return e.Label },
		},
		{
			Name: "name", Usage: "the name",
			Create: func(e *api.EntryCreate) **string { return &e.Name },
			Update: func(e *api.EntryUpdate) **string { return &e.Name },
			Get:    func(e *api.Entry) string { return e.Name },
		},
		{
			Name: "status", Usage: "active or inactive", Values: api.EntryStatuses(),
			Update: func(e *api.EntryUpdate) **string { return &e.Status },
			Get:    func(e *api.Entry) string { return e.Status },
		},
		{
			Name: "external_id", Usage: "its id in another system, such as a payroll",
			Create: func(e *api.EntryCreate) **string { return &e.ExternalID },
			Update: func(e *api.EntryUpdate) **string { return &e.ExternalID },
			Get:    func(e *api.Entry) string { return e.ExternalID },
		},
	}
}

// propertyNamed finds the property with a name.
func propertyNamed(name string) (property Property, ok bool) {
	for _, p := range Properties() {
		if p.Name == name {
			return p, true
		}
	}
	return Property{}, false
}

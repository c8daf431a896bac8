package entryfile

import (
	"bursar/api"
)

// Property is a property of an entry that holds a text and is not one of its fields. An item of Properties makes it a column of the store,
// of import and of export, and a flag of the command line. It is also an input and a line in the console. Requests check its values;
// changes, merges and their undo carry it over.
type Property struct {
	Name    string // in JSON, in the store, of the column in files and of the flag
	Caption string // in the console
	Usage   string
	Values  []string // allowed values; nil for any text
	Max     int      // in characters, unless it has Values
	// Clearable reports whether an empty text removes it. The store has NULL for it then, which an index can leave out.
	Clearable bool
	// Derived reports whether its value can follow from others.
	Derived bool

	Create func(*api.EntryCreate) **string // nil if a new entry cannot have it
	Update func(*api.EntryUpdate) **string
	Of     func(*api.Entry) *string
}

// Properties lists the text properties of an entry in the order of the columns.
func Properties() []Property {
	return []Property{
		{
			Name: "label", Caption: "Label", Max: api.MaxEntryName, Derived: true, Usage: "what lists call the entry, if it is not the name",
			Create: func(e *api.EntryCreate) **string { return &e.Label },
			Update: func(e *api.EntryUpdate) **string { return &e.Label },
			Of:     func(e *api.Entry) *string { return &e.Label },
		},
		{
			Name: "name", Caption: "Entry name", Max: api.MaxEntryName, Usage: "the name",
			Create: func(e *api.EntryCreate) **string { return &e.Name },
			Update: func(e *api.EntryUpdate) **string { return &e.Name },
			Of:     func(e *api.Entry) *string { return &e.Name },
		},
		{
			Name: "status", Caption: "Status", Usage: "active or inactive", Values: api.EntryStatuses(),
			Update: func(e *api.EntryUpdate) **string { return &e.Status },
			Of:     func(e *api.Entry) *string { return &e.Status },
		},
		{
			Name: "external_id", Caption: "External ID", Max: api.MaxExternalID, Clearable: true, Usage: "its id in another system, such as a payroll",
			Create: func(e *api.EntryCreate) **string { return &e.ExternalID },
			Update: func(e *api.EntryUpdate) **string { return &e.ExternalID },
			Of:     func(e *api.Entry) *string { return &e.ExternalID },
		},
	}
}

// Text returns a property of an entry.
func Text(e *api.Entry, name string) string {
	if p, ok := propertyNamed(name); ok {
		return *p.Of(e)
	}
	return ""
}

// IsProperty reports whether a property has the name.
func IsProperty(name string) bool {
	_, ok := propertyNamed(name)
	return ok
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

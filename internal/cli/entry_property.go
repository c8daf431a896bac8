package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/internal/directory/entryfile"
)

// propertyFlags contains the values of the flags of properties, by name.
type propertyFlags map[string]*string

// flagOf returns the flag of a property.
func flagOf(p entryfile.Property) string { return strings.ReplaceAll(p.Name, "_", "-") }

// bind adds the flags of all properties, or of those that a new entry can have.
func (f *propertyFlags) bind(c *cobra.Command, creating bool) {
	*f = propertyFlags{}
	for _, p := range entryfile.Properties() {
		if creating && p.Create == nil {
			continue
		}
		(*f)[p.Name] = c.Flags().String(flagOf(p), "", p.Usage)
		if p.Values != nil {
			completeWords(c, flagOf(p), p.Values)
		}
	}
}

// fill sets the properties of a new entry that are not empty, and reports whether there are any.
func (f propertyFlags) fill(e *api.EntryCreate) (any bool) {
	for _, p := range entryfile.Properties() {
		if value := f[p.Name]; value != nil && *value != "" {
			*p.Create(e) = value
			any = true
		}
	}
	return any
}

// change sets the properties that are given, empty or not, and reports whether there are any.
func (f propertyFlags) change(c *cobra.Command, e *api.EntryUpdate) (any bool, err error) {
	for _, p := range entryfile.Properties() {
		if !c.Flags().Changed(flagOf(p)) {
			continue
		}
		*p.Update(e) = f[p.Name]
		any = true
		if p.Values != nil && err == nil {
			err = oneOf(flagOf(p), *f[p.Name], p.Values)
		}
	}
	return any, err
}

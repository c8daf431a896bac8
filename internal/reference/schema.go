package reference

import (
	"html/template"
	"slices"

	"go.yaml.in/yaml/v3"
)

type field struct {
	Name, Type  string
	Required    bool
	Description template.HTML
	Rules       []string
	Values      []string
}

// fields lists the fields of an object. Nested fields follow with dotted names.
func (d *document) fields(schema *yaml.Node, prefix string) ([]field, error) {
	var all []field
	required := values(d.child(schema, "required"))
	for name, property := range pairs(d.child(schema, "properties")) {
		made, err := d.field(prefix+name, property, "")
		if err != nil {
			return nil, err
		}
		made.Required = slices.Contains(required, name)
		all = append(all, made)
		inner, path := property, prefix+name+"."
		if d.text(property, "type") == "array" {
			inner, path = d.child(property, "items"), prefix+name+"[]."
		}
		below, err := d.fields(inner, path)
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return all, nil
}

func (d *document) field(name string, schema *yaml.Node, description string) (field, error) {
	if description == "" {
		description = ownValue(schema, "description")
	}
	if description == "" {
		description = d.text(schema, "description")
	}
	made := field{Name: name, Type: d.typeName(schema)}
	var err error
	if made.Description, err = inline(description); err != nil {
		return made, err
	}
	made.Rules = d.rules(schema)
	made.Values = values(d.child(schema, "enum"))
	if made.Values == nil {
		made.Values = values(d.child(schema, "items", "enum"))
	}
	made.Values = slices.DeleteFunc(made.Values, func(value string) bool { return value == "" })
	return made, nil
}

func (d *document) typeName(schema *yaml.Node) string {
	if constant := d.text(schema, "const"); constant != "" {
		return constant
	}
	name := d.text(schema, "type")
	if name == "array" {
		return "array of " + d.typeName(d.child(schema, "items"))
	}
	return name
}

func (d *document) rules(schema *yaml.Node) []string {
	var rules []string
	span := func(low, high, unit string) {
		from, to := d.text(schema, low), d.text(schema, high)
		switch {
		case from != "" && to != "":
			rules = append(rules, from+" to "+to+unit)
		case to != "":
			rules = append(rules, "at most "+to+unit)
		}
	}
	span("minimum", "maximum", "")
	span("minLength", "maxLength", " characters")
	span("minItems", "maxItems", " items")
	fallback := d.text(schema, "default")
	if own := ownValue(schema, "default"); own != "" {
		fallback = own
	}
	if fallback != "" {
		rules = append(rules, "default "+fallback)
	}
	return rules
}

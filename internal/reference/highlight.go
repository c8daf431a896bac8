package reference

import (
	"encoding/json"
	"html"
	"html/template"
	"strings"

	"go.yaml.in/yaml/v3"
)

// highlight formats an example as indented JSON in source order, with keys, strings and literals marked for the style sheet.
func highlight(node *yaml.Node) template.HTML {
	var out strings.Builder
	writeJSON(&out, node, "\n")
	return template.HTML(out.String())
}

// writeJSON writes a node. newline is the line break with the indentation of the present depth.
func writeJSON(out *strings.Builder, node *yaml.Node, newline string) {
	deeper := newline + "  "
	switch node.Kind {
	case yaml.AliasNode:
		writeJSON(out, node.Alias, newline)
	case yaml.MappingNode:
		if len(node.Content) == 0 {
			out.WriteString("{}")
			return
		}
		separator := "{" + deeper
		for key, value := range pairs(node) {
			out.WriteString(separator + mark("key", quote(key)) + ": ")
			writeJSON(out, value, deeper)
			separator = "," + deeper
		}
		out.WriteString(newline + "}")
	case yaml.SequenceNode:
		if len(node.Content) == 0 {
			out.WriteString("[]")
			return
		}
		separator := "[" + deeper
		for _, value := range node.Content {
			out.WriteString(separator)
			writeJSON(out, value, deeper)
			separator = "," + deeper
		}
		out.WriteString(newline + "]")
	default:
		if node.Tag == "!!str" {
			out.WriteString(mark("string", quote(node.Value)))
			return
		}
		out.WriteString(mark("literal", node.Value))
	}
}

func mark(class, text string) string {
	return `<span class="` + class + `">` + html.EscapeString(text) + `</span>`
}

func quote(text string) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil { // never happens for a string
		return `""`
	}
	return strings.TrimSuffix(out.String(), "\n")
}

package reference

import (
	"html"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

func (d *document) operation(method, path string, item, node *yaml.Node) (operation, error) {
	made := operation{
		ID:         d.text(node, "operationId"),
		Method:     method,
		Path:       d.base(item) + path,
		Summary:    d.text(node, "summary"),
		Credential: d.credential(node),
	}
	var err error
	if made.Description, err = markdown(d.text(node, "description")); err != nil {
		return made, err
	}
	parameters := slices.Concat(items(d.child(item, "parameters")), items(d.child(node, "parameters")))
	if made.Parameters, err = d.parameters(parameters); err != nil {
		return made, err
	}
	body := d.child(node, "requestBody")
	media := d.child(body, "content", "application/json")
	made.BodyRequired = d.text(body, "required") == "true"
	if made.BodyFields, err = d.fields(d.child(media, "schema"), ""); err != nil {
		return made, err
	}
	made.Request = d.request(made, parameters, media)
	err = d.responses(&made, d.child(node, "responses"))
	return made, err
}

func (d *document) parameters(nodes []*yaml.Node) ([]parameterGroup, error) {
	var groups []parameterGroup
	for _, place := range []string{"path", "query", "header"} {
		var found []field
		for _, node := range nodes {
			if d.text(node, "in") != place {
				continue
			}
			made, err := d.field(d.text(node, "name"), d.child(node, "schema"), d.text(node, "description"))
			if err != nil {
				return nil, err
			}
			made.Required = d.text(node, "required") == "true"
			found = append(found, made)
		}
		if len(found) > 0 {
			groups = append(groups, parameterGroup{Title: strings.ToUpper(place[:1]) + place[1:] + " parameters", Fields: found})
		}
	}
	return groups, nil
}

// request renders the HTTP request of an operation with its examples.
func (d *document) request(made operation, parameters []*yaml.Node, media *yaml.Node) template.HTML {
	target, query := made.Path, []string{}
	for _, node := range parameters {
		name, value := d.text(node, "name"), d.text(node, "example")
		switch d.text(node, "in") {
		case "path":
			target = strings.ReplaceAll(target, "{"+name+"}", url.PathEscape(value))
		case "query":
			if d.text(node, "required") == "true" {
				query = append(query, name+"="+url.QueryEscape(value))
			}
		}
	}
	if len(query) > 0 {
		target += "?" + strings.Join(query, "&")
	}
	var out strings.Builder
	out.WriteString(`<b>` + made.Method + `</b> ` + html.EscapeString(target))
	switch {
	case strings.HasPrefix(made.Credential, "Session"):
		out.WriteString("\nAuthorization: Bearer $TOKEN")
	case strings.HasPrefix(made.Credential, "API key"):
		out.WriteString("\nAuthorization: Bearer $API_KEY")
	}
	if body := d.child(media, "example"); body != nil {
		out.WriteString("\nContent-Type: application/json\n\n" + string(highlight(body)))
	}
	return template.HTML(out.String())
}

func (d *document) responses(made *operation, node *yaml.Node) error {
	for status, response := range pairs(node) {
		media := d.child(response, "content", "application/json")
		if !strings.HasPrefix(status, "2") {
			meaning, err := inline(d.text(response, "description"))
			if err != nil {
				return err
			}
			made.Failures = append(made.Failures, failure{Status: status, Codes: d.codes(d.child(media, "schema")), Meaning: meaning})
			continue
		}
		made.AnswerNote = d.text(response, "description")
		data := d.follow(d.child(media, "schema", "properties", "data"))
		if d.text(data, "type") == "array" {
			made.AnswerIsList = true
			data = d.child(data, "items")
		}
		var err error
		if made.AnswerFields, err = d.fields(data, ""); err != nil {
			return err
		}
		if single := d.child(media, "example"); single != nil {
			made.Answers = append(made.Answers, example{JSON: highlight(single)})
		}
		for kind, file := range pairs(d.child(response, "content")) {
			if kind != "application/json" {
				made.Answers = append(made.Answers, example{Title: kind, JSON: template.HTML(html.EscapeString(d.text(file, "example")))})
			}
		}
		for _, named := range pairs(d.child(media, "examples")) {
			made.Answers = append(made.Answers, example{Title: d.text(named, "summary"), JSON: highlight(d.child(named, "value"))})
		}
	}
	return nil
}

// codes finds the error codes that a response's schema allows.
func (d *document) codes(schema *yaml.Node) []string {
	code := d.child(schema, "properties", "error", "properties", "code")
	if constant := d.text(code, "const"); constant != "" {
		return []string{constant}
	}
	found := values(d.child(code, "enum"))
	for _, part := range items(d.child(schema, "allOf")) {
		found = append(found, d.codes(part)...)
	}
	return found
}

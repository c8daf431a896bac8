package openapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"bursar/api"
)

// The source states once what all operations have in common. It differs from the document as follows:
//
//   - A name stands for a component: {$ref: Entry} or data: Entry for a schema, Limit for a parameter, Retry-After for a header.
//   - A schema with properties is an object that allows no others, unless it has additionalProperties. A property is required
//     unless its name ends with "?".
//   - The body of an operation is JSON and required: schema, example.
//   - A response has data, a list, or a page. A list is paged on request, a page always. Its example is that of the data.
//     The envelope and the common headers are added.
//   - {{codes}} in the description of the API is the table of error codes.
//   - errors lists the error responses. Those that every operation has are added. An error has a status and codes.

const components = "#/components/"

// commonHeaders are the headers of every response.
var commonHeaders = []string{"X-Request-Id", "RateLimit", "RateLimit-Policy"}

// expand converts the source to the document.
func expand(root *yaml.Node) error {
	document := root.Content[0]
	expandSchemas(document)
	expandCodes(document)
	statuses := map[string]string{}
	for pair := range pairs(get(get(document, "components"), "responses")) {
		status := take(pair.value, "status")
		if status == nil {
			return fmt.Errorf("the answer %s has no status", pair.key.Value)
		}
		statuses[pair.key.Value] = status.Value
		for _, code := range items(get(pair.value, "codes")) {
			if is := api.Code(code.Value).Info(); strconv.Itoa(is.Status) != status.Value || is.When == "" {
				return fmt.Errorf("the answer %s has the status %s and the code %s: see api.Codes", pair.key.Value, status.Value, code.Value)
			}
		}
		expandError(pair.value)
	}
	for path := range pairs(get(document, "paths")) {
		expandParameters(path.value)
		for operation := range pairs(path.value) {
			if operation.key.Value == "parameters" || operation.key.Value == "servers" {
				continue
			}
			if err := expandOperation(path.value, operation.value, statuses); err != nil {
				return fmt.Errorf("%s %s: %w", operation.key.Value, path.key.Value, err)
			}
		}
	}
	return nil
}

// expandCodes writes the table of error codes into the description of the API.
func expandCodes(document *yaml.Node) {
	description := get(get(document, "info"), "description")
	if description == nil {
		return
	}
	var table strings.Builder
	table.WriteString("| Status | Code | When |\n|---|---|---|")
	for _, one := range api.Codes() {
		if one.When != "" {
			fmt.Fprintf(&table, "\n| %d | `%s` | %s |", one.Status, one.Code, one.When)
		}
	}
	description.Value = strings.Replace(description.Value, "{{codes}}", table.String(), 1)
}

// expandSchemas expands references to schemas and objects at every level.
func expandSchemas(node *yaml.Node) {
	switch node.Kind {
	case yaml.SequenceNode:
		for _, item := range node.Content {
			expandSchemas(item)
		}
	case yaml.MappingNode:
		for pair := range pairs(node) {
			switch key := pair.key.Value; {
			case key == "$ref" && pair.value.Kind == yaml.ScalarNode && !strings.HasPrefix(pair.value.Value, "#"):
				pair.value.Value = components + "schemas/" + pair.value.Value
			case key == "properties" || key == "schemas":
				for named := range pairs(pair.value) {
					expandSchemas(named.value)
				}
			case key != "example" && key != "examples" && key != "error" && key != "errors" && key != "if":
				expandSchemas(pair.value)
			}
		}
		if properties := get(node, "properties"); properties != nil && properties.Kind == yaml.MappingNode && get(node, "type") == nil {
			expandObject(node, properties)
		}
	}
}

func expandObject(node, properties *yaml.Node) {
	required := sequence()
	for property := range pairs(properties) {
		name, optional := strings.CutSuffix(property.key.Value, "?")
		if property.key.Value, property.key.Style = name, 0; !optional {
			required.Content = append(required.Content, text(name))
		}
	}
	added := []*yaml.Node{text("type"), text("object")}
	switch open := get(node, "additionalProperties"); {
	case open == nil:
		added = append(added, text("additionalProperties"), boolean(false))
	case open.Value == "true":
		take(node, "additionalProperties")
	}
	if len(required.Content) > 0 {
		added = append(added, text("required"), required)
	}
	node.Content = append(added, node.Content...)
}

// schema returns the schema that a name refers to, or the schema itself.
func schema(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.ScalarNode {
		return reference("schemas", node.Value)
	}
	return node
}

// expandError expands an error response.
func expandError(answer *yaml.Node) {
	content := mapping()
	codes, given := take(answer, "codes"), take(answer, "schema")
	if codes != nil {
		code := mapping("enum", codes)
		if len(codes.Content) == 1 {
			code = mapping("const", codes.Content[0])
		}
		given = mapping("allOf", sequence(reference("schemas", "Error"), mapping("type", text("object"), "properties",
			mapping("error", mapping("type", text("object"), "properties", mapping("code", code))))))
	}
	put(content, "schema", schema(given))
	envelope := func(problem *yaml.Node) *yaml.Node {
		if codes != nil && get(problem, "code") == nil {
			problem.Content = append([]*yaml.Node{text("code"), codes.Content[0]}, problem.Content...)
		}
		return mapping("ok", boolean(false), "error", problem)
	}
	if problem := take(answer, "error"); problem != nil {
		put(content, "example", envelope(problem))
	}
	if problems := take(answer, "errors"); problems != nil {
		for example := range pairs(problems) {
			summary := take(example.value, "summary")
			*example.value = *mapping("summary", summary, "value", envelope(clone(example.value)))
		}
		put(content, "examples", problems)
	}
	expandHeaders(answer)
	put(answer, "content", mapping("application/json", content))
}

// expandHeaders puts the common headers before those of the response.
func expandHeaders(answer *yaml.Node, more ...string) {
	headers := mapping()
	for _, name := range append(slices.Clone(commonHeaders), more...) {
		put(headers, name, reference("headers", name))
	}
	for _, named := range items(take(answer, "headers")) {
		if named.Kind == yaml.ScalarNode {
			put(headers, named.Value, reference("headers", named.Value))
			continue
		}
		for pair := range pairs(named) { // refers to another component
			put(headers, pair.key.Value, reference("headers", pair.value.Value))
		}
	}
	content := take(answer, "content")
	put(answer, "headers", headers)
	if content != nil {
		put(answer, "content", content)
	}
}

func expandParameters(node *yaml.Node) {
	for _, parameter := range items(get(node, "parameters")) {
		if parameter.Kind == yaml.ScalarNode {
			*parameter = *reference("parameters", parameter.Value)
		}
	}
}

func expandOperation(path, operation *yaml.Node, statuses map[string]string) error {
	expandParameters(operation)
	once := slices.ContainsFunc(items(get(operation, "parameters")), func(n *yaml.Node) bool {
		reference := get(n, "$ref")
		return reference != nil && reference.Value == components+"parameters/IdempotencyKey"
	})
	var replayed []string
	if once {
		replayed = []string{"Idempotent-Replayed"}
	}
	if body := get(operation, "body"); body != nil {
		expandBody(operation, body)
	}
	responses := get(operation, "responses")
	for answer := range pairs(responses) {
		expandAnswer(answer.value)
		expandHeaders(answer.value, replayed...)
	}
	failures := map[string]string{}
	for _, name := range commonErrors(path, operation, once) {
		failures[statuses[name]] = name
	}
	for _, named := range items(take(operation, "errors")) {
		status, ok := statuses[named.Value]
		if !ok {
			return fmt.Errorf("there is no answer %s", named.Value)
		}
		failures[status] = named.Value
	}
	for _, status := range sorted(failures) {
		put(responses, status, reference("responses", failures[status]))
	}
	return nil
}

// commonErrors returns the names of the errors that every operation of a kind has.
func commonErrors(path, operation *yaml.Node, once bool) []string {
	common := []string{"RateLimited", "InternalError", "Unavailable"}
	if once {
		common = append(common, "IdempotencyConflict", "BodyTooLarge")
	}
	security := get(operation, "security")
	switch {
	case security != nil && len(security.Content) == 0:
	case get(path, "servers") != nil: // a /v2 path
		common = append(common, "MoneyUnauthorized")
	default:
		common = append(common, "Unauthorized")
	}
	return common
}

func expandBody(operation, body *yaml.Node) {
	content := mapping("schema", schema(take(body, "schema")))
	for _, name := range []string{"example", "examples"} {
		if value := take(body, name); value != nil {
			put(content, name, value)
		}
	}
	if required := take(body, "required"); required == nil {
		put(body, "required", boolean(true))
	}
	put(body, "content", mapping("application/json", content))
	for i := 0; i < len(operation.Content); i += 2 {
		if operation.Content[i].Value == "body" {
			operation.Content[i] = text("requestBody")
		}
	}
}

// expandAnswer wraps the data of a response in its envelope.
func expandAnswer(answer *yaml.Node) {
	envelope := mapping("type", text("object"), "additionalProperties", boolean(false))
	properties := mapping("ok", mapping("type", text("boolean"), "const", boolean(true)))
	content := mapping("schema", envelope)
	data, list, page := take(answer, "data"), take(answer, "list"), take(answer, "page")
	switch {
	case data != nil:
		put(envelope, "required", sequence(text("ok"), text("data")))
		put(properties, "data", schema(data))
		put(envelope, "properties", properties)
	case list != nil || page != nil:
		required := sequence(text("ok"), text("data"))
		of := list
		if page != nil {
			of, required.Content = page, append(required.Content, text("has_more"))
		}
		put(envelope, "required", required)
		put(properties, "data", mapping("type", text("array"), "items", schema(of)))
		put(properties, "cursor", mapping("type", text("string"), "minLength", number("1")))
		put(properties, "has_more", mapping("type", text("boolean")))
		put(envelope, "properties", properties)
		put(envelope, "allOf", sequence(reference("schemas", "CursorRule")))
	default:
		return // already expanded
	}
	if example := take(answer, "example"); example != nil {
		put(content, "example", success(example, answer))
	}
	if examples := take(answer, "examples"); examples != nil {
		for example := range pairs(examples) {
			summary := take(example.value, "summary")
			value := success(take(example.value, "data"), example.value)
			*example.value = *mapping("summary", summary, "value", value)
		}
		put(content, "examples", examples)
	}
	put(answer, "content", mapping("application/json", content))
}

// success returns a response with data and, beside it, the cursor of a page.
func success(data, beside *yaml.Node) *yaml.Node {
	answer := mapping("ok", boolean(true), "data", data)
	for _, name := range []string{"cursor", "has_more"} {
		if value := take(beside, name); value != nil {
			put(answer, name, value)
		}
	}
	return answer
}

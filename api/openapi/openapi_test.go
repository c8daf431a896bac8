package openapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"bursar/api/openapi"

	"github.com/pb33f/libopenapi/datamodel" // the official schema of OpenAPI documents
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestDocumentIsValidOpenAPI31(t *testing.T) {
	official, err := jsonschema.UnmarshalJSON(strings.NewReader(datamodel.OpenAPI31SchemaData))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("openapi-3.1.json", official); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("openapi-3.1.json")
	if err != nil {
		t.Fatalf("compile the schema of OpenAPI documents: %v", err)
	}
	document := parse(t)
	if got := document["openapi"]; got != "3.1.0" {
		t.Errorf("version %q, want 3.1.0", got)
	}
	if err := schema.Validate(document); err != nil {
		t.Errorf("the document is not valid: %v", err)
	}
}

func TestEveryReferenceLeadsSomewhere(t *testing.T) {
	document := parse(t)
	count := 0
	walk(document, "", func(pointer string, object map[string]any) {
		reference, ok := object["$ref"].(string)
		if !ok {
			return
		}
		count++
		keys, ok := strings.CutPrefix(reference, "#/")
		if !ok || lookup(document, strings.Split(keys, "/")...) == nil {
			t.Errorf("%s refers to %s, which is not there", pointer, reference)
		}
	})
	if count < 100 {
		t.Errorf("only %d references were looked at", count)
	}
}

func TestJSONKeepsTheOrderOfKeys(t *testing.T) {
	document, err := openapi.JSON()
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	var keys []string
	for depth := 0; ; {
		token, err := decoder.Token()
		if err != nil {
			t.Fatalf("read JSON: %v", err)
		}
		if delimiter, ok := token.(json.Delim); ok {
			depth += map[json.Delim]int{'{': 1, '[': 1, '}': -1, ']': -1}[delimiter]
			if depth == 0 {
				break
			}
			continue
		}
		if key, ok := token.(string); ok && depth == 1 {
			keys = append(keys, key)
			// The value of a scalar key would be taken for a key.
			if key == "openapi" {
				if _, err := decoder.Token(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	want := []string{"openapi", "info", "servers", "security", "tags", "paths", "components"}
	if !slices.Equal(keys, want) {
		t.Errorf("keys %v, want %v", keys, want)
	}
}

func TestEveryOperationIsDescribed(t *testing.T) {
	document := parse(t)
	tags := map[string]bool{}
	for _, tag := range document["tags"].([]any) {
		tags[tag.(map[string]any)["name"].(string)] = true
	}
	ids := map[string]string{}
	for name, operation := range operations(document) {
		for _, key := range []string{"operationId", "summary", "description"} {
			if text, _ := operation[key].(string); strings.TrimSpace(text) == "" {
				t.Errorf("%s has no %s", name, key)
			}
		}
		id, _ := operation["operationId"].(string)
		if other, taken := ids[id]; taken {
			t.Errorf("%s and %s share the operationId %s", name, other, id)
		}
		ids[id] = name
		for _, tag := range operation["tags"].([]any) {
			if !tags[tag.(string)] {
				t.Errorf("%s has the tag %s, which is not declared", name, tag)
			}
		}
		if body, ok := operation["requestBody"].(map[string]any); ok && !hasExample(body) {
			t.Errorf("%s has no example of its request body", name)
		}
		success, _ := lookup(operation, "responses", "200").(map[string]any)
		if success == nil {
			success, _ = lookup(operation, "responses", "201").(map[string]any)
		}
		if !hasExample(success) {
			t.Errorf("%s has no example of its answer", name)
		}
	}
	if len(ids) < 40 {
		t.Errorf("only %d operations were looked at", len(ids))
	}
}

func TestEveryOperationNamesItsErrors(t *testing.T) {
	for name, operation := range operations(parse(t)) {
		method, _, _ := strings.Cut(name, " ")
		want := []string{"429", "500"}
		security, own := operation["security"].([]any)
		bearer := !own || slices.ContainsFunc(security, func(one any) bool { return lookup(one, "session") != nil })
		if bearer {
			want = append(want, "401")
		}
		if bearer && method != "GET" {
			want = append(want, "400", "409")
			parameters, _ := operation["parameters"].([]any)
			if !slices.ContainsFunc(parameters, func(parameter any) bool {
				return parameter.(map[string]any)["$ref"] == "#/components/parameters/IdempotencyKey"
			}) {
				t.Errorf("%s does not take an idempotency key", name)
			}
		}
		if method != "GET" {
			want = append(want, "400", "413")
		}
		for _, status := range want {
			if lookup(operation, "responses", status) == nil {
				t.Errorf("%s does not name the status %s", name, status)
			}
		}
	}
}

func TestObjectsAreClosed(t *testing.T) {
	document := parse(t)
	open := map[string]bool{"Fields": true}
	closed := 0
	for name, schema := range lookup(document, "components", "schemas").(map[string]any) {
		object, _ := schema.(map[string]any)
		if object["type"] != "object" || open[name] {
			continue
		}
		closed++
		if object["additionalProperties"] != false {
			t.Errorf("the schema %s lets unknown fields pass", name)
		}
	}
	for name, operation := range operations(document) {
		for _, status := range []string{"200", "201"} {
			schema, isJSON := lookup(operation, "responses", status, "content", "application/json", "schema").(map[string]any)
			if isJSON && schema["$ref"] == nil && schema["additionalProperties"] != false {
				t.Errorf("the answer of %s lets unknown fields pass", name)
			}
		}
	}
	if closed == 0 {
		t.Error("no schema was looked at")
	}
}

func TestExamplesMatchTheirSchemas(t *testing.T) {
	document := parse(t)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("openapi.json", document); err != nil {
		t.Fatal(err)
	}
	count := 0
	walk(document, "", func(pointer string, object map[string]any) {
		if object["schema"] == nil {
			return
		}
		for name, example := range examples(object) {
			count++
			schema, err := compiler.Compile("openapi.json#" + pointer + "/schema")
			if err != nil {
				t.Fatalf("compile the schema at %s: %v", pointer, err)
			}
			if err := schema.Validate(example); err != nil {
				t.Errorf("example %q at %s: %v", name, pointer, err)
			}
		}
	})
	if count < 100 {
		t.Errorf("only %d examples were looked at", count)
	}
}

func parse(t *testing.T) map[string]any {
	t.Helper()
	document, err := openapi.JSON()
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	return value.(map[string]any)
}

func operations(document map[string]any) map[string]map[string]any {
	found := map[string]map[string]any{}
	for path, item := range document["paths"].(map[string]any) {
		for method, operation := range item.(map[string]any) {
			if method != "parameters" && method != "servers" {
				found[strings.ToUpper(method)+" "+path] = operation.(map[string]any)
			}
		}
	}
	return found
}

func lookup(value any, keys ...string) any {
	for _, key := range keys {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}

func hasExample(message map[string]any) bool {
	content, _ := lookup(message, "content").(map[string]any)
	for _, media := range content {
		if len(examples(media.(map[string]any))) == 0 {
			return false
		}
	}
	return len(content) > 0
}

func examples(object map[string]any) map[string]any {
	found := map[string]any{}
	if example, ok := object["example"]; ok {
		found["example"] = example
	}
	named, _ := object["examples"].(map[string]any)
	for name, example := range named {
		found[name] = lookup(example, "value")
	}
	return found
}

func walk(value any, pointer string, visit func(pointer string, object map[string]any)) {
	switch value := value.(type) {
	case map[string]any:
		visit(pointer, value)
		escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
		for _, key := range slices.Sorted(maps.Keys(value)) {
			walk(value[key], pointer+"/"+escape.Replace(key), visit)
		}
	case []any:
		for i, item := range value {
			walk(item, fmt.Sprintf("%s/%d", pointer, i), visit)
		}
	}
}

package openapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"bursar/api"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// described is an operation of the contract.
type described struct {
	route      string
	parameters []any // of its path
	operation  map[string]any
}

// contract returns the operations of the contract by their names.
func contract(t *testing.T) map[string]described {
	t.Helper()
	all := map[string]described{}
	for path, item := range lookup(parse(t), "paths").(map[string]any) {
		item, base := item.(map[string]any), "/v1"
		if item["servers"] != nil {
			base = "/v2"
		}
		parameters, _ := item["parameters"].([]any)
		for method, one := range item {
			if one, ok := one.(map[string]any); ok {
				all[one["operationId"].(string)] = described{strings.ToUpper(method) + " " + base + path, parameters, one}
			}
		}
	}
	return all
}

func TestContractAndOperationsAgree(t *testing.T) {
	documented := contract(t)
	for _, o := range api.Operations() {
		switch one, ok := documented[o.Name()]; {
		case !ok:
			t.Errorf("openapi.yaml lacks %s. Fill in and paste:\n%s", o.Name(), skeleton(o, documented))
		case one.route != o.String():
			t.Errorf("%s is %s in the contract and %s in api.Operations", o.Name(), one.route, o)
		}
		delete(documented, o.Name())
	}
	for name, one := range documented {
		t.Errorf("api.Operations lacks %s, %s", name, one.route)
	}
}

// skeleton is an operation as openapi.yaml needs it. FILL IN marks what the author writes.
func skeleton(o api.Operation, documented map[string]described) string {
	var out strings.Builder
	version, path := o.Path()[:len("/v1")], o.Path()[len("/v1"):]
	fmt.Fprintf(&out, "  %s:\n", path)
	if version == "/v2" {
		out.WriteString("    servers: [{url: /v2}]\n")
	}
	if strings.Contains(path, "{") {
		fmt.Fprintf(&out, "    parameters: [%s]\n", strings.Join(pathParameters(o.Path(), documented), ", "))
	}
	fmt.Fprintf(&out, "    %s:\n      operationId: %s\n      tags: [FILL IN]\n      summary: FILL IN\n      description: |\n        FILL IN. Needs `FILL IN`.\n",
		strings.ToLower(o.Method()), o.Name())
	if version == "/v2" {
		out.WriteString("      security: [{session: []}, {basic: []}]\n")
	}
	in, result := o.Types()
	if o.Method() != "GET" {
		out.WriteString("      parameters: [IdempotencyKey]\n")
	}
	if in != reflect.TypeFor[api.None]() {
		fmt.Fprintf(&out, "      body: {schema: %s, example: {FILL IN: FILL IN}}\n", in.Name())
	}
	kind := "data: " + result.Name()
	if item, ok := strings.CutPrefix(result.Name(), "Page[bursar/api."); ok {
		kind = "page: " + strings.TrimSuffix(item, "]")
	}
	fmt.Fprintf(&out, "      responses:\n        '200':\n          description: FILL IN.\n          %s\n          example: {FILL IN: FILL IN}\n", kind)
	out.WriteString("      errors: [BadRequest, Forbidden, NotFound]\n")
	return out.String()
}

// pathParameters names the parameters of a path as other operations below the same path name theirs.
func pathParameters(path string, documented map[string]described) (names []string) {
	for end := range len(path) {
		if path[end] != '}' {
			continue
		}
		name := "FILL IN"
		for _, one := range documented {
			_, other, _ := strings.Cut(one.route, " ")
			if n := len(names); strings.HasPrefix(other, path[:end+1]) && n < len(one.parameters) {
				reference, _ := lookup(one.parameters[n], "$ref").(string)
				name = strings.TrimPrefix(reference, "#/components/parameters/")
			}
		}
		names = append(names, name)
	}
	return names
}

// The example of each body and each response is a value of the type that the operation has for it, with no property lost.
func TestExamplesAreValuesOfTheTypesOfTheirOperations(t *testing.T) {
	documented := contract(t)
	for _, o := range api.Operations() {
		t.Run(o.Name(), func(t *testing.T) {
			in, out := o.Types()
			operation := documented[o.Name()].operation
			for _, example := range jsonExamples(lookup(operation, "requestBody")) {
				sameAs(t, in, example)
			}
			for _, status := range []string{"200", "201"} {
				for _, example := range jsonExamples(lookup(operation, "responses", status)) {
					sameAs(t, out, lookup(example, "data"))
				}
			}
		})
	}
}

func jsonExamples(message any) []any {
	media, _ := lookup(message, "content", "application/json").(map[string]any)
	var all []any
	for _, example := range examples(media) {
		all = append(all, example)
	}
	return all
}

// sameAs compares an example with what a value of a type keeps of it.
func sameAs(t *testing.T, of reflect.Type, example any) {
	t.Helper()
	text, err := json.Marshal(example)
	if err != nil {
		t.Fatal(err)
	}
	value := reflect.New(of)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(value.Interface()); err != nil {
		t.Fatalf("%s is no %v: %v", text, of, err)
	}
	kept, err := api.EncodeJSON(value.Interface())
	if err != nil {
		t.Fatal(err)
	}
	again, err := jsonschema.UnmarshalJSON(bytes.NewReader(kept))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(example, again); diff != "" {
		t.Errorf("the example (-) and the %v (+) differ:\n%s", of, diff)
	}
}

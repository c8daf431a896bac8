package server_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bursar/api"
	"bursar/api/openapi"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// schema is the part of a JSON schema that the bodies of requests use.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 any
	Properties           map[string]schema
	Required             []string
	AdditionalProperties any
	Items                *schema
	Enum                 []any
	Pattern              string
	MinLength, MinItems  int
	MaxLength, MaxItems  *int
	Minimum, Maximum     *int64
}

// requestBody is a JSON body as the contract describes it.
type requestBody struct {
	Schema  schema
	Example any
}

// contractDocument is what the tests read of the contract.
type contractDocument struct {
	schemas    map[string]schema
	operations map[string]contractOperation // by name
}

type contractOperation struct {
	OperationID, Description string
	RequestBody              struct{ Content map[string]requestBody }
}

// body returns the JSON body of an operation.
func (c contractDocument) body(o api.Operation) (described requestBody, ok bool) {
	described, ok = c.operations[o.Name()].RequestBody.Content["application/json"]
	return described, ok
}

func readContract(t *testing.T) contractDocument {
	t.Helper()
	var document struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]schema }
	}
	text, err := openapi.JSON()
	if err == nil {
		err = json.Unmarshal(text, &document)
	}
	if err != nil {
		t.Fatal(err)
	}
	operations := map[string]contractOperation{}
	for _, item := range document.Paths {
		for _, described := range item {
			var one contractOperation
			if err := json.Unmarshal(described, &one); err == nil { // others are parameters and servers
				operations[one.OperationID] = one
			}
		}
	}
	return contractDocument{document.Components.Schemas, operations}
}

// violation is a value that breaks one rule of a schema.
type violation struct {
	field string // dotted, of the part that is wrong
	rule  string
	value any
}

// within returns the violations of a part as violations of the whole.
func within(name string, part []violation, whole func(part any) any) (all []violation) {
	for _, v := range part {
		all = append(all, violation{strings.TrimSuffix(name+"."+v.field, "."), v.rule, whole(v.value)})
	}
	return all
}

// violations derives from a valid value one for every rule of a schema that it can break.
func (c contractDocument) violations(s schema, valid any) (all []violation) {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return c.violations(c.schemas[name], valid)
	}
	add := func(broken bool, rule string, value func() any) {
		if broken {
			all = append(all, violation{rule: rule, value: value()})
		}
	}
	text := func(n int) any { return strings.Repeat("x", n) }
	kinds := map[string]any{"string": "x", "integer": 1, "number": 1.5, "boolean": true, "array": []any{}, "object": body{}, "null": nil}
	for kind, value := range kinds {
		add(kind != s.Type, "type "+kind, func() any { return value })
	}
	add(s.Enum != nil, "enum", func() any { return "no such value" })
	add(s.Pattern != "", "pattern", func() any { return "?" })
	add(s.MinLength > 0, "minLength", func() any { return text(s.MinLength - 1) })
	add(s.MaxLength != nil, "maxLength", func() any { return text(*s.MaxLength + 1) })
	add(s.Minimum != nil, "minimum", func() any { return *s.Minimum - 1 })
	add(s.Maximum != nil, "maximum", func() any { return *s.Maximum + 1 })
	add(s.MinItems > 0, "minItems", func() any { return make([]any, s.MinItems-1) })
	switch s.Type {
	case "array":
		items, _ := valid.([]any)
		items = append(items, nil)
		add(s.MaxItems != nil, "maxItems", func() any { return slices.Repeat(items[:1], *s.MaxItems+1) })
		all = append(all, within("0", c.violations(*s.Items, items[0]), func(item any) any { return []any{item} })...)
	case "object":
		object, _ := valid.(body)
		with := func(name string) func(any) any {
			return func(value any) any {
				changed := body{name: value}
				for other, kept := range object {
					if other != name {
						changed[other] = kept
					}
				}
				return changed
			}
		}
		for name, property := range s.Properties {
			all = append(all, within(name, c.violations(property, object[name]), with(name))...)
		}
		for _, name := range s.Required {
			less := maps.Clone(object)
			delete(less, name)
			all = append(all, violation{name, "required", less})
		}
		if s.AdditionalProperties == false {
			all = append(all, violation{"no_such_property", "additionalProperties", with("no_such_property")(1)})
		}
	}
	return all
}

// exampleWorkspace is the workspace of the examples.
const exampleWorkspace = "ws_01jd2m8k3vq7w5x9y0z1a2b3c4"

// refuses reports whether an answer names a field, or what contains it, as the reason why it is a refusal.
func refuses(answer *servertest.Answer, field string) bool {
	if answer.Status == 200 { // items of a batch are refused one by one
		one := servertest.Decoded[api.BatchResult](answer).Results[0]
		return one.Error != nil && one.Error.Code == "VALIDATION_ERROR" && strings.HasPrefix(one.Error.Message, strings.Split(field, ".")[2]+" ")
	}
	for refused := range answer.Fails(400, "VALIDATION_ERROR").Violations() {
		if refused == "body" && field == "" || strings.HasPrefix(field+".", refused+".") {
			return true
		}
	}
	return false
}

// Every rule of the contract about a body is enforced, and the answer names the property that breaks it.
func TestBodyThatBreaksARuleOfTheContractIsRefused(t *testing.T) {
	t.Parallel()
	contract := readContract(t)
	n := servertest.Start(t, dbtest.SQLite(t))
	admin := n.Admin(t)
	n.Unchanged(t, func() {
		for _, o := range api.Operations() {
			described, ok := contract.body(o)
			if !ok {
				continue
			}
			path := strings.Replace(o.Path(), "/workspaces/{id}", "/workspaces/"+n.First.WorkspaceID, 1)
			path = pathParameter.ReplaceAllString(path, "example")
			t.Run(o.String(), func(t *testing.T) {
				for _, v := range contract.violations(described.Schema, described.Example) {
					text, err := json.Marshal(v.value)
					if err != nil {
						t.Fatal(err)
					}
					answer := admin.On(t).Do(o.Method(), path, strings.ReplaceAll(string(text), exampleWorkspace, n.First.WorkspaceID))
					if !refuses(answer, v.field) {
						t.Errorf("%s against %s: %.200s was answered %d %s", v.field, v.rule, text, answer.Status, answer.Body)
					}
				}
			})
		}
	})
}

// reference is an id, a digest or a column in an example.
var reference = regexp.MustCompile(`"([a-z]+_[0-9a-z]{26}|[0-9a-f]{64}|method\.account_id)"`)

// An example is accepted once the people and roles that it names exist, with references to what exists, an amount that the account has,
// and no slug, since another organization may have it.
func TestExamplesOfBodiesAreAccepted(t *testing.T) {
	t.Parallel()
	contract := readContract(t)
	n := servertest.Start(t, dbtest.SQLite(t))
	n.RunBackground(t)
	grace := n.User(t, "grace@acme.example")
	for _, o := range operations() {
		described, ok := contract.body(o)
		if !ok {
			continue
		}
		t.Run(o.String(), func(t *testing.T) {
			x := n.Tenant(t)
			x.Define("payee_clerk", "ws.read")
			grace.On(t).Join(x.Add("grace@acme.example", "viewer"))
			r := o.ask(x, x.Owner)
			existing, _ := r.body.(body)
			example := maps.Clone(described.Example.(body))
			for name, value := range example {
				text, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				if name != "amount_cents" && name != "slug" && !reference.Match(text) {
					continue
				}
				if example[name] = existing[name]; existing[name] == nil {
					delete(example, name)
				}
			}
			r.body = example
			o.do(x.Owner.On(t), r).OK()
		})
	}
}

package contract

import (
	"maps"
	"testing"

	"bursar/api/openapi"
)

func TestExamplesMatchTheirSchemas(t *testing.T) {
	s, err := parse(openapi.JSON)
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range object(s.root["paths"]) {
		for method, details := range object(item) {
			at := "/paths/" + escape(path) + "/" + method
			s.checkExamples(t, at+"/requestBody")
			for status := range object(object(details)["responses"]) {
				s.checkExamples(t, at+"/responses/"+status)
			}
		}
	}
}

// checkExamples compares the examples of a body, if there is one, with its schema.
func (s *source) checkExamples(t *testing.T, pointer string) {
	t.Helper()
	pointer, body, err := s.follow(pointer)
	if err != nil {
		return // the operation has no body
	}
	for media, content := range object(body["content"]) {
		schema, err := s.compile(pointer + "/content/" + escape(media) + "/schema")
		if err != nil {
			t.Fatal(err)
		}
		examples := maps.Clone(object(object(content)["examples"]))
		if examples == nil {
			examples = map[string]any{}
		}
		if one, ok := object(content)["example"]; ok {
			examples["example"] = map[string]any{"value": one}
		}
		for name, example := range examples {
			if err := schema.Validate(object(example)["value"]); err != nil {
				t.Errorf("%s: the example %s: %v", pointer, name, err)
			}
		}
	}
}

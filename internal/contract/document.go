package contract

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const address = "openapi.json"

// source reads the document. Compiled schemas and answers are shared by the
// many operations that refer to them.
type source struct {
	root     map[string]any
	compiler *jsonschema.Compiler
	answers  map[string]*answer
}

func parse(load func() ([]byte, error)) (*source, error) {
	document, err := load()
	if err != nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, fmt.Errorf("parse the OpenAPI document: %w", err)
	}
	root, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("the OpenAPI document is not an object")
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource(address, root); err != nil {
		return nil, fmt.Errorf("load the OpenAPI document: %w", err)
	}
	return &source{root: root, compiler: compiler, answers: map[string]*answer{}}, nil
}

// compile compiles the schema at a JSON pointer. The pointer becomes a URL fragment, in
// which braces must be escaped.
func (s *source) compile(pointer string) (*jsonschema.Schema, error) {
	schema, err := s.compiler.Compile(address + "#" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(pointer))
	if err != nil {
		return nil, fmt.Errorf("compile the schema at %s: %w", pointer, err)
	}
	return schema, nil
}

// follow resolves a chain of references and returns the value at its end.
func (s *source) follow(pointer string) (string, map[string]any, error) {
	var value any = s.root
	for _, part := range strings.Split(pointer, "/")[1:] {
		value = object(value)[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	found := object(value)
	if found == nil {
		return "", nil, fmt.Errorf("nothing stands at %s", pointer)
	}
	if reference, ok := found["$ref"].(string); ok {
		return s.follow(strings.TrimPrefix(reference, "#"))
	}
	return pointer, found, nil
}

func object(value any) map[string]any {
	found, _ := value.(map[string]any)
	return found
}

func escape(part string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(part)
}

// Package openapi contains the OpenAPI document. The server serves it, tests check every response against it, and the reference page is
// rendered from it. It is separate from package api so that the client does not link a YAML parser.
package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

//go:embed openapi.yaml
var document string

// JSON returns the expanded document as JSON, with its keys in the order of the source.
func JSON() ([]byte, error) { return toJSON([]byte(document)) }

func toJSON(source []byte) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(source, &root); err != nil {
		return nil, fmt.Errorf("parse the OpenAPI document: %w", err)
	}
	if err := expand(&root); err != nil {
		return nil, fmt.Errorf("expand the OpenAPI document: %w", err)
	}
	var out bytes.Buffer
	if err := writeNode(&out, &root); err != nil {
		return nil, fmt.Errorf("convert the OpenAPI document to JSON: %w", err)
	}
	return out.Bytes(), nil
}

func writeNode(out *bytes.Buffer, node *yaml.Node) error {
	switch node.Kind {
	case yaml.DocumentNode:
		return writeNode(out, node.Content[0])
	case yaml.AliasNode:
		return writeNode(out, node.Alias)
	case yaml.MappingNode:
		return writeMapping(out, node)
	case yaml.SequenceNode:
		return writeSequence(out, node)
	default:
		return writeScalar(out, node)
	}
}

func writeMapping(out *bytes.Buffer, node *yaml.Node) error {
	out.WriteByte('{')
	for i := 0; i < len(node.Content); i += 2 {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := writeValue(out, node.Content[i].Value); err != nil {
			return err
		}
		out.WriteByte(':')
		if err := writeNode(out, node.Content[i+1]); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}

func writeSequence(out *bytes.Buffer, node *yaml.Node) error {
	out.WriteByte('[')
	for i, item := range node.Content {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := writeNode(out, item); err != nil {
			return err
		}
	}
	out.WriteByte(']')
	return nil
}

func writeScalar(out *bytes.Buffer, node *yaml.Node) error {
	var value any
	if err := node.Decode(&value); err != nil {
		return fmt.Errorf("line %d: %w", node.Line, err)
	}
	return writeValue(out, value)
}

// writeValue does not escape <, > and &, because the document is served as JSON, never inside a page.
func writeValue(out *bytes.Buffer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1) // Encode ends with a newline
	return nil
}

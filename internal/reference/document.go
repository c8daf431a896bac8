package reference

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is the parsed YAML. It stays a tree of nodes because the page keeps the order of the source, which a map would lose.
type document struct {
	root *yaml.Node
}

func parse(source []byte) (*document, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(source, &root); err != nil {
		return nil, fmt.Errorf("parse the OpenAPI document: %w", err)
	}
	if len(root.Content) == 0 || root.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("the OpenAPI document is not an object")
	}
	return &document{root: root.Content[0]}, nil
}

// child descends by keys, through references. It returns nil if a key does not exist.
func (d *document) child(node *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		node = d.follow(node)
		var next *yaml.Node
		for name, value := range pairs(node) {
			if name == key {
				next = value
				break
			}
		}
		node = next
	}
	return node
}

func (d *document) text(node *yaml.Node, keys ...string) string {
	if found := d.follow(d.child(node, keys...)); found != nil && found.Kind == yaml.ScalarNode {
		return found.Value
	}
	return ""
}

// follow resolves references until it reaches their target.
func (d *document) follow(node *yaml.Node) *yaml.Node {
	if node != nil && node.Kind == yaml.AliasNode {
		return d.follow(node.Alias)
	}
	reference := ownValue(node, "$ref")
	if reference == "" {
		return node
	}
	target := d.root
	for _, part := range strings.Split(strings.TrimPrefix(reference, "#/"), "/") {
		target = d.child(target, strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
	}
	return d.follow(target)
}

// ownValue reads a key beside a reference, not behind it.
func ownValue(node *yaml.Node, key string) string {
	for name, value := range pairs(node) {
		if name == key && value.Kind == yaml.ScalarNode {
			return value.Value
		}
	}
	return ""
}

func pairs(node *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		if node == nil || node.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i < len(node.Content); i += 2 {
			if !yield(node.Content[i].Value, node.Content[i+1]) {
				return
			}
		}
	}
}

func items(node *yaml.Node) []*yaml.Node {
	if node == nil || node.Kind != yaml.SequenceNode {
		return nil
	}
	return node.Content
}

func values(node *yaml.Node) []string {
	var all []string
	for _, item := range items(node) {
		all = append(all, item.Value)
	}
	return all
}

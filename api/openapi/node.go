package openapi

import (
	"iter"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

func text(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

func number(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: value}
}

func boolean(value bool) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "false"}
	if value {
		node.Value = "true"
	}
	return node
}

func sequence(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items}
}

// mapping returns a mapping of alternating names and nodes. It omits names whose node is nil.
func mapping(namesAndNodes ...any) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i < len(namesAndNodes); i += 2 {
		if value := namesAndNodes[i+1].(*yaml.Node); value != nil {
			put(node, namesAndNodes[i].(string), value)
		}
	}
	return node
}

func reference(kind, name string) *yaml.Node {
	return mapping("$ref", text(components+kind+"/"+name))
}

func clone(node *yaml.Node) *yaml.Node {
	copied := *node
	return &copied
}

// pair is a key of a mapping with its value.
type pair struct{ key, value *yaml.Node }

func pairs(node *yaml.Node) iter.Seq[pair] {
	return func(yield func(pair) bool) {
		if node == nil || node.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if !yield(pair{node.Content[i], node.Content[i+1]}) {
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

func get(node *yaml.Node, name string) *yaml.Node {
	for pair := range pairs(node) {
		if pair.key.Value == name {
			return pair.value
		}
	}
	return nil
}

func put(node *yaml.Node, name string, value *yaml.Node) {
	node.Content = append(node.Content, text(name), value)
}

// take removes a key and returns its value, or nil if there is none.
func take(node *yaml.Node, name string) *yaml.Node {
	for i := 0; node != nil && i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			value := node.Content[i+1]
			node.Content = slices.Delete(node.Content, i, i+2)
			return value
		}
	}
	return nil
}

func sorted(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

package reference

import (
	"fmt"
	"html/template"
	"strings"

	"go.yaml.in/yaml/v3"
)

type page struct {
	Title, Version, Summary string
	Intro                   template.HTML
	Sections                []section
	Groups                  []*group
}

type section struct {
	Name, Anchor string
}

type group struct {
	Name, Anchor string
	Intro        template.HTML
	Operations   []operation
}

type operation struct {
	ID, Method, Path, Summary string
	Credential                string
	Description               template.HTML
	Parameters                []parameterGroup
	BodyRequired              bool
	BodyFields                []field
	Request                   template.HTML
	AnswerNote                string
	AnswerIsList              bool
	AnswerFields              []field
	Answers                   []example
	Failures                  []failure
}

type parameterGroup struct {
	Title  string
	Fields []field
}

type example struct {
	Title string
	JSON  template.HTML
}

type failure struct {
	Status  string
	Codes   []string
	Meaning template.HTML
}

func (d *document) page() (*page, error) {
	description := d.text(d.root, "info", "description")
	intro, err := markdown(description)
	if err != nil {
		return nil, err
	}
	content := &page{
		Title:   d.text(d.root, "info", "title"),
		Version: d.text(d.root, "info", "version"),
		Summary: d.text(d.root, "info", "summary"),
		Intro:   intro,
	}
	for line := range strings.Lines(description) {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			name = strings.TrimSpace(name)
			content.Sections = append(content.Sections, section{Name: name, Anchor: anchor(name)})
		}
	}
	byTag := map[string]*group{}
	for _, tag := range items(d.child(d.root, "tags")) {
		name := d.text(tag, "name")
		intro, err := markdown(d.text(tag, "description"))
		if err != nil {
			return nil, err
		}
		byTag[name] = &group{Name: name, Anchor: anchor(name), Intro: intro}
		content.Groups = append(content.Groups, byTag[name])
	}
	for path, item := range pairs(d.child(d.root, "paths")) {
		for method, node := range pairs(item) {
			if method == "parameters" || method == "servers" {
				continue
			}
			tags := values(d.child(node, "tags"))
			if len(tags) == 0 || byTag[tags[0]] == nil {
				return nil, fmt.Errorf("%s %s has no tag that the document declares", method, path)
			}
			made, err := d.operation(strings.ToUpper(method), path, item, node)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			byTag[tags[0]].Operations = append(byTag[tags[0]].Operations, made)
		}
	}
	return content, nil
}

// base returns the prefix of a path: that of the path itself, or of the document.
func (d *document) base(item *yaml.Node) string {
	servers := items(d.child(item, "servers"))
	if len(servers) == 0 {
		servers = items(d.child(d.root, "servers"))
	}
	if len(servers) == 0 {
		return ""
	}
	return strings.TrimSuffix(d.text(servers[0], "url"), "/")
}

// credential describes the credential that a caller must send.
func (d *document) credential(node *yaml.Node) string {
	security := d.child(node, "security")
	if security == nil {
		security = d.child(d.root, "security")
	}
	words := map[string]string{"session": "Session token", "apiKeyBearer": "API key", "basic": "client id and secret"}
	var names []string
	for _, requirement := range items(security) {
		for name := range pairs(requirement) {
			if words[name] != "" {
				name = words[name]
			}
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "No credential"
	}
	return strings.Join(names, " or ")
}

// anchor returns the id of a heading, as the markdown renderer does.
func anchor(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), " ", "-")
}

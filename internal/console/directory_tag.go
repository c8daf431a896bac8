package console

import (
	"errors"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/directory"
	"bursar/internal/fault"
)

// tagForm is the form of a tag.
type tagForm struct {
	ID        string
	Called    string // the current name
	Name      string
	AppliesTo string
}

// tagsPage lists all tags and has the form for a new one.
type tagsPage struct {
	Tags []api.Tag
	New  tagForm
}

func (c *Console) tagsPage(v *visit) error {
	tags, err := v.tags()
	if err != nil {
		return err
	}
	return v.show("directory_tags", "Tags", tagsPage{Tags: tags, New: tagForm{AppliesTo: "all"}})
}

func (c *Console) createTag(v *visit) error {
	form := tagForm{Name: v.field("name"), AppliesTo: v.field("applies_to")}
	_, err := change(v, c.Directory.CreateTag, directory.CreateTagInput{TagCreate: api.TagCreate{
		WorkspaceID: v.workspace.ID, Name: form.Name, AppliesTo: optional(form.AppliesTo),
	}})
	if p, status, ok := tagProblems(err); ok {
		tags, err := v.tags()
		if err != nil {
			return err
		}
		return v.showAgain(status, "directory_tags", "Tags", p, tagsPage{tags, form})
	}
	if err != nil {
		return err
	}
	return v.done("Tag \""+form.Name+"\" created.", v.path("directory", "tags"))
}

// tagProblems returns the problems of a tag's form. Errors about the whole tag are shown beside the field that causes them.
func tagProblems(err error) (problems, int, bool) {
	p, status, ok := formProblems(err, "name", "applies_to")
	var f *fault.Fault
	if ok && errors.As(err, &f) {
		switch f.Code {
		case api.CodeTagExists:
			p = problems{Fields: map[string]string{"name": p.Text}}
		case api.CodeTagInUse:
			p = problems{Fields: map[string]string{"applies_to": p.Text}}
		}
	}
	return p, status, ok
}

// tag finds the tag named in the URL.
func (v *visit) tag() (api.Tag, error) {
	tags, err := v.tags()
	if err != nil {
		return api.Tag{}, err
	}
	for _, t := range tags {
		if t.ID == v.R.PathValue("id") {
			return t, nil
		}
	}
	return api.Tag{}, errNoPage
}

func (c *Console) tagPage(v *visit) error {
	t, err := v.tag()
	if err == nil {
		err = v.need(access.TagsWrite)
	}
	if err != nil {
		return err
	}
	return v.show("directory_tag", "Edit tag", tagForm{t.ID, t.Name, t.Name, t.AppliesTo})
}

func (c *Console) updateTag(v *visit) error {
	t, err := v.tag()
	if err != nil {
		return err
	}
	form := tagForm{t.ID, t.Name, v.field("name"), v.field("applies_to")}
	_, err = change(v, c.Directory.UpdateTag, directory.UpdateTagInput{ID: t.ID, TagUpdate: api.TagUpdate{
		Name: &form.Name, AppliesTo: &form.AppliesTo,
	}})
	if p, status, ok := tagProblems(err); ok {
		return v.showAgain(status, "directory_tag", "Edit tag", p, form)
	}
	if err != nil {
		return err
	}
	return v.done("Tag \""+form.Name+"\" saved.", v.path("directory", "tags"))
}

func (c *Console) deleteTag(v *visit) error {
	t, err := v.tag()
	if err != nil {
		return err
	}
	if _, err := change(v, c.Directory.DeleteTag, directory.TagInput{ID: t.ID}); err != nil {
		return err
	}
	return v.done("Tag \""+t.Name+"\" deleted and removed from all entries.", v.path("directory", "tags"))
}

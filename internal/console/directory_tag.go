package console

import (
	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/directory"
)

func (c *Console) tagsPage(v *visit) error {
	tags, err := v.tags()
	if err != nil {
		return err
	}
	v.preset("applies_to", api.AppliesToAll)
	return v.show("directory_tags", "Tags", tags)
}

func (c *Console) createTag(v *visit) error {
	_, err := submit(v, c.Directory.CreateTag, directory.CreateTagInput{TagCreate: api.TagCreate{WorkspaceID: v.workspace.ID}})
	if err != nil {
		return v.tagAgain(err, c.tagsPage)
	}
	return v.done("Tag \""+v.field("name")+"\" created.", v.path("directory", "tags"))
}

// tagAgain shows the page of a tag's form again. Errors about the whole tag are shown beside the field that causes them.
func (v *visit) tagAgain(err error, page func(v *visit) error) error {
	p, status, ok := formProblems(err)
	switch {
	case !ok:
		return err
	case hasCode(err, api.CodeTagExists):
		p = problem("name", p.Text)
	case hasCode(err, api.CodeTagInUse):
		p = problem("applies_to", p.Text)
	}
	return v.againWith(status, p, page)
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
	v.preset("name", t.Name)
	v.preset("applies_to", t.AppliesTo)
	return v.show("directory_tag", "Edit tag", t)
}

func (c *Console) updateTag(v *visit) error {
	t, err := v.tag()
	if err != nil {
		return err
	}
	in := directory.UpdateTagInput{ID: t.ID, TagUpdate: api.TagUpdate{Name: &t.Name, AppliesTo: &t.AppliesTo}}
	if _, err := submit(v, c.Directory.UpdateTag, in); err != nil {
		return v.tagAgain(err, c.tagPage)
	}
	return v.done("Tag \""+v.field("name")+"\" saved.", v.path("directory", "tags"))
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

package console

import (
	"errors"
	"net/http"
	"net/url"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/directory"
	"bursar/internal/fault"
)

// entryKind returns the type of a new entry: a person, unless the request names an organization.
func entryKind(from url.Values) string {
	if from.Get("type") == api.TypeOrganization {
		return api.TypeOrganization
	}
	return api.TypePerson
}

func formTitle(id, kind string) string {
	if id == "" {
		return "New " + kind
	}
	return "Edit " + kind
}

func (v *visit) formAgain(err error, f entryForm) error {
	p, status, ok := formProblems(err)
	var denied *fault.Fault
	if errors.As(err, &denied) && denied.Details == (fault.PermissionDetails{Permission: string(access.TagsWrite)}) {
		// The person can correct this error by omitting the new tag.
		if recorded := v.refused(err); !errors.Is(recorded, err) {
			return recorded
		}
		p, status, ok = problem("tags", denied.Message), http.StatusForbidden, true
	}
	if !ok {
		return err
	}
	return v.showAgain(status, "directory_form", formTitle(f.ID, f.Type), p, f)
}

func (c *Console) editEntryPage(v *visit) error {
	e, err := v.entry()
	if err == nil {
		err = v.need(access.DirectoryWrite)
	}
	if err != nil {
		return err
	}
	tags, err := v.tags()
	if err != nil {
		return err
	}
	form := newForm(e, tags)
	form.List = v.listQuery()
	v.preset("label", e.Label)
	v.preset("name", e.Name)
	return v.show("directory_form", formTitle(e.ID, e.Type), form)
}

func (c *Console) updateEntry(v *visit) error {
	e, err := v.entry()
	if err != nil {
		return err
	}
	tags, err := v.tags()
	if err != nil {
		return err
	}
	form := v.sentForm(e.ID, e.Type, tags)
	form.List = v.listQuery()
	update, err := form.update(e.Tags)
	if err != nil {
		return v.formAgain(err, form)
	}
	done, err := v.updateEntry(e, update)
	if err != nil {
		return v.formAgain(err, form)
	}
	return v.updated(done, "Changes saved.")
}

func (v *visit) updateEntry(e api.Entry, update api.EntryUpdate) (api.Created, error) {
	return change(v, v.console.Directory.Update, directory.UpdateInput{ID: e.ID, EntryUpdate: update})
}

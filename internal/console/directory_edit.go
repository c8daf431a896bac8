package console

import (
	"net/http"
	"net/url"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/directory"
)

func (c *Console) newEntryPage(v *visit) error {
	if err := v.need(access.DirectoryWrite); err != nil {
		return err
	}
	tags, err := v.tags()
	if err != nil {
		return err
	}
	kind := entryKind(v.R.URL.Query())
	return v.show("directory_form", formTitle("", kind), newForm(api.Entry{Type: kind, Fields: api.Fields{}}, tags))
}

// entryKind is the type of a new entry: a person unless the request asks for an
// organization.
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

// formFields are the fields whose problems the form shows beside the input.
func formFields() []string { return []string{"fields.email", "name", "label", "tags", "fields"} }

func (v *visit) formAgain(err error, f entryForm) error {
	p, status, ok := formProblems(err, formFields()...)
	if !ok {
		return err
	}
	return v.showAgain(status, "directory_form", formTitle(f.ID, f.Type), p, f)
}

// identified says whether the form has anything that tells the entry from others. The
// API accepts an entry without, and calls it "Unnamed person".
func (f entryForm) identified() bool {
	return f.Label != "" || slices.ContainsFunc(f.Usual, func(u usualField) bool { return u.Key != api.FieldIndustry && tidyText(u.Value) != "" })
}

func (c *Console) createEntry(v *visit) error {
	tags, err := v.tags()
	if err != nil {
		return err
	}
	form := v.sentForm("", entryKind(v.form), tags)
	form.Was = "{}"
	if v.can(access.DirectoryWrite) && !form.identified() {
		nameless := problems{Fields: map[string]string{"fields." + form.Usual[0].Key: "Enter a name, an email address or a phone number."}}
		return v.showAgain(http.StatusUnprocessableEntity, "directory_form", formTitle("", form.Type), nameless, form)
	}
	changes, err := form.changes()
	if err != nil {
		return v.formAgain(err, form)
	}
	created, err := change(v, c.Directory.Create, directory.CreateInput{EntryCreate: api.EntryCreate{
		WorkspaceID: v.workspace.ID, Type: form.Type, Fields: changes, Tags: form.chosen(), Label: optional(form.Label),
	}})
	if err != nil {
		return v.formAgain(err, form)
	}
	return v.done("Added to the directory.", v.path("directory", created.ID))
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
	return v.show("directory_form", formTitle(e.ID, e.Type), newForm(e, tags))
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
	update, err := form.update(e.Tags)
	if err != nil {
		return v.formAgain(err, form)
	}
	if _, err := v.updateEntry(e, update); err != nil {
		return v.formAgain(err, form)
	}
	return v.done("Changes saved.", v.path("directory", e.ID))
}

// update builds the update request. It contains only what the person changed, so
// that two people who edit the same entry do not undo each other's changes.
func (f entryForm) update(current []string) (update api.EntryUpdate, err error) {
	update.Fields, err = f.changes()
	if f.Label != f.WasLabel {
		update.Label = &f.Label
	}
	if f.Name != f.WasName {
		update.Name = &f.Name
	}
	if names, changed := f.retag(current); changed {
		update.Tags = names
	}
	return update, err
}

func (v *visit) updateEntry(e api.Entry, update api.EntryUpdate) (api.Created, error) {
	return change(v, v.console.Directory.Update, directory.UpdateInput{ID: e.ID, EntryUpdate: update})
}

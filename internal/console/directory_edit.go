package console

import (
	"net/http"
	"net/url"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/web"
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
	if from.Get("type") == entryOrganization {
		return entryOrganization
	}
	return entryPerson
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
	return f.Label != "" || slices.ContainsFunc(f.Usual, func(u usualField) bool { return u.Key != "industry" && tidyText(u.Value) != "" })
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
	body := map[string]any{"workspace_id": v.workspace.ID, "type": form.Type, "fields": changes.object(), "tags": form.chosen()}
	optional(body, "label", form.Label)
	created, err := act(v, audit.EntryCreated, c.Directory.Create, web.Args{Body: body})
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
	body, err := form.update(e.Tags)
	if err != nil {
		return v.formAgain(err, form)
	}
	if _, err := v.change(e, body); err != nil {
		return v.formAgain(err, form)
	}
	return v.done("Changes saved.", v.path("directory", e.ID))
}

// update builds the update request. It contains only what the person changed, so
// that two people who edit the same entry do not undo each other's changes.
func (f entryForm) update(current []string) (map[string]any, error) {
	changes, err := f.changes()
	body := map[string]any{}
	if len(changes.keys) > 0 {
		body["fields"] = changes.object()
	}
	if f.Label != f.WasLabel {
		body["label"] = f.Label
	}
	if f.Name != f.WasName {
		body["name"] = f.Name
	}
	if names, changed := f.retag(current); changed {
		body["tags"] = names
	}
	return body, err
}

// change updates an entry.
func (v *visit) change(e api.Entry, body map[string]any) (api.Created, error) {
	return act(v, audit.EntryUpdated, v.console.Directory.Update, web.Args{Path: map[string]string{"id": e.ID}, Body: body})
}

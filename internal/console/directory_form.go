package console

import (
	"slices"
	"strconv"
	"strings"

	"bursar/api"
	"bursar/internal/directory/entryfile"
)

// entryForm is the form of an entry. It contains the values that were shown (Was…) in hidden inputs, so that saving changes only what the
// person edited.
type entryForm struct {
	ID       string // "" for a new entry
	Type     string
	Label    string
	WasLabel string
	Name     string
	WasName  string // "" if the entry has no name outside its fields
	Texts    []textInput
	Was      string // the fields as JSON
	Usual    []usualField
	Further  []furtherField
	Tags     []tagChoice
	MoreTags string // names separated by commas
	WasTags  []string
	Known    []string                  // existing tags beyond those in Tags, offered as suggestions
	List     string                    // the list that the person came from
	Doubts   []doubt                   // warnings to review before a new entry is added
	Account  api.ReceivingMethodCreate // first receiving method of a new entry, if it has a number
}

// textInput is the input of an optional property of an entry.
type textInput struct{ Name, Caption, Value, WasValue string }

// textInputs returns an input for each of these properties. value returns the value of a property in the form.
func textInputs(value func(name string) (is, was string)) (all []textInput) {
	for _, p := range entryfile.Properties() {
		if p.Clearable {
			is, was := value(p.Name)
			all = append(all, textInput{p.Name, p.Caption, is, was})
		}
	}
	return all
}

type usualField struct{ Key, Value string }

// Caption returns the label of the input, Kind its type.
func (f usualField) Caption() string { return caption(f.Key) }

func (f usualField) Kind() string {
	switch f.Key {
	case api.FieldEmail:
		return "email"
	case api.FieldPhone:
		return "tel"
	}
	return "text"
}

// furtherField is a custom field: any field that is not one of the usual ones.
type furtherField struct {
	Key, Value string
	From       string // its index among the shown fields, "" for a new field
}

// Long reports whether the value has more than one line.
func (f furtherField) Long() bool { return strings.ContainsAny(f.Value, "\r\n") }

type tagChoice struct {
	Name string
	On   bool
}

// newForm fills the form from an entry. An entry without an id is a new one.
func newForm(e api.Entry, tags []api.Tag) entryForm {
	f := entryForm{
		ID: e.ID, Type: e.Type, Label: e.Label, WasLabel: e.Label, Name: e.Name, WasName: e.Name,
		Was: e.Fields.String(), WasTags: e.Tags,
		Texts: textInputs(func(name string) (is, was string) { return entryfile.Text(&e, name), entryfile.Text(&e, name) }),
	}
	for _, key := range api.UsualFields(e.Type) {
		f.Usual = append(f.Usual, usualField{key, e.Fields.Display(key)})
	}
	for i, field := range e.Fields {
		if !slices.Contains(api.UsualFields(e.Type), field.Key) {
			f.Further = append(f.Further, furtherField{field.Key, field.Display(), strconv.Itoa(i)})
		}
	}
	f.offer(tags, e.Tags)
	return f
}

// maxChips is the number of tags that the form offers as checkboxes. The rest are suggested while typing.
const maxChips = 40

// offer fills in the tags to choose from and ticks the chosen ones.
func (f *entryForm) offer(tags []api.Tag, chosen []string) {
	for _, name := range chosen {
		f.Tags = append(f.Tags, tagChoice{name, true})
	}
	for _, t := range tags {
		switch {
		case t.AppliesTo != api.AppliesToAll && t.AppliesTo != f.Type, containsFold(chosen, t.Name):
		case len(f.Tags) < maxChips:
			f.Tags = append(f.Tags, tagChoice{t.Name, containsFold(chosen, t.Name)})
		default:
			f.Known = append(f.Known, t.Name)
		}
	}
	slices.SortStableFunc(f.Tags, func(a, b tagChoice) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
}

func containsFold(names []string, name string) bool {
	return slices.ContainsFunc(names, func(one string) bool { return strings.EqualFold(one, name) })
}

// sentForm reads the submitted form.
func (v *visit) sentForm(id, kind string, tags []api.Tag) entryForm {
	f := entryForm{
		ID: id, Type: kind, Label: v.field("label"), WasLabel: v.field("was-label"), Name: v.field("name"), WasName: v.field("was-name"),
		Was: v.form.Get("was"), MoreTags: v.field("more-tags"), WasTags: v.form["was-tag"],
		Texts: textInputs(func(name string) (is, was string) { return v.field(name), v.field("was-" + name) }),
	}
	for _, key := range api.UsualFields(kind) {
		f.Usual = append(f.Usual, usualField{key, v.form.Get("field-" + key)})
	}
	values, places := v.form["value"], v.form["from"]
	for i, key := range v.form["key"] {
		if i < len(values) && i < len(places) && (strings.TrimSpace(key) != "" || tidyText(values[i]) != "" || places[i] != "") {
			f.Further = append(f.Further, furtherField{strings.TrimSpace(key), values[i], places[i]})
		}
	}
	f.offer(tags, v.form["tag"])
	return f
}

// create returns the request that creates an entry.
func (f entryForm) create(workspaceID string) (api.EntryCreate, error) {
	fields, err := f.changes()
	entry := api.EntryCreate{WorkspaceID: workspaceID, Type: f.Type, Fields: fields, Tags: f.chosen(), Label: optional(f.Label)}
	for _, p := range entryfile.Properties() {
		for _, text := range f.Texts {
			if text.Name == p.Name {
				*p.Create(&entry) = optional(text.Value)
			}
		}
	}
	return entry, err
}

// update returns the update request. It contains only what the person changed, so that two people who edit the same entry do not undo each
// other's changes.
func (f entryForm) update(current []string) (update api.EntryUpdate, err error) {
	update.Fields, err = f.changes()
	if f.Label != f.WasLabel {
		update.Label = &f.Label
	}
	if f.Name != f.WasName {
		update.Name = &f.Name
	}
	for _, p := range entryfile.Properties() {
		for _, text := range f.Texts {
			if text.Name == p.Name && text.Value != text.WasValue {
				*p.Update(&update) = &text.Value
			}
		}
	}
	if names, changed := f.retag(current); changed {
		update.Tags = names
	}
	return update, err
}

// changes compares the form with the values that were shown.
func (f entryForm) changes() (api.Fields, error) {
	was, _ := api.ParseFields([]byte(f.Was)) // none if the form does not contain it
	var out fieldChanges
	taken := map[string]bool{}
	for _, usual := range f.Usual {
		taken[usual.Key] = true
		old, _ := was.Get(usual.Key)
		old.Key = usual.Key
		if err := out.replace(usual.Key, usual.Value, old); err != nil {
			return nil, err
		}
	}
	for _, further := range f.Further {
		key, old := further.Key, fieldAt(was, further.From)
		if key == tidyText(old.Key) {
			key = old.Key
		}
		switch {
		case key == "" && tidyText(further.Value) == "":
			continue
		case key == "" && len(old.Value) == 0, key == "" && old.Key != "":
			return nil, errNameless
		case taken[key]:
			return nil, errTwice
		}
		taken[key] = true
		if err := out.replace(key, further.Value, old); err != nil {
			return nil, err
		}
	}
	for _, field := range was {
		if !taken[field.Key] {
			if err := out.remove(field.Key); err != nil {
				return nil, err
			}
		}
	}
	return out.Fields, nil
}

// fieldAt returns the field with a submitted index, or an empty field if there is none.
func fieldAt(fields api.Fields, index string) api.Field {
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= len(fields) {
		return api.Field{}
	}
	return fields[i]
}

// chosen lists the ticked and the typed tags.
func (f entryForm) chosen() []string {
	var names []string
	for _, tag := range f.Tags {
		if tag.On {
			names = append(names, tag.Name)
		}
	}
	for name := range strings.SplitSeq(f.MoreTags, ",") {
		if name = strings.TrimSpace(name); name != "" && !containsFold(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// retag applies the person's tag changes to the entry's current tags, which someone else may have changed meanwhile.
func (f entryForm) retag(current []string) (tags []string, changed bool) {
	chosen := f.chosen()
	tags = []string{}
	for _, name := range current {
		if containsFold(f.WasTags, name) && !containsFold(chosen, name) {
			changed = true
			continue
		}
		tags = append(tags, name)
	}
	for _, name := range chosen {
		if !containsFold(f.WasTags, name) && !containsFold(tags, name) {
			tags, changed = append(tags, name), true
		}
	}
	return tags, changed
}

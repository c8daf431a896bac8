package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/accountnumber"
	"bursar/internal/db"
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

// createEntry adds an entry with its tags and its first receiving method, all or nothing.
func (c *Console) createEntry(v *visit) error {
	tags, err := v.tags()
	if err != nil {
		return err
	}
	form := v.sentForm("", entryKind(v.form), tags)
	form.Was = "{}"
	form.Account = api.ReceivingMethodCreate{Provider: v.field("provider"), AccountName: v.field("account_name"), AccountID: v.field("account_id")}
	if wrong := form.incomplete(); v.can(access.DirectoryWrite) && len(wrong) > 0 {
		return v.showAgain(http.StatusUnprocessableEntity, "directory_form", formTitle("", form.Type), problems{Fields: wrong}, form)
	}
	entry, err := form.create(v.workspace.ID)
	if err != nil {
		return v.formAgain(err, form)
	}
	in := directory.CreateInput{EntryCreate: entry, Method: form.method()}
	// The doubts are checked within the change. Otherwise a form that was sent twice would be a duplicate of itself.
	created, err := change(v, func(ctx context.Context, by db.Caller, in directory.CreateInput) (created api.Created, err error) {
		if form.Doubts, err = v.doubts(form, in); err != nil {
			return created, err
		}
		if slices.ContainsFunc(form.Doubts, func(d doubt) bool { return !slices.Contains(v.form["seen"], d.Text) }) {
			return created, errDoubts
		}
		return c.Directory.Create(ctx, by, in)
	}, in)
	if errors.Is(err, errDoubts) {
		return v.showAgain(http.StatusUnprocessableEntity, "directory_form", formTitle("", form.Type), problems{}, form)
	}
	if err != nil {
		return v.formAgain(asDouble(err), form)
	}
	return v.done("Added to the directory.", v.path("directory", created.ID))
}

// errDoubts is the error for a form with warnings that the person has not seen.
var errDoubts = errors.New("the form has doubts that nobody has seen")

// doubt is a warning about a new entry.
type doubt struct {
	Text    string
	EntryID string // the entry that it is about, if any
}

// called returns the name that the form gives an entry, or "". The API accepts an entry without a name, and calls it "Unnamed person".
func (f entryForm) called() string {
	var names []string
	for _, u := range f.Usual {
		if u.Key == api.FieldFirstName || u.Key == api.FieldLastName || u.Key == api.FieldName {
			names = append(names, tidyText(u.Value))
		}
	}
	if name := strings.TrimSpace(strings.Join(names, " ")); name != "" {
		return name
	}
	return f.Label
}

// incomplete returns what is missing or invalid in the form of a new entry, by field.
func (f entryForm) incomplete() map[string]string {
	wrong := map[string]string{}
	if f.called() == "" {
		wrong["fields."+f.Usual[0].Key] = "Enter a name."
	}
	account := f.Account
	if account == (api.ReceivingMethodCreate{}) {
		return wrong
	}
	if account.Provider == "" {
		wrong["provider"] = "Enter the bank or wallet of the account."
	}
	if account.AccountID == "" {
		wrong["account_id"] = "Enter the number of the account, or leave out the bank."
	}
	if why := accountnumber.Wrong(account.AccountID); why != "" {
		wrong["account_id"] = why
	}
	return wrong
}

// doubts returns warnings about a new entry. The person can add it anyway, unless the workspace refuses duplicates, which the create
// reports.
func (v *visit) doubts(f entryForm, in directory.CreateInput) (all []doubt, err error) {
	if why := accountnumber.Doubt(f.Account.Provider, f.Account.AccountID); f.Account.AccountID != "" && why != "" {
		all = append(all, doubt{Text: why})
	}
	if !v.can(access.DirectoryRead) || !v.can(access.DirectoryWrite) || v.workspace.OnDuplicate == api.OnDuplicateRefuse {
		return all, nil
	}
	found, err := read(v, v.console.Directory.Doubles, in)
	for _, d := range found.Duplicates {
		if slices.Equal(d.Reasons, []string{"account"}) {
			all = append(all, doubt{"The bank account is also that of " + d.Label + ".", d.ID})
		} else {
			all = append(all, doubt{"It may be a double of " + called([]api.Duplicate{d}) + ".", d.ID})
		}
	}
	return all, err
}

// method returns the receiving method in the form of a new entry, or nil.
func (f entryForm) method() *api.ReceivingMethodCreate {
	m := f.Account
	if m == (api.ReceivingMethodCreate{}) {
		return nil
	}
	m.AccountName = cmp.Or(m.AccountName, f.called())
	return &m
}

package console

import (
	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/directory"
)

// methodForm is the form of a receiving method.
type methodForm struct {
	EntryID     string
	EntryLabel  string
	ID          string // "" for a new method
	Provider    string
	AccountName string
	Account     string // what the person typed, never the stored number
	Masked      string // the stored number, masked
	IsDefault   bool
	First       bool // the entry has no other method
}

func methodTitle(f methodForm) string {
	if f.ID == "" {
		return "New receiving method"
	}
	return "Edit receiving method"
}

func (v *visit) methodAgain(err error, f methodForm) error {
	p, status, ok := formProblems(err, "provider", "account_name", "account_id", "is_default")
	if !ok {
		return err
	}
	return v.showAgain(status, "directory_method", methodTitle(f), p, f)
}

// readMethod copies the submitted values into the form.
func (v *visit) readMethod(f *methodForm) {
	f.Provider, f.AccountName, f.Account = v.field("provider"), v.field("account_name"), v.field("account_id")
}

func (c *Console) newMethodPage(v *visit) error {
	e, err := v.entry()
	if err == nil {
		err = v.need(access.ReceivingWrite)
	}
	if err != nil {
		return err
	}
	form := methodForm{EntryID: e.ID, EntryLabel: e.Label, First: hasNone(e)}
	return v.show("directory_method", methodTitle(form), form)
}

func hasNone(e api.Entry) bool { return e.ReceivingMethods != nil && len(*e.ReceivingMethods) == 0 }

func (c *Console) addMethod(v *visit) error {
	e, err := v.entry()
	if err != nil {
		return err
	}
	form := methodForm{EntryID: e.ID, EntryLabel: e.Label, First: hasNone(e), IsDefault: v.field("is_default") != ""}
	v.readMethod(&form)
	_, err = change(v, c.Directory.AddMethod, directory.AddMethodInput{EntryID: e.ID, ReceivingMethodCreate: api.ReceivingMethodCreate{
		Provider: form.Provider, AccountName: form.AccountName, AccountID: form.Account, IsDefault: form.IsDefault,
	}})
	if err != nil {
		return v.methodAgain(err, form)
	}
	return v.done("Receiving method added.", v.path("directory", e.ID))
}

// method reads the entry and the receiving method named in the URL.
func (v *visit) method() (api.Entry, api.ReceivingMethod, error) {
	e, err := v.entry()
	if err != nil || e.ReceivingMethods == nil {
		return e, api.ReceivingMethod{ID: v.R.PathValue("method_id")}, err
	}
	for _, m := range *e.ReceivingMethods {
		if m.ID == v.R.PathValue("method_id") {
			return e, m, nil
		}
	}
	return e, api.ReceivingMethod{}, errNoPage
}

func (c *Console) methodPage(v *visit) error {
	e, m, err := v.method()
	if err == nil {
		err = v.need(access.ReceivingWrite)
	}
	if err == nil {
		err = v.need(access.ReceivingRead)
	}
	if err != nil {
		return err
	}
	form := methodForm{
		EntryID: e.ID, EntryLabel: e.Label, ID: m.ID, Provider: m.Provider, AccountName: m.AccountName,
		Masked: m.AccountID, IsDefault: m.IsDefault,
	}
	return v.show("directory_method", methodTitle(form), form)
}

func (c *Console) updateMethod(v *visit) error {
	e, m, err := v.method()
	if err != nil {
		return err
	}
	form := methodForm{EntryID: e.ID, EntryLabel: e.Label, ID: m.ID, Masked: m.AccountID, IsDefault: m.IsDefault}
	v.readMethod(&form)
	update := api.ReceivingMethodUpdate{Provider: &form.Provider, AccountName: &form.AccountName, AccountID: optional(form.Account)}
	if err := v.changeMethod(e, m, update); err != nil {
		return v.methodAgain(err, form)
	}
	return v.done("Receiving method saved.", v.path("directory", e.ID))
}

func (v *visit) changeMethod(e api.Entry, m api.ReceivingMethod, update api.ReceivingMethodUpdate) error {
	_, err := change(v, v.console.Directory.UpdateMethod, directory.UpdateMethodInput{EntryID: e.ID, MethodID: m.ID, ReceivingMethodUpdate: update, Unseen: true})
	return err
}

func (c *Console) makeMethodDefault(v *visit) error {
	e, m, err := v.method()
	if err != nil {
		return err
	}
	if err := v.changeMethod(e, m, api.ReceivingMethodUpdate{IsDefault: new(true)}); err != nil {
		return err
	}
	return v.done("Default receiving method changed.", v.path("directory", e.ID))
}

func (c *Console) removeMethod(v *visit) error {
	e, m, err := v.method()
	if err != nil {
		return err
	}
	_, err = change(v, c.Directory.RemoveMethod, directory.MethodInput{EntryID: e.ID, MethodID: m.ID})
	if err != nil {
		return err
	}
	return v.done("Receiving method removed.", v.path("directory", e.ID))
}

package console

import (
	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/accountnumber"
	"bursar/internal/directory"
	"bursar/internal/fault"
	"bursar/internal/institution"
)

// methodForm is the form of a receiving method.
type methodForm struct {
	EntryID     string
	EntryLabel  string
	ID          string // "" for a new method
	Provider    string
	AccountName string
	Account     string // what the person typed, never the stored number
	Institution string // code of the institution
	Masked      string // the stored number, masked
	IsDefault   bool
	First       bool // the entry has no other method
}

// Institutions returns the banks and wallets to choose from.
func (methodForm) Institutions() []institution.Institution { return institution.All() }

func methodTitle(f methodForm) string {
	if f.ID == "" {
		return "New receiving method"
	}
	return "Edit receiving method"
}

func (v *visit) methodAgain(err error, f methodForm) error {
	p, status, ok := formProblems(err, "provider", "institution_code", "account_name", "account_id", "is_default")
	if !ok {
		return err
	}
	return v.showAgain(status, "directory_method", methodTitle(f), p, f)
}

// readMethod copies the submitted values into the form.
func (v *visit) readMethod(f *methodForm) {
	f.Provider, f.AccountName, f.Account = v.field("provider"), v.field("account_name"), v.field("account_id")
	f.Institution = v.field("institution_code")
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
	if why := accountnumber.Wrong(form.Account); why != "" && v.can(access.ReceivingWrite) {
		return v.methodAgain(fault.Invalid("account_id", why), form)
	}
	made, err := change(v, c.Directory.AddMethod, directory.AddMethodInput{EntryID: e.ID, ReceivingMethodCreate: api.ReceivingMethodCreate{
		Provider: form.Provider, AccountName: form.AccountName, AccountID: form.Account, IsDefault: form.IsDefault,
		InstitutionCode: optional(form.Institution),
	}})
	if err != nil {
		return v.methodAgain(err, form)
	}
	return v.done("Receiving method added."+waits(made), v.path("directory", e.ID))
}

// waits returns a note that a method waits for a second person, if it does.
func waits(m api.ReceivingMethod) string {
	if m.ApprovalID == "" {
		return ""
	}
	return " It waits for a second person's approval."
}

// method reads the entry and the receiving method named in the URL.
func (v *visit) method() (api.Entry, api.ReceivingMethod, error) {
	e, err := v.entry()
	if err != nil || e.ReceivingMethods == nil {
		return e, api.ReceivingMethod{ID: v.R.PathValue("method_id")}, err
	}
	methods, err := v.shownMethods(e, "")
	if err != nil {
		return e, api.ReceivingMethod{}, err
	}
	for _, m := range methods {
		if m.ID == v.R.PathValue("method_id") {
			return e, m.ReceivingMethod, nil
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
		Masked: m.AccountID, IsDefault: m.IsDefault, Institution: m.InstitutionCode,
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
	if why := accountnumber.Wrong(form.Account); why != "" && v.can(access.ReceivingWrite) {
		return v.methodAgain(fault.Invalid("account_id", why), form)
	}
	update := api.ReceivingMethodUpdate{Provider: &form.Provider, AccountName: &form.AccountName, AccountID: optional(form.Account),
		InstitutionCode: &form.Institution}
	changed, err := v.changeMethod(e, m, update)
	if err != nil {
		return v.methodAgain(err, form)
	}
	return v.done("Receiving method saved."+waits(changed), v.path("directory", e.ID))
}

func (v *visit) changeMethod(e api.Entry, m api.ReceivingMethod, update api.ReceivingMethodUpdate) (api.ReceivingMethod, error) {
	return change(v, v.console.Directory.UpdateMethod, directory.UpdateMethodInput{EntryID: e.ID, MethodID: m.ID, ReceivingMethodUpdate: update, Unseen: true})
}

func (c *Console) makeMethodDefault(v *visit) error {
	e, m, err := v.method()
	if err != nil {
		return err
	}
	changed, err := v.changeMethod(e, m, api.ReceivingMethodUpdate{IsDefault: new(true)})
	if err != nil {
		return err
	}
	if changed.ApprovalID != "" {
		return v.done("Another default receiving method was asked for."+waits(changed), v.path("directory", e.ID))
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

package console

import (
	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/accountnumber"
	"bursar/internal/directory"
	"bursar/internal/fault"
	"bursar/internal/institution"
	"bursar/internal/web"
)

// methodPage is the form of a receiving method.
type methodPage struct {
	EntryID, EntryLabel string
	ID                  string // "" for a new method
	Masked              string // the stored number, masked
	First               bool   // the entry has no other method
}

// Institutions returns the banks and wallets to choose from.
func (methodPage) Institutions() (list []choice) {
	for _, one := range institution.All() {
		list = append(list, choice{Value: one.Code, Text: one.Name})
	}
	return list
}

func (c *Console) newMethodPage(v *visit) error {
	e, err := v.entry()
	if err == nil {
		err = v.need(access.ReceivingWrite)
	}
	if err != nil {
		return err
	}
	return v.show("directory_method", "New receiving method", methodPage{EntryID: e.ID, EntryLabel: e.Label, First: hasNone(e)})
}

func hasNone(e api.Entry) bool { return e.ReceivingMethods != nil && len(*e.ReceivingMethods) == 0 }

func (c *Console) addMethod(v *visit) error {
	e, err := v.entry()
	if err != nil {
		return err
	}
	made, err := submitMethod(v, c.Directory.AddMethod, directory.AddMethodInput{EntryID: e.ID})
	if err != nil {
		return v.again(err, c.newMethodPage)
	}
	return v.done("Receiving method added."+waits(made), v.path("directory", e.ID))
}

// submitMethod is submit for a receiving method. It refuses a number that cannot be one.
func submitMethod[In any](v *visit, fn web.Func[In, api.ReceivingMethod], in In) (m api.ReceivingMethod, err error) {
	if why := accountnumber.Wrong(v.field("account_id")); why != "" && v.can(access.ReceivingWrite) {
		return m, fault.Invalid("account_id", why)
	}
	return submit(v, fn, in)
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
	v.preset("provider", m.Provider)
	v.preset("account_name", m.AccountName)
	v.preset("institution_code", m.InstitutionCode)
	return v.show("directory_method", "Edit receiving method", methodPage{EntryID: e.ID, EntryLabel: e.Label, ID: m.ID, Masked: m.AccountID})
}

func (c *Console) updateMethod(v *visit) error {
	e, m, err := v.method()
	if err != nil {
		return err
	}
	changed, err := submitMethod(v, c.Directory.UpdateMethod, directory.UpdateMethodInput{EntryID: e.ID, MethodID: m.ID, Unseen: true,
		ReceivingMethodUpdate: api.ReceivingMethodUpdate{Provider: new(""), AccountName: new(""), InstitutionCode: new("")}})
	if err != nil {
		return v.again(err, c.methodPage)
	}
	return v.done("Receiving method saved."+waits(changed), v.path("directory", e.ID))
}

func (c *Console) makeMethodDefault(v *visit) error {
	e, m, err := v.method()
	if err != nil {
		return err
	}
	changed, err := change(v, c.Directory.UpdateMethod, directory.UpdateMethodInput{EntryID: e.ID, MethodID: m.ID, Unseen: true,
		ReceivingMethodUpdate: api.ReceivingMethodUpdate{IsDefault: new(true)}})
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

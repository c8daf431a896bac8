package console

import (
	"slices"
	"strconv"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/auditlog"
	"bursar/internal/directory"
	"bursar/internal/web"
)

// entry reads the entry named in the URL, with account numbers masked. An entry of
// another workspace is not found.
func (v *visit) entry() (api.Entry, error) { return v.entryWith("") }

// entryWith is entry with the account number of one receiving method in full, if reveal is
// its id.
func (v *visit) entryWith(reveal string) (api.Entry, error) {
	e, err := read(v, v.console.Directory.Show, directory.ShowInput{ID: v.R.PathValue("id"), Reveal: reveal})
	if err == nil && e.WorkspaceID != v.workspace.ID {
		err = errNoPage
	}
	return e, err
}

// method is a receiving method as the page shows it.
type method struct {
	api.ReceivingMethod
	Clear bool // the account number is not masked
}

func shownMethods(e api.Entry, reveal string) []method {
	if e.ReceivingMethods == nil {
		return nil
	}
	var all []method
	for _, m := range *e.ReceivingMethods {
		all = append(all, method{m, m.ID == reveal})
	}
	return all
}

// entryPage is the data of an entry's page.
type entryPage struct {
	api.Entry
	Details     []shownField
	SeesMethods bool
	Methods     []method
	History     []homeRow
}

func (c *Console) entryPage(v *visit) error {
	reveal := v.R.URL.Query().Get("reveal")
	e, err := v.entryWith(reveal)
	if err != nil {
		return err
	}
	data := entryPage{
		Entry: e, Details: shownFields(e.Fields), SeesMethods: e.ReceivingMethods != nil, Methods: shownMethods(e, reveal),
	}
	if v.can(access.AuditRead) {
		if data.History, err = c.history(v, data); err != nil {
			return err
		}
	}
	return v.show("directory_entry", e.Label, data)
}

// shownHistory is how many audit entries the page shows.
const shownHistory = 8

// history lists the audit entries about an entry and its receiving methods, newest
// first.
func (c *Console) history(v *visit, e entryPage) ([]homeRow, error) {
	var all []api.AuditEntry
	about := []string{e.ID}
	for _, m := range e.Methods {
		about = append(about, m.ID)
	}
	for _, id := range about {
		page, err := read(v, c.Audit.Page, auditlog.ListInput{
			Filters:    auditlog.Filters{WorkspaceID: &v.workspace.ID, ResourceID: &id},
			PageParams: web.PageParams{Limit: new(strconv.Itoa(shownHistory))},
		})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Rows...)
	}
	slices.SortFunc(all, func(a, b api.AuditEntry) int { return strings.Compare(b.ID, a.ID) })
	var rows []homeRow
	for _, row := range all[:min(len(all), shownHistory)] {
		rows = append(rows, newHomeRow(row))
	}
	return rows, nil
}

func (c *Console) setEntryStatus(v *visit) error {
	e, err := v.entry()
	if err != nil {
		return err
	}
	status := v.field("status")
	if _, err := v.updateEntry(e, api.EntryUpdate{Status: &status}); err != nil {
		return err
	}
	return v.done("Entry is now "+status+".", v.path("directory", e.ID))
}

func (c *Console) deleteEntry(v *visit) error {
	e, err := v.entry()
	if err != nil {
		return err
	}
	if _, err := change(v, c.Directory.Delete, directory.EntryInput{ID: e.ID}); err != nil {
		return err
	}
	told := flash{Kind: "good", Text: e.Label + " was deleted. You can restore it within 30 days.", Undo: v.path("directory", e.ID, "restore")}
	if err := v.tell(told); err != nil {
		return err
	}
	return v.redirect(v.path("directory"))
}

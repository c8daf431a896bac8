package console

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/auditlog"
	"bursar/internal/directory"
	"bursar/internal/web"
)

// entry reads the entry named in the URL. An entry of another workspace is not
// found.
func (v *visit) entry() (api.Entry, error) {
	e, err := read(v, v.console.Directory.Get, directory.EntryInput{ID: v.R.PathValue("id")})
	if err == nil && e.WorkspaceID != v.workspace.ID {
		err = errNoPage
	}
	return e, err
}

// method is a receiving method as the page shows it.
type method struct {
	ID          string
	Provider    string
	AccountName string
	Account     string // masked unless the visitor chose to see it
	Clear       bool
	IsDefault   bool
}

// mask hides an account number except for its last four characters. A short number
// is hidden completely, because those four would be most of it.
func mask(account string) string {
	const shown, least = 4, 8
	if utf8.RuneCountInString(account) < least {
		return "••••"
	}
	runes := []rune(account)
	return "•••• " + string(runes[len(runes)-shown:])
}

// shownMethods are the receiving methods of an entry. Account numbers are masked,
// except for the method whose id is reveal.
func shownMethods(e api.Entry, reveal string) []method {
	if e.ReceivingMethods == nil {
		return nil
	}
	var all []method
	for _, m := range *e.ReceivingMethods {
		one := method{ID: m.ID, Provider: m.Provider, AccountName: m.AccountName, Account: mask(m.AccountID), IsDefault: m.IsDefault}
		if m.ID == reveal {
			one.Account, one.Clear = m.AccountID, true
		}
		all = append(all, one)
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
	e, err := v.entry()
	if err != nil {
		return err
	}
	data := entryPage{
		Entry: e, Details: shownFields(e.Fields), SeesMethods: e.ReceivingMethods != nil, Methods: shownMethods(e, v.R.URL.Query().Get("reveal")),
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

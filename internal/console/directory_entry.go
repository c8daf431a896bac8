package console

import (
	"net/url"
	"strconv"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/auditlog"
	"bursar/internal/directory"
	"bursar/internal/institution"
	"bursar/internal/web"
)

// entry reads the entry named in the URL, with account numbers masked. An entry of
// another workspace is not found.
func (v *visit) entry() (api.Entry, error) {
	e, err := read(v, v.console.Directory.Show, directory.ShowInput{ID: v.R.PathValue("id")})
	return e, v.here(e.WorkspaceID, err)
}

// method is a receiving method, for display.
type method struct {
	api.ReceivingMethod
	Clear       bool // the account number is not masked
	Cools       bool // approved, but not payable yet
	Institution string
}

// Ended reports whether the method is retired or rejected.
func (m method) Ended() bool { return m.Status == api.MethodRetired || m.Status == api.MethodRejected }

// shownMethods reads all receiving methods of an entry, if the visitor may see them.
func (v *visit) shownMethods(e api.Entry, reveal string) ([]method, error) {
	if e.ReceivingMethods == nil {
		return nil, nil
	}
	list, err := read(v, v.console.Directory.ShowMethods, directory.ShowInput{ID: e.ID, Reveal: reveal})
	var all []method
	for _, m := range list {
		all = append(all, method{m, m.ID == reveal, m.Status == api.MethodActive && m.PayableAt > v.console.endpoints.DB.Now(), institution.Name(m.InstitutionCode)})
	}
	return all, err
}

// entryPage is the data of an entry's page.
type entryPage struct {
	api.Entry
	List        string   // the list that the visitor came from
	Back        string   // address of that list
	Edit        string   // address of the form
	Offered     []string // tags that can be added
	Details     []shownDetail
	SeesMethods bool
	Methods     []method
	Doubles     doubles
	Into        *api.Entry // the entry that this one was merged into, if it can be read
	Unmerge     string     // address of the form that undoes the merge
	History     []homeRow  // one page of it
	Older       string     // the page of older entries
	Newest      string     // the first page, if this is an older one
}

// PendingText returns the change that waits for approval, in words.
func (e entryPage) PendingText() string { return pendingText(e.PendingChange) }

// pendingText returns the most significant part of an entry's pending change, in words.
func pendingText(c *api.PendingChange) string {
	switch {
	case c.Operation == "merge":
		return "A merge into this entry"
	case c.Operation != "":
		return "The undo of a merge into this entry"
	case c.Label != nil:
		return "Name change to " + *c.Label
	case c.Name != nil:
		return "Name change to " + *c.Name
	case c.ExternalID != nil && *c.ExternalID == "":
		return "Removal of the external ID"
	case c.ExternalID != nil:
		return "External ID " + *c.ExternalID
	}
	return "Activation"
}

// updated redirects to an entry, with a message of what was done or waits for approval.
func (v *visit) updated(done api.Created, text string) error {
	if done.PendingChange != nil {
		text = pendingText(done.PendingChange) + " needs approval from another person."
	}
	return v.done(text, v.entryPath(done.ID))
}

func (c *Console) entryPage(v *visit) error {
	reveal := v.R.URL.Query().Get("reveal")
	e, err := v.entry()
	if err != nil {
		return err
	}
	methods, err := v.shownMethods(e, reveal)
	if err != nil {
		return err
	}
	data := entryPage{
		Entry: e, List: v.listQuery(), Back: v.listPath(), Edit: v.entryPath(e.ID, "edit"), Details: shownDetails(e), SeesMethods: e.ReceivingMethods != nil, Methods: methods,
	}
	if err := c.addDoubles(v, &data); err != nil {
		return err
	}
	if v.can(access.DirectoryWrite) {
		if data.Offered, err = v.otherTags(e); err != nil {
			return err
		}
	}
	if v.can(access.AuditRead) {
		err := c.addHistory(v, &data)
		if stale(err, v.R.URL.Query().Get(historyCursor)) {
			return v.redirect(v.path("directory", e.ID))
		}
		if err != nil {
			return err
		}
	}
	return v.show("directory_entry", e.Label, data)
}

// addDoubles adds the possible duplicates of an entry, or the entry that it was merged into.
func (c *Console) addDoubles(v *visit, e *entryPage) (err error) {
	if e.MergedInto == "" {
		e.Doubles, err = v.doublesOf(e.Entry)
		return err
	}
	if e.Unmerge, err = c.mergedBy(v, e.Entry); err != nil {
		return err
	}
	into, err := read(v, c.Directory.Show, directory.ShowInput{ID: e.MergedInto})
	if hasCode(err, api.CodeEntryNotFound) { // deleted since
		return nil
	}
	e.Into = &into
	return err
}

const (
	shownHistory  = 10        // audit entries on a page of the history
	historyCursor = "history" // the query parameter with the cursor of an older page
)

// addHistory adds a page of the audit entries of an entry and of its present and former receiving methods, newest first.
func (c *Console) addHistory(v *visit, e *entryPage) error {
	cursor, path := v.R.URL.Query().Get(historyCursor), v.path("directory", e.ID)
	page, err := read(v, c.Audit.Page, auditlog.ListInput{
		Filters:    auditlog.Filters{WorkspaceID: &v.workspace.ID, EntryID: &e.ID},
		PageParams: web.PageParams{Limit: new(strconv.Itoa(shownHistory)), Cursor: optional(cursor)},
	})
	if err != nil {
		return err
	}
	for _, row := range page.Rows {
		e.History = append(e.History, newHomeRow(v, row))
	}
	if page.More {
		e.Older = path + "?" + historyCursor + "=" + url.QueryEscape(page.Cursor) + "#history"
	}
	if cursor != "" {
		e.Newest = path + "#history"
	}
	return nil
}

func (c *Console) setEntryStatus(v *visit) error {
	e, err := v.entry()
	if err != nil {
		return err
	}
	status := v.field("status")
	done, err := v.updateEntry(e, api.EntryUpdate{Status: &status})
	if err != nil {
		return err
	}
	return v.updated(done, "Entry is now "+status+".")
}

// otherTags returns the names of the tags that can be added to an entry.
func (v *visit) otherTags(e api.Entry) (names []string, err error) {
	tags, err := v.tags()
	for _, t := range tags {
		if (t.AppliesTo == api.AppliesToAll || t.AppliesTo == e.Type) && !containsFold(e.Tags, t.Name) {
			names = append(names, t.Name)
		}
	}
	return names, err
}

// retagEntry adds tags to an entry or removes one. Other tags stay as they currently are.
func (c *Console) retagEntry(v *visit) error {
	e, err := v.entry()
	if err != nil {
		return err
	}
	form := entryForm{MoreTags: v.field("add")}
	if gone := v.field("remove"); gone != "" {
		form.WasTags = []string{gone}
	}
	names, changed := form.retag(e.Tags)
	if !changed && v.can(access.DirectoryWrite) {
		return v.redirect(v.entryPath(e.ID))
	}
	_, err = v.updateEntry(e, api.EntryUpdate{Tags: names})
	if p, _, ok := formProblems(err); ok {
		return v.redirectWith(flash{Kind: "bad", Text: strings.TrimSpace("The tags were not changed. " + p.Text + sentence(p.Fields["tags"]))}, v.entryPath(e.ID))
	}
	if err != nil {
		return err
	}
	return v.done("Tags changed.", v.entryPath(e.ID))
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
	return v.redirectWith(told, v.listPath())
}

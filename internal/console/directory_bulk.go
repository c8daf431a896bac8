package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/directory"
	"bursar/internal/directory/transfer"
)

// bulkRoutes returns the routes for changes of many entries.
func (c *Console) bulkRoutes() []Route {
	return []Route{
		c.postIn("/directory/bulk", audit.EntryUpdated, c.bulk),
		c.getIn("/directory/bulk/{id}", c.bulkPage),
		c.postIn("/directory/bulk/{id}/cancel", audit.BulkCancelled, c.cancelBulk),
		c.postIn("/directory/bulk/{id}/undo", audit.EntryUpdated, c.undoBulk),
	}
}

// actionExport is an action of the form in addition to those of a bulk change.
const actionExport = "export"

// bulkForm is a selection of entries and an action.
type bulkForm struct {
	Action string
	Tag    string
	All    bool     // all entries that match the filters of the list
	IDs    []string // otherwise
	List   string   // query of the list on which they were selected
	Back   string   // address of that list
	Count  directory.Count
	Known  []api.Tag
}

// Verb returns the action as a button label.
func (f bulkForm) Verb() string { return capitalized(f.Action) }

// Tags reports whether the action needs a tag.
func (f bulkForm) Tags() bool { return f.Action == api.BulkTag || f.Action == api.BulkUntag }

// Entries returns the number of selected entries in words.
func (f bulkForm) Entries() string {
	if f.Count.More {
		return fmt.Sprintf("more than %d entries", f.Count.N)
	}
	return entries(int64(f.Count.N))
}

func entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// sentBulk reads the submitted selection.
func (v *visit) sentBulk() bulkForm {
	f := bulkForm{Action: v.field("action"), Tag: v.field("tag"), All: v.field("all") != "", IDs: v.form["id"], List: v.listQuery(), Back: v.listPath()}
	f.Count.N = len(f.IDs)
	return f
}

func (f bulkForm) query() url.Values {
	query, _ := url.ParseQuery(f.List) // listQuery has encoded it
	return query
}

// filter returns the filter of the list on which the entries were selected.
func (f bulkForm) filter() *api.BulkFilter {
	query := f.query()
	return &api.BulkFilter{Q: optional(query.Get("q")), Type: optional(query.Get("type")), Status: optional(query.Get("status")), Tag: optional(query.Get("tag"))}
}

// input returns the request for the bulk change.
func (f bulkForm) input(workspaceID string) transfer.BulkInput {
	in := transfer.BulkInput{BulkCreate: api.BulkCreate{WorkspaceID: workspaceID, Action: f.Action}}
	if f.Tags() {
		in.Tag = optional(f.Tag)
	}
	if f.All {
		in.Filter = f.filter()
	} else {
		in.IDs = f.IDs
	}
	return in
}

// bulk changes the selected entries. It asks for confirmation if there are many or if the action deletes them, and for a missing tag.
func (c *Console) bulk(v *visit) error {
	f := v.sentBulk()
	switch {
	case !f.All && len(f.IDs) == 0, f.All && f.List == "" && v.field("list") != "": // or the filter is invalid, which must not select all
		return v.redirectWith(flash{Kind: "warn", Text: "Select at least one entry."}, v.listPath())
	case f.Action == actionExport:
		return c.exportSelected(v, f)
	case v.field("confirmed") == "" && (f.All || f.Action == api.BulkDelete), f.Tags() && f.Tag == "":
		return c.askBulk(v, f, http.StatusOK, problems{})
	}
	done, err := change(v, c.Transfer.Bulk, f.input(v.workspace.ID))
	if p, status, ok := formProblems(err); ok {
		return c.askBulk(v, f, status, p)
	}
	if err != nil {
		return err
	}
	return v.bulkDone(done, v.listPath())
}

// askBulk shows what would happen to how many entries, and asks for missing values.
func (c *Console) askBulk(v *visit, f bulkForm, status int, p problems) (err error) {
	need := access.DirectoryWrite
	if f.Action == api.BulkDelete {
		need = access.DirectoryDelete
	}
	if err := v.need(need); err != nil {
		return err
	}
	if f.All {
		f.Count, err = read(v, c.Directory.Matches, directory.MatchInput{WorkspaceID: v.workspace.ID, BulkFilter: *f.filter()})
	}
	if wrong, code, ok := formProblems(err); ok {
		p, status, err = wrong, code, nil
	}
	if err == nil && f.Tags() {
		f.Known, err = v.tags()
	}
	if err != nil {
		return err
	}
	return v.showAgain(status, "directory_bulk", f.Verb()+" entries", p, f)
}

// exportSelected downloads the selected entries.
func (c *Console) exportSelected(v *visit, f bulkForm) error {
	if f.All {
		return download(v, c.Transfer.Export, transfer.ExportInput{ListInput: v.listInput(f.query())})
	}
	return download(v, c.Transfer.Export, transfer.ExportInput{IDs: new(strings.Join(f.IDs, ",")), ListInput: directory.ListInput{WorkspaceID: v.workspace.ID}})
}

// bulkDone redirects to the page of a bulk change that is still running. For one that has ended, it shows the result on another page, with
// a way to undo it.
func (v *visit) bulkDone(b api.Bulk, path string) error {
	if !b.Ended() {
		return v.redirect(v.path("directory", "bulk", b.ID))
	}
	told := flash{Kind: "good", Text: bulkText(b)}
	if b.Changed > 0 {
		told.Undo = v.path("directory", "bulk", b.ID, "undo")
	}
	if b.Refused > 0 {
		told.Kind = "warn"
	}
	return v.redirectWith(told, path)
}

// bulkText returns the result of a bulk change in words.
func bulkText(b api.Bulk) string {
	verb := map[string]string{
		api.BulkTag: "tagged " + b.Tag, api.BulkUntag: "untagged " + b.Tag, api.BulkActivate: "activated", api.BulkDeactivate: "deactivated",
		api.BulkDelete: "deleted", api.BulkRestore: "restored",
	}[b.Action]
	text := entries(b.Changed) + " " + verb + "."
	if b.Unchanged > 0 && b.Undoes == "" {
		text += fmt.Sprintf(" %d unchanged, because they were like that already.", b.Unchanged)
	} else if b.Unchanged > 0 {
		text += fmt.Sprintf(" %d unchanged, because somebody has changed them since.", b.Unchanged)
	}
	if b.Refused > 0 {
		text += fmt.Sprintf(" %d refused, the first one with this reason: %s.", b.Refused, b.Reason)
	}
	return text
}

// bulkPage is the state of a bulk change.
type bulkPage struct{ api.Bulk }

// Text returns the result so far in words.
func (b bulkPage) Text() string { return bulkText(b.Bulk) }

// Done returns the number of processed entries.
func (b bulkPage) Done() int64 { return b.Changed + b.Unchanged + b.Refused }

// oneBulk reads the bulk change named in the URL.
func (v *visit) oneBulk() (api.Bulk, error) {
	b, err := read(v, v.console.Transfer.GetBulk, transfer.OneBulkInput{ID: v.R.PathValue("id")})
	return b, v.here(b.WorkspaceID, err)
}

func (c *Console) bulkPage(v *visit) error {
	b, err := v.oneBulk()
	if err != nil {
		return err
	}
	return v.show("directory_bulk_job", "Change of many entries", bulkPage{b})
}

func (c *Console) cancelBulk(v *visit) error {
	b, err := v.oneBulk()
	if err == nil {
		b, err = change(v, c.Transfer.CancelBulk, transfer.OneBulkInput{ID: b.ID})
	}
	if err != nil {
		return err
	}
	return v.redirect(v.path("directory", "bulk", b.ID))
}

func (c *Console) undoBulk(v *visit) error {
	b, err := v.oneBulk()
	if err == nil {
		b, err = change(v, c.Transfer.UndoBulk, transfer.OneBulkInput{ID: b.ID})
	}
	if err != nil {
		return err
	}
	return v.bulkDone(b, v.path("directory"))
}

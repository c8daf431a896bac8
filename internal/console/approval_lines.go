package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"bursar/api"
	"bursar/internal/approval"
	"bursar/internal/directory"
	"bursar/internal/web"
)

// linesOnPage is the number of lines of an import on a page.
const linesOnPage = 50

// linesPage is a page of the lines in the approval of an import or a bulk change.
type linesPage struct {
	*api.ApprovalLines
	Flags     []lineFlag
	Flag      string // show only lines with this flag, "" for all
	Rows      []lineRow
	Next      string  // the cursor of the next page
	First     bool    // this is the first page
	Elsewhere []int64 // excluded lines that are not on this page
}

// lineFlag is a filter for lines with a flag.
type lineFlag struct {
	Flag, Caption string
	Count         int64
}

// lineRow is a line in the table.
type lineRow struct {
	api.ApprovalLine
	Flags   []string // in words
	Fields  []approvalField
	Changed []approvalField // what the payee was 30 days ago
	Left    bool            // excluded from the approval
	Repeats bool            // same line of the file as the row before
}

func flagCaption(flag string) string {
	return map[string]string{
		api.FlagNewPayee: "New payee", api.FlagSharedAccount: "Account of another payee", api.FlagChanged: "Another account than before",
		api.FlagNameDiffers: "Another name",
	}[flag]
}

// lines reads the page of lines that the URL selects. Lines that were ticked on other pages stay ticked.
func (v *visit) lines(a api.Approval) (*linesPage, error) {
	given := v.values
	data := &linesPage{ApprovalLines: a.Lines, Flag: given.Get("flag"), First: given.Get("cursor") == ""}
	if given.Has("show") { // another filter starts at the first page
		data.Flag, data.First = given.Get("show"), true
	}
	if !slices.Contains(api.ApprovalFlags(), data.Flag) {
		data.Flag = ""
	}
	data.Flags = []lineFlag{{"", "All", a.Lines.Total}}
	for _, flag := range api.ApprovalFlags() {
		data.Flags = append(data.Flags, lineFlag{flag, flagCaption(flag), a.Lines.Flags[flag]})
	}
	in := directory.ApprovalLinesInput{ID: a.ID, Flag: optional(data.Flag), PageParams: web.PageParams{Limit: optional(strconv.Itoa(linesOnPage))}}
	if !data.First {
		in.Cursor = optional(given.Get("cursor"))
	}
	page, err := read(v, v.console.Directory.ApprovalLines, in)
	if stale(err, given.Get("cursor")) {
		in.Cursor, data.First = nil, true
		page, err = read(v, v.console.Directory.ApprovalLines, in)
	}
	if err != nil {
		return nil, err
	}
	left := leftOut(given)
	data.Elsewhere = slices.Clone(left)
	last := int64(-1)
	for _, l := range page.Rows() {
		row := lineRow{ApprovalLine: l, Left: slices.Contains(left, l.Line), Repeats: l.Line == last, Fields: approvalFields(l.Fields)}
		for _, flag := range l.Flags {
			row.Flags = append(row.Flags, flagCaption(flag))
		}
		row.Contacts = captioned(l.Contacts)
		row.Changed = changedFields(l.ChangedFields)
		data.Rows = append(data.Rows, row)
		data.Elsewhere = slices.DeleteFunc(data.Elsewhere, func(n int64) bool { return n == l.Line })
		last = l.Line
	}
	data.Next, _ = page.Next()
	return data, nil
}

// leftOut parses the lines that are excluded from the approval. It ignores anything that is not a number.
func leftOut(given url.Values) (lines []int64) {
	for _, text := range given["leave_out"] {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			lines = append(lines, n)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// decideMany approves or rejects the selected approvals with one verification or reason.
func (c *Console) decideMany(v *visit) error {
	in := approval.DecideInput{}
	in.WorkspaceID, in.Decision = v.workspace.ID, v.field("decision")
	for _, shown := range v.form["shown"] {
		id, digest, _ := strings.Cut(shown, " ")
		in.Approvals = append(in.Approvals, api.ApprovalShown{ID: id, Digest: digest})
	}
	if len(in.Approvals) == 0 {
		return v.againWith(http.StatusBadRequest, problems{Text: "Select at least one approval."}, c.approvalsPage)
	}
	in.Verification, in.Reason = v.field("statement"), v.field("statement")
	done, err := change(v, c.Approvals.DecideMany, in)
	if err != nil {
		return v.again(err, c.approvalsPage)
	}
	told := flash{Kind: "good", Text: map[string]string{api.DecideApprove: "Approved", api.DecideReject: "Rejected"}[in.Decision]}
	decided, because := 0, ""
	for _, result := range done.Results {
		if result.OK {
			decided++
		} else {
			because = sentence(result.Error.Message)
		}
	}
	told.Text += fmt.Sprintf(" %d.", decided)
	if left := len(done.Results) - decided; left > 0 {
		told.Kind, told.Text = "warn", fmt.Sprintf("%s %d not decided: %s", told.Text, left, because)
	}
	return v.redirectWith(told, v.path("approvals"))
}

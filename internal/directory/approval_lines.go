package directory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/budget"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// The kinds of approvals that have lines.
const (
	ImportKind = "import"
	BulkKind   = "bulk"
)

// revealEvery is how often the audit log gets a row when the same caller sees the same account numbers.
const revealEvery = time.Hour

// ApprovalLines returns a page of the lines of an approval of a job, with account numbers in full. The audit log records that.
func (s *Service) ApprovalLines(ctx context.Context, by db.Caller, in ApprovalLinesInput) (web.Page[api.ApprovalLine], error) {
	a, err := s.approvals.Find(ctx, by, in.ID)
	if err == nil && a.Kind != ImportKind && a.Kind != BulkKind {
		err = fault.Missing("approval with lines")
	}
	if err != nil {
		return web.Page[api.ApprovalLine]{}, err
	}
	window, err := s.cursors.Paged(in.PageParams, web.Ascending, "approval lines", in.ID, scope(in.Flag))
	if err != nil {
		return web.Page[api.ApprovalLine]{}, err
	}
	line, id, err := lineAfter(window.After)
	if err != nil {
		return web.Page[api.ApprovalLine]{}, err
	}
	var rows []importLine
	var untold bool
	shows := budget.Kind{Name: "reveal", Burst: 1, Every: revealEvery}.Of(by.ID + " " + by.KeyID + " " + a.ID)
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		flagged := ""
		if in.Flag != nil {
			flagged = ` AND ` + flagColumns[*in.Flag] + ` = TRUE`
		}
		rows, err = db.Collect(q, lineColumns.Read, `SELECT `+lineColumns.Columns+` FROM directory_import_line
			WHERE import_id = $1`+flagged+` AND (line, id) > ($2, $3) ORDER BY line, id LIMIT $4`,
			a.SubjectID, line, id, window.Limit)
		if err == nil {
			untold, err = shows.Left(q, s.db.Now())
		}
		return err
	})
	payees, err := s.payeesOf(ctx, rows, err)
	list := make([]api.ApprovalLine, len(rows))
	for i, l := range rows {
		if err == nil {
			list[i], err = s.lineWire(a, l)
			list[i].Contacts, list[i].ChangedFields = payees[l.EntryID].contacts, payees[l.EntryID].changed
		}
	}
	if err == nil && untold && len(rows) > 0 {
		err = s.revealLines(ctx, by, a, shows)
	}
	if err != nil {
		return web.Page[api.ApprovalLine]{}, err
	}
	return web.NewPage(window, list, func(l api.ApprovalLine) string { return fmt.Sprintf("%d/%s", l.Line, l.ID) }), nil
}

// payeesOf returns what an approver sees of the payees of lines, by entry, unless reading the lines has failed.
func (s *Service) payeesOf(ctx context.Context, lines []importLine, err error) (map[string]payeeView, error) {
	found := map[string]payeeView{}
	if err != nil {
		return found, err
	}
	return found, s.db.Read(ctx, func(q db.Q) error {
		for _, l := range lines {
			if _, known := found[l.EntryID]; known {
				continue
			}
			if found[l.EntryID], err = viewPayee(q, l.EntryID, s.db.Now()); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Service) lineWire(a approval.Approval, l importLine) (api.ApprovalLine, error) {
	c, err := s.openLine(a.Workspace(), l)
	out := api.ApprovalLine{ID: l.ID, Line: l.Line, Kind: l.Kind, SubjectID: l.Subject, EntryID: l.EntryID, EntryLabel: c.label(), State: l.State, Flags: l.flags(),
		Fields: c.show()}
	return out, err
}

// revealLines stores a row of the audit log before a number is shown.
func (s *Service) revealLines(ctx context.Context, by db.Caller, a approval.Approval, shows budget.Use) error {
	_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		untold, err := shows.Take(tx)
		if err == nil && !untold {
			return struct{}{}, audit.None("a row of the last hour tells it"), nil
		}
		event := audit.Event{Action: audit.ImportRevealed, WorkspaceID: a.WorkspaceID, ResourceID: a.SubjectID, Description: "Saw account numbers of an import that waits for approval"}
		if a.Kind == BulkKind {
			event.Action, event.Description = audit.BulkRevealed, "Saw account numbers of a bulk change that waits for approval"
		}
		event.Changes.Add("approval_id", nil, a.ID)
		return struct{}{}, event, err
	})
	return err
}

// ApprovalLinesInput is a request for a page of the lines of an approval.
type ApprovalLinesInput struct {
	ID   string  `path:"id"`
	Flag *string `query:"flag"`
	web.PageParams
}

// Validate checks the page and the flag.
func (in *ApprovalLinesInput) Validate(v *fault.Violations) {
	in.PageParams.Validate(v)
	web.CheckOneOf(v, "flag", in.Flag, api.ApprovalFlags()...)
}

// lineAfter reads the position of a page of lines: the number of a line and its id.
func lineAfter(position string) (line int64, id string, err error) {
	if position == "" {
		return -1, "", nil
	}
	number, id, _ := strings.Cut(position, "/")
	if _, err := fmt.Sscan(number, &line); err != nil {
		return 0, "", fault.Invalid("cursor", "is not one that a page has given")
	}
	return line, id, nil
}

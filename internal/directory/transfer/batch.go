package transfer

import (
	"context"
	"errors"
	"strconv"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/db"
	"bursar/internal/directory"
	"bursar/internal/directory/entryfile"
	"bursar/internal/fault"
)

// Batch creates and updates many entries in one transaction, and returns the result of each. An item that cannot be applied is refused
// alone, or with Atomic all of them are.
func (s *Service) Batch(ctx context.Context, by db.Caller, in BatchInput) (api.BatchResult, error) {
	workspace, err := s.authority.Enter(ctx, by.Actor, in.WorkspaceID, access.DirectoryWrite)
	if err != nil {
		return api.BatchResult{}, err
	}
	held, err := s.authority.Permissions(ctx, by.Actor, in.WorkspaceID)
	if err != nil {
		return api.BatchResult{}, err
	}
	on, err := s.directory.OnDuplicate(ctx, by, in.WorkspaceID, in.OnDuplicate)
	if err != nil {
		return api.BatchResult{}, err
	}
	if err := s.vault.Ready(ctx, workspace); err != nil {
		return api.BatchResult{}, err
	}
	rows := make([]*entryfile.Row, len(in.Items))
	for i, item := range in.Items {
		rows[i] = &entryfile.Row{ID: item.ID, Type: item.Type, EntryUpdate: item.EntryUpdate}
	}
	rules := directory.Rules{WorkspaceID: in.WorkspaceID, Workspace: workspace, Held: held,
		Match: entryfile.MatchID, OnMatch: entryfile.OnMatchUpdate, OnDuplicate: on}
	return directory.Apply(ctx, s.directory, by, rules, func(_ *db.Tx, a *directory.Applier) (api.BatchResult, error) {
		return applyBatch(a, rows, in.Atomic)
	})
}

func applyBatch(a *directory.Applier, rows []*entryfile.Row, atomic bool) (api.BatchResult, error) {
	if err := a.Begin(rows); err != nil {
		return api.BatchResult{}, err
	}
	out := api.BatchResult{Results: make([]api.BatchItemResult, len(rows))}
	var wrong fault.Violations
	for i, row := range rows {
		done, err := a.Apply(row)
		var no *fault.Fault
		switch {
		case errors.As(err, &no):
			out.Results[i] = api.BatchItemResult{Status: entryfile.Refused, Error: &api.BatchError{Code: string(no.Code), Message: no.Message}}
			wrong.Add("items."+strconv.Itoa(i), no.Message)
		case err != nil:
			return api.BatchResult{}, err
		default:
			out.Results[i] = api.BatchItemResult{Status: done.Action, ID: done.ID, Duplicates: done.Duplicates, ApprovalID: done.ApprovalID}
		}
	}
	if atomic {
		return out, wrong.Err()
	}
	return out, nil
}

// Package directory manages the people and organizations that a workspace pays.
package directory

import (
	"context"
	"errors"
	"slices"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/directory/entryword"
	"bursar/internal/fault"
	"bursar/internal/vault"
	"bursar/internal/web"
)

// keepDeleted is how long a deleted entry can be restored.
const keepDeleted = 30 * 24 * time.Hour

// searchTimeout bounds a search for words that are each common but rare together, the only query that no index can answer.
const searchTimeout = 5 * time.Second

// Service manages directories.
type Service struct {
	db        *db.DB
	vault     *vault.Vault
	authority *access.Authority
	cursors   *web.Cursors
	approvals *approval.Service
	common    *entryword.Common
	lines     *lineWriter // of the job that this copy of the service works for; nil for none
}

// New returns the service.
func New(d *db.DB, v *vault.Vault, a *access.Authority, c *web.Cursors, approvals *approval.Service) *Service {
	s := &Service{db: d, vault: v, authority: a, cursors: c, approvals: approvals, common: entryword.NewCommon()}
	approvals.Register(s.methodApprovals())
	approvals.Register(s.identityApprovals())
	return s
}

// List returns a page of the entries of a workspace, newest first.
func (s *Service) List(ctx context.Context, by db.Caller, in ListInput) (*web.JSONPage[api.EntrySummary], error) {
	workspace, err := s.authority.Enter(ctx, by.Actor, in.WorkspaceID, access.DirectoryRead)
	if err != nil {
		return nil, err
	}
	window, err := s.cursors.Paged(in.PageParams, web.Descending, "directory", in.WorkspaceID,
		scope(in.Type), scope(in.Status), scope(in.Tag), scope(in.Q), scope(in.ExternalID), scope(in.Sort))
	if err != nil {
		return nil, err
	}
	page, workspaceID := web.NewJSONPage[api.EntrySummary](window), in.WorkspaceID
	f := filter{workspace: workspace, kind: in.Type, status: in.Status, external: in.ExternalID, order: in.order(), after: window.After, take: window.Limit}
	if f.tails, err = s.lastDigits(ctx, by, in.WorkspaceID, workspace, in.Q); err != nil {
		return nil, err
	}
	if in.Q != nil {
		f.words = in.words
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, searchTimeout)
		defer cancel()
	}
	searching := false
	tag := in.Tag // the closure would move the whole input to the heap
	err = s.db.ReadList(ctx, func(q db.Q) error {
		page.Clear()
		searching = len(f.words) > 0
		if tag != nil {
			id, found, err := findTagID(q, workspaceID, *tag)
			if err != nil || !found {
				return err
			}
			f.tagID = id
		}
		return f.each(q, page)
	})
	if searching && tookTooLong(ctx, err) {
		return nil, fault.Invalid("q", "takes too long to look for: add a word or a filter")
	}
	return page, err
}

// tookTooLong reports whether a search has failed because its time is over, and not because the store could not be reached.
func tookTooLong(ctx context.Context, err error) bool {
	return err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && !errors.Is(err, db.ErrAway)
}

// scope distinguishes an absent filter from an empty one.
func scope(filter *string) string {
	if filter == nil {
		return ""
	}
	return "=" + *filter
}

// Get returns one entry in full. If it contains account numbers, the audit log records that.
func (s *Service) Get(ctx context.Context, by db.Caller, in EntryInput) (api.Entry, error) {
	return s.show(ctx, by, in.ID, func(api.ReceivingMethod) bool { return true })
}

// Show returns one entry for a page. Account numbers are masked, except for that of the receiving method that the visitor requests.
func (s *Service) Show(ctx context.Context, by db.Caller, in ShowInput) (api.Entry, error) {
	return s.show(ctx, by, in.ID, func(m api.ReceivingMethod) bool { return m.ID == in.Reveal })
}

// show returns an entry. It masks the account numbers that are not requested in full. Before it returns one in full, it stores a row in the
// audit log.
func (s *Service) show(ctx context.Context, by db.Caller, id string, full func(api.ReceivingMethod) bool) (api.Entry, error) {
	at, held, err := s.authorize(ctx, by, id, access.DirectoryRead)
	if err != nil {
		return api.Entry{}, entryNotFound(err)
	}
	var answer api.Entry
	methods := s.paid
	if !held.Has(access.ReceivingRead) {
		methods = nil
	}
	e, list, err := s.shown(ctx, by, at, full, methods, func(q db.Q, e entry) (err error) {
		answer = e.Entry
		held, err := pendingIdentity(q, e.ID)
		answer.PendingChange = held.wire()
		if err == nil {
			answer.Tags, err = tagNames(q, e.ID)
		}
		return err
	})
	if err != nil {
		return api.Entry{}, err
	}
	answer.ID = e.ID
	if methods != nil {
		answer.ReceivingMethods = &list
	}
	return answer, nil
}

// shown reads an entry, other data that the caller requests, and methods, if any are requested. It masks the account numbers that are not
// requested in full. Before it returns one in full, it stores a row in the audit log.
func (s *Service) shown(ctx context.Context, by db.Caller, at entryRef, full func(api.ReceivingMethod) bool,
	methods func(db.Q, entry) ([]storedMethod, error), more func(db.Q, entry) error) (e entry, list []api.ReceivingMethod, err error) {
	var sealed []storedMethod
	var untold bool // a shown number is not in the audit log yet
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		untold = false
		if err := q.Snapshot(); err != nil {
			return err
		}
		if e, err = find(q, at); err == nil && e.ID == "" {
			err = errNoEntry
		}
		if err == nil {
			err = more(q, e)
		}
		if err != nil || methods == nil {
			return err
		}
		sealed, err = methods(q, e)
		if err == nil && slices.ContainsFunc(sealed, func(m storedMethod) bool { return full(m.ReceivingMethod) }) {
			untold, err = revealing(by, e).Left(q, s.db.Now())
		}
		return err
	})
	if err == nil {
		list, err = s.openMethods(e, sealed)
	}
	for i, m := range list {
		if !full(m) {
			list[i].AccountID = audit.Mask(m.AccountID)
		}
	}
	if err == nil && untold {
		err = s.reveal(ctx, by, e)
	}
	return e, list, err
}

var errNoEntry = fault.New(api.CodeEntryNotFound, "directory entry not found")

// entryNotFound hides whether an entry exists in a workspace that the caller is not in.
func entryNotFound(err error) error { return fault.Replace(err, api.CodeNotFound, errNoEntry) }

// partNotFound does the same for what belongs to an entry, with the code for that.
func partNotFound(err error) error {
	return fault.Replace(err, api.CodeNotFound, fault.Missing("directory entry"))
}

// externalIDTaken returns the fault for an external id that another entry has: nothing else about an entry is unique.
func externalIDTaken(err error) error {
	if db.IsUnique(err) {
		return errTaken
	}
	return err
}

var errTaken = fault.New(api.CodeExternalIDTaken, "another entry of the workspace has this external_id")

// authorize requires a permission in the workspace of an entry. It returns where the entry is and all permissions of the caller there. It runs
// the same query for an entry that does not exist, so that the time does not reveal whether it does.
func (s *Service) authorize(ctx context.Context, by db.Caller, entryID string, need access.Permission) (at entryRef, held access.Set, err error) {
	if at, err = s.locate(ctx, entryID); err == nil {
		err = s.authority.RequireInWorkspace(ctx, by.Actor, at.workspaceID, need)
	}
	if err == nil {
		held, err = s.authority.Permissions(ctx, by.Actor, at.workspaceID)
	}
	return at, held, err
}

// locate returns where an entry is; the workspace is empty if there is none.
func (s *Service) locate(ctx context.Context, entryID string) (at entryRef, err error) {
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		at, err = locate(q, entryID)
		return err
	})
	return at, err
}

// Create adds an entry.
func (s *Service) Create(ctx context.Context, by db.Caller, in CreateInput) (api.Created, error) {
	workspace, err := s.authority.Enter(ctx, by.Actor, in.WorkspaceID, access.DirectoryWrite)
	if err != nil {
		return api.Created{}, err
	}
	held, err := s.authority.Permissions(ctx, by.Actor, in.WorkspaceID)
	if err != nil {
		return api.Created{}, err
	}
	on, err := s.OnDuplicate(ctx, by, in.WorkspaceID, in.OnDuplicate)
	if err != nil {
		return api.Created{}, err
	}
	if in.Method != nil {
		if !held.Has(access.ReceivingWrite) {
			return api.Created{}, fault.Denied(string(access.ReceivingWrite), fault.Scope{WorkspaceID: in.WorkspaceID})
		}
		if err := s.vault.Ready(ctx, workspace); err != nil {
			return api.Created{}, err
		}
	}
	rules := Rules{WorkspaceID: in.WorkspaceID, Workspace: workspace, Held: held, OnDuplicate: on}
	made := newEntry(workspace, in.EntryCreate) // before the transaction, which others may wait for
	created, err := edit(ctx, s, by, rules, func(w *editor) (api.Created, error) {
		err := oneAtATime(w.tx, workspace, on)
		if err == nil {
			w.tags, err = knownTags(w.tx, in.WorkspaceID, in.Tags)
		}
		if err != nil {
			return api.Created{}, err
		}
		e, found, err := w.create(made, in.Tags)
		if err == nil && in.Method != nil {
			err = w.addMethods(e, nil, []api.ReceivingMethodCreate{*in.Method})
		}
		return api.Created{ID: e.ID, Duplicates: found}, err
	})
	return created, externalIDTaken(err)
}

// Update changes the given values and leaves the rest. A change of the identity of a payee may wait for approval: see splitIdentity. In
// that case the response contains it, and the rest is changed.
func (s *Service) Update(ctx context.Context, by db.Caller, in UpdateInput) (api.Created, error) {
	at, held, err := s.authorize(ctx, by, in.ID, access.DirectoryWrite)
	if err != nil {
		return api.Created{}, entryNotFound(err)
	}
	if err := s.vault.Ready(ctx, at.workspace); err != nil {
		return api.Created{}, err
	}
	rules := Rules{WorkspaceID: at.workspaceID, Workspace: at.workspace, Held: held}
	updated, err := edit(ctx, s, by, rules, func(w *editor) (api.Created, error) {
		before, err := lock(w.tx, at)
		if err == nil {
			err = access.RequireModeOfPayee(w.tx.Q, by.Actor, at.workspaceID, in.ID, false)
		}
		if err != nil {
			return api.Created{}, err
		}
		after, err := before.with(in.EntryUpdate)
		if err == nil {
			w.tags, err = knownTags(w.tx, at.workspaceID, in.Tags)
		}
		if err != nil {
			return api.Created{}, err
		}
		done, err := w.update(before, after, in.Status, in.Tags)
		return api.Created{ID: in.ID, ApprovalID: done.held.shownID, PendingChange: done.held.wire()}, err
	})
	return updated, externalIDTaken(err)
}

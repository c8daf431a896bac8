package control

import (
	"cmp"
	"context"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/mail"
	"bursar/internal/web"
)

// guarded is what the rules and the limits of workspaces have in common. All changes of a workspace are serialized. A stricter one applies
// immediately, and a looser one waits for the approval of a second person, where there is one.
type guarded[T guardRow[A], A any] struct {
	guardNoun
	service *Service
	id      func(A) string
	find    func(q db.Q, id string) (T, error) // the zero value if there is none
	of      func(q db.Q, workspaceID, mode, after string, take int) ([]T, error)
}

// guardRow is a rule or a limit as stored, which callers see as an A.
type guardRow[A any] interface {
	shown() A
	subject() subject
}

// subject is what an approval of a looser rule or limit is about.
type subject struct {
	id, workspaceID, mode string
	version               int64
	approvalID            string // of the change that waits, if one does
}

// guardNoun is how rules or limits are called, in faults, in the audit log and in the store.
type guardNoun struct {
	word, name string // such as rule and approval rule
	kind       string // of the approvals of looser ones
	requested  audit.Action
	outdated   string // why a change that waits is void when another is made
	hold       string // the statement by which one waits for an approval
}

// guardChange is what an approval of a looser rule or limit is for.
type guardChange interface {
	texts() (before, after string)
	title() string
}

// describe returns what a decision on an approval is about, and the changes for the audit log.
func (n guardNoun) describe(c guardChange) (changes audit.Changes, of string) {
	before, after := c.texts()
	changes.Add(n.word, db.NullText(before), db.NullText(after))
	if after == "" {
		return changes, "the end of the " + n.word + ": " + before
	}
	return changes, "the " + n.word + ": " + after
}

// list returns the rules or limits of a workspace, oldest first.
func (g guarded[T, A]) list(ctx context.Context, by db.Caller, in ListInput) (web.Page[A], error) {
	s := g.service
	workspaceID, err := s.authority.Workspace(ctx, by.Actor, in.WorkspaceID)
	if err == nil {
		err = s.authority.RequireInWorkspace(ctx, by.Actor, workspaceID, access.PayoutsRead)
	}
	if err != nil {
		return web.Page[A]{}, err
	}
	mode := access.ModeOf(by.Actor)
	return web.ReadUnpaged(ctx, s.db, s.cursors, in.PageParams, g.id, func(q db.Q, after string, take int) ([]A, error) {
		rows, err := g.of(q, workspaceID, mode, after, take)
		list := make([]A, len(rows))
		for i, one := range rows {
			list[i] = one.shown()
		}
		return list, err
	}, g.name+"s", workspaceID, mode)
}

// edit is a change of the rules or limits of a workspace, in its transaction.
type edit[T any] struct {
	*db.Tx
	guardNoun
	approvals   *approval.Service
	by          db.Caller
	workspaceID string
	number      int64 // of the workspace
	all         []T   // the rules or limits of the workspace
	people      access.SecondPerson
	event       audit.Event
}

// create makes a rule or limit in the workspace and for the mode that a request gives, if it gives them.
func (g guarded[T, A]) create(ctx context.Context, by db.Caller, workspace, mode *string,
	fn func(e *edit[T], out *web.Created[A]) error) (web.Created[A], error) {
	workspaceID, err := g.service.authority.Workspace(ctx, by.Actor, workspace)
	var number int64
	if err == nil {
		number, err = g.enter(ctx, by, workspaceID, guardMode(mode))
	}
	if err != nil {
		return web.Created[A]{}, err
	}
	return write(ctx, g, by, workspaceID, number, func(e *edit[T]) (out web.Created[A], err error) {
		err = fn(e, &out)
		return out, err
	})
}

// change changes an existing rule or limit. One that does not apply in the caller's mode does not exist for the caller.
func (g guarded[T, A]) change(ctx context.Context, by db.Caller, id string, fn func(e *edit[T], old T) (A, error)) (none A, err error) {
	var found T
	if err := g.service.db.Read(ctx, func(q db.Q) (err error) {
		found, err = g.find(q, id)
		return err
	}); err != nil {
		return none, err
	}
	at := found.subject()
	number, err := g.enter(ctx, by, at.workspaceID, at.mode)
	if err != nil && !slices.ContainsFunc(modesOf(at.mode), by.Scope.InMode) {
		err = fault.Missing(g.name)
	}
	if err != nil {
		return none, fault.Replace(err, api.CodeNotFound, fault.Missing(g.name))
	}
	return write(ctx, g, by, at.workspaceID, number, func(e *edit[T]) (A, error) {
		i := slices.IndexFunc(e.all, func(one T) bool { return one.subject().id == id })
		if i < 0 {
			return none, fault.Missing(g.name)
		}
		return fn(e, e.all[i])
	})
}

// enter requires that the caller may change what applies in a mode, and readies the vault for an approval.
func (g guarded[T, A]) enter(ctx context.Context, by db.Caller, workspaceID, mode string) (number int64, err error) {
	if number, err = g.service.authority.Enter(ctx, by.Actor, workspaceID, access.WSWrite); err == nil {
		err = g.service.vault.Ready(ctx, number)
	}
	if err == nil {
		err = access.RequireMode(by.Actor, workspaceID, modesOf(mode)...)
	}
	return number, err
}

// write makes a change by a caller, who must still be allowed to make it.
func write[T guardRow[A], A, R any](ctx context.Context, g guarded[T, A], by db.Caller, workspaceID string, number int64,
	fn func(e *edit[T]) (R, error)) (R, error) {
	return db.Write(ctx, g.service.db, by, func(tx *db.Tx) (out R, _ audit.Event, err error) {
		e := &edit[T]{Tx: tx, guardNoun: g.guardNoun, approvals: g.service.approvals, by: by, workspaceID: workspaceID, number: number}
		if e.all, e.people, err = g.locked(tx, workspaceID); err == nil {
			_, err = identity.HeldNow(tx, by, workspaceID, access.WSWrite)
		}
		if err == nil {
			out, err = fn(e)
		}
		return out, e.event, err
	})
}

// locked reads all rules or limits of a workspace and who could approve, for a change.
func (g guarded[T, A]) locked(tx *db.Tx, workspaceID string) (all []T, people access.SecondPerson, err error) {
	if err = lockGuard(tx, workspaceID); err == nil {
		people, err = access.ObserveSecondPerson(tx, access.Payouts, workspaceID)
	}
	if err == nil {
		all, err = g.of(tx.Q, workspaceID, "", "", maxOfEach)
	}
	return all, people, err
}

// wording is how the audit log describes a change: as done, or as asked for.
type wording struct {
	action      audit.Action
	done, asked string
}

// request describes a change in its event, and requests approval of a looser one. waits is "" if the caller is to make the change.
func (e *edit[T]) request(at subject, w wording, c guardChange, looser bool) (waits string, err error) {
	if looser {
		waits, err = e.approvals.RequestRelaxation(e.Tx, e.by, e.people, approval.Request{Kind: e.kind, Mode: onlyMode(at.mode),
			WorkspaceID: at.workspaceID, Workspace: e.number, SubjectID: at.id, Version: at.version, Payload: c})
	}
	before, after := c.texts()
	text := cmp.Or(after, before)
	e.event = audit.Event{Action: w.action, WorkspaceID: at.workspaceID, ResourceID: at.id, Description: w.done + text}
	e.event.Changes, _ = e.describe(c)
	if waits != "" {
		e.event.Action, e.event.Description = e.requested, w.asked+text
		e.event.Changes.Add("approval_id", nil, waits)
	}
	return waits, err
}

// replace is request for a change of what exists. It takes the place of a change that waits.
func (e *edit[T]) replace(old subject, w wording, c guardChange, looser bool) (waits string, err error) {
	if old.approvalID != "" {
		if _, err := e.approvals.Void(e.Tx, e.by, old.id, e.outdated); err != nil {
			return "", err
		}
	}
	if waits, err = e.request(old, w, c, looser); err != nil || waits == "" {
		return "", err
	}
	return waits, e.Exec(e.hold, old.id, waits)
}

// guardKind returns a kind of approvals of looser rules or limits. apply reports whether what it changes was still as requested, and drops
// are the statements that end what waited for an approval.
func guardKind[C guardChange](n guardNoun, actions map[string]audit.Action, gone string, drops []string,
	apply func(tx *db.Tx, a approval.Approval, c C) (bool, error)) approval.Kind {
	return approval.KindOf[C]{
		Kind: approval.Kind{
			Name: n.kind, Read: access.PayoutsRead, Make: access.WSWrite, Pair: access.Payouts, Mail: mail.APayoutChange, Actions: actions,
			Lock: func(tx *db.Tx, a approval.Approval) error { return lockGuard(tx, a.WorkspaceID) },
		},
		Apply: func(tx *db.Tx, a approval.Approval, c C) (audit.Changes, string, error) {
			changes, of := n.describe(c)
			done, err := apply(tx, a, c)
			if err == nil && !done {
				err = fault.New(api.CodeApprovalChanged, "%s", gone)
			}
			return changes, of, err
		},
		Drop: func(tx *db.Tx, a approval.Approval, c C) (_ audit.Changes, of string, err error) {
			for _, sql := range drops {
				if err == nil {
					err = tx.Exec(sql, a.SubjectID, a.ID)
				}
			}
			_, of = n.describe(c)
			return nil, of, err
		},
		Show: func(c C, _ bool) (string, []api.ApprovalField) {
			before, after := c.texts()
			return c.title(), []api.ApprovalField{{Field: n.word, Before: before, After: after}}
		},
	}.Decoding()
}

package approval

import (
	"context"
	"errors"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/budget"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/mail"
	"bursar/internal/vault"
	"bursar/internal/web"
)

// Service keeps approvals, and how many people a workspace demands.
type Service struct {
	db        *db.DB
	vault     *vault.Vault
	authority *access.Authority
	cursors   *web.Cursors
	mail      *mail.Mailer
	budgets   *budget.Budgets
	publicURL string
	kinds     map[string]Kind
}

// New makes the service. Without a mailer nobody is told by mail.
func New(d *db.DB, v *vault.Vault, a *access.Authority, c *web.Cursors, m *mail.Mailer, b *budget.Budgets, publicURL string) *Service {
	s := &Service{db: d, vault: v, authority: a, cursors: c, mail: m, budgets: b, publicURL: publicURL, kinds: map[string]Kind{}}
	s.Register(s.policyKind())
	return s
}

// Register adds a kind of approvals, before the server serves.
func (s *Service) Register(k Kind) { s.kinds[k.Name] = k }

// List returns a page of the approvals of a workspace that the caller may see, newest first.
// Account numbers are masked.
func (s *Service) List(ctx context.Context, by db.Caller, in ListInput) (web.Page[api.Approval], error) {
	held, err := s.authority.Held(ctx, by.Actor, in.WorkspaceID, access.ReceivingRead)
	if err != nil {
		return web.Page[api.Approval]{}, err
	}
	window, err := s.cursors.Paged(in.PageParams, web.Descending, "approvals", in.WorkspaceID, stateScope(in.State))
	if err != nil {
		return web.Page[api.Approval]{}, err
	}
	var people access.SecondPerson
	var rows []row
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		if people, err = access.FindSecondPerson(q, in.WorkspaceID, s.db.Now()); err == nil {
			rows, err = newest(q, in.WorkspaceID, in.State, window.After, window.Limit)
		}
		return err
	})
	list := make([]api.Approval, len(rows))
	for i, sealed := range rows {
		var a Approval
		if err == nil {
			a, err = s.open(sealed)
		}
		if err == nil {
			list[i], err = s.wire(by, a, held, people, false)
		}
	}
	if err != nil {
		return web.Page[api.Approval]{}, err
	}
	return web.NewPage(window, list, func(a api.Approval) string { return a.ID }), nil
}

func stateScope(state *string) string {
	if state == nil {
		return ""
	}
	return "=" + *state
}

// Waiting counts the pending approvals of a workspace that the caller might decide, up to 100.
func (s *Service) Waiting(ctx context.Context, by db.Caller, workspaceID string) (n int, err error) {
	held, err := s.authority.Permissions(ctx, by.Actor, workspaceID)
	if err != nil || !held.Has(access.ReceivingApprove) {
		return 0, err
	}
	err = s.db.Read(ctx, func(q db.Q) error {
		n = 0
		return q.Each(func(r db.Rows) error {
			if !(Approval{involved: r.Text(0)}).involves(by.ID) {
				n++
			}
			return nil
		}, `SELECT involved FROM approval WHERE workspace_id = $1 AND state = 'pending' ORDER BY id LIMIT 100`, workspaceID)
	})
	return n, err
}

// wire is an approval as the API tells it.
func (s *Service) wire(by db.Caller, a Approval, held access.Set, people access.SecondPerson, full bool) (api.Approval, error) {
	kind := s.kinds[a.Kind]
	out := api.Approval{
		ID: a.ID, WorkspaceID: a.WorkspaceID, Kind: a.Kind, State: a.State, SubjectID: a.SubjectID, SubjectVersion: a.Version, EntryID: a.AboutID,
		Digest: a.digest, RequestedBy: a.Maker, CreatedAt: a.CreatedAt, ExpiresAt: a.ExpiresAt,
		DecidedBy: a.decider, DecidedAt: a.decidedAt, Verification: a.verification, Reason: a.reason,
	}
	var err error
	if out.Summary, out.Fields, err = kind.Show(a, full); err != nil || a.State != api.ApprovalPending {
		return out, err
	}
	why := error(nil)
	if !held.Has(kind.Approve) {
		why = fault.New(fault.Forbidden, "permission %s is required", kind.Approve)
	} else {
		why = a.mayApprove(by, people, s.db.Now())
	}
	var f *fault.Fault
	if errors.As(why, &f) {
		out.CannotBecause = f.Message
	}
	out.CanApprove = why == nil
	return out, nil
}

// enter finds an approval and requires a permission of its kind.
func (s *Service) enter(ctx context.Context, by db.Caller, id string, need func(Kind) access.Permission) (a Approval, held access.Set, err error) {
	var found row
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		found, err = findRow(q, id)
		return err
	})
	if err == nil {
		held, err = s.authority.Held(ctx, by.Actor, found.WorkspaceID, need(s.kinds[found.Kind]))
	}
	if err != nil {
		return a, held, fault.Instead(err, fault.ResourceNotFound, fault.Missing("approval"))
	}
	a, err = s.open(found)
	return a, held, err
}

// Find returns one approval, masked, for whoever shows it: see directory.Approval.
func (s *Service) Find(ctx context.Context, by db.Caller, id string, full bool) (Approval, api.Approval, error) {
	a, held, err := s.enter(ctx, by, id, func(k Kind) access.Permission { return k.Read })
	if err != nil {
		return a, api.Approval{}, err
	}
	var people access.SecondPerson
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		people, err = access.FindSecondPerson(q, a.WorkspaceID, s.db.Now())
		return err
	})
	if err != nil {
		return a, api.Approval{}, err
	}
	shown, err := s.wire(by, a, held, people, full)
	return a, shown, err
}

// decision is how an approval ends.
type decision struct {
	state                        string
	digest, verification, reason string
}

// Approve allows what was shown, and carries it out.
func (s *Service) Approve(ctx context.Context, by db.Caller, in ApproveInput) (api.Approval, error) {
	a, held, err := s.enter(ctx, by, in.ID, func(k Kind) access.Permission { return k.Approve })
	if err != nil {
		return api.Approval{}, err
	}
	return s.decide(ctx, by, a, held, decision{api.ApprovalApproved, in.Digest, in.Verification, ""})
}

// Reject refuses what somebody asked for.
func (s *Service) Reject(ctx context.Context, by db.Caller, in RejectInput) (api.Approval, error) {
	a, held, err := s.enter(ctx, by, in.ID, func(k Kind) access.Permission { return k.Approve })
	if err != nil {
		return api.Approval{}, err
	}
	return s.decide(ctx, by, a, held, decision{api.ApprovalRejected, a.digest, "", in.Reason})
}

// Withdraw takes a request back. Whoever may ask for the same may withdraw it.
func (s *Service) Withdraw(ctx context.Context, by db.Caller, in Input) (api.Approval, error) {
	a, held, err := s.enter(ctx, by, in.ID, func(k Kind) access.Permission { return k.Make })
	if err != nil {
		return api.Approval{}, err
	}
	return s.decide(ctx, by, a, held, decision{api.ApprovalWithdrawn, a.digest, "", ""})
}

func (s *Service) decide(ctx context.Context, by db.Caller, a Approval, held access.Set, d decision) (api.Approval, error) {
	kind := s.kinds[a.Kind]
	if err := s.vault.Ready(ctx, a.number); err != nil {
		return api.Approval{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Approval, audit.Event, error) {
		if err := s.stillPending(tx, a.ID); err != nil {
			return api.Approval{}, audit.Event{}, err
		}
		if err := kind.Lock(tx, a); err != nil {
			return api.Approval{}, audit.Event{}, err
		}
		people, err := access.ObserveSecondPerson(tx, a.WorkspaceID)
		if err == nil && d.state == api.ApprovalApproved {
			err = a.mayApprove(by, people, tx.Now())
		}
		if err != nil {
			return api.Approval{}, audit.Event{}, err
		}
		swapped, err := swap(tx, a, d, by.ID)
		if err == nil && !swapped {
			if err = s.stillPending(tx, a.ID); err == nil {
				err = fault.New(fault.ApprovalChanged, "this is not what waits for approval: look at it again")
			}
		}
		if err != nil {
			return api.Approval{}, audit.Event{}, err
		}
		event, err := s.carryOut(tx, kind, a, d)
		if err != nil {
			return api.Approval{}, audit.Event{}, err
		}
		now, err := s.find(tx.Q, a.ID)
		if err != nil {
			return api.Approval{}, audit.Event{}, err
		}
		answer, err := s.wire(by, now, held, people, false)
		return answer, event, err
	})
}

// stillPending returns an error if an approval is decided, or has expired.
func (s *Service) stillPending(tx *db.Tx, id string) error {
	a, err := s.find(tx.Q, id)
	switch {
	case err != nil:
		return err
	case a.ID == "":
		return fault.Missing("approval")
	case a.State != api.ApprovalPending:
		return fault.New(fault.ApprovalDecided, "this is no longer pending: it is %s", a.State)
	case a.ExpiresAt <= tx.Now():
		return fault.New(fault.ApprovalDecided, "this is no longer pending: it is %s", api.ApprovalExpired)
	}
	return nil
}

// carryOut does what an approval that was decided leads to, and returns its event.
func (s *Service) carryOut(tx *db.Tx, kind Kind, a Approval, d decision) (audit.Event, error) {
	do := kind.Drop
	if d.state == api.ApprovalApproved {
		do = kind.Apply
	}
	changes, of, err := do(tx, a)
	event := audit.Event{Action: kind.Actions[d.state], WorkspaceID: a.WorkspaceID, ResourceID: a.SubjectID, Changes: changes}
	event.Changes.Add("approval", api.ApprovalPending, d.state)
	event.Changes.Add("approval_id", nil, a.ID)
	event.Changes.Add("requested_by", nil, a.Maker.Name)
	event.Changes.Add("verification", nil, d.verification)
	event.Changes.Add("reason", nil, d.reason)
	words := map[string]string{
		api.ApprovalApproved: "Approved", api.ApprovalRejected: "Rejected", api.ApprovalWithdrawn: "Withdrew", api.ApprovalExpired: "Let expire",
	}
	event.Description = words[d.state] + " " + of
	return event, err
}

// expireBatch is how many approvals are looked for at a time.
const expireBatch = 100

// Expire ends approvals that nobody has decided in time.
func (s *Service) Expire(ctx context.Context) error {
	by := db.Caller{Actor: audit.SystemActor("bursar")}
	for {
		var due []row
		err := s.db.Read(ctx, func(q db.Q) (err error) {
			due, err = db.Collect(q, readRow, `SELECT `+columns+` WHERE a.state = 'pending' AND a.expires_at <= $1 ORDER BY a.expires_at LIMIT $2`, s.db.Now(), expireBatch)
			return err
		})
		if err != nil || len(due) == 0 {
			return err
		}
		for _, sealed := range due {
			a, err := s.open(sealed)
			if err == nil {
				err = s.expire(ctx, by, a)
			}
			if err != nil {
				return err
			}
		}
	}
}

func (s *Service) expire(ctx context.Context, by db.Caller, a Approval) error {
	if err := s.vault.Ready(ctx, a.number); err != nil {
		return err
	}
	_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		kind, d := s.kinds[a.Kind], decision{state: api.ApprovalExpired, digest: a.digest}
		if err := kind.Lock(tx, a); err != nil {
			return struct{}{}, audit.Event{}, err
		}
		swapped, err := swap(tx, a, d, "")
		if err == nil && !swapped {
			return struct{}{}, audit.None("somebody has decided meanwhile"), nil
		}
		if err != nil {
			return struct{}{}, audit.Event{}, err
		}
		event, err := s.carryOut(tx, kind, a, d)
		return struct{}{}, event, err
	})
	return err
}

// mayDecide lists who could decide an approval, for the mail that tells them.
func (a Approval) mayDecide(people access.SecondPerson) []string {
	return slices.DeleteFunc(slices.Clone(people.Approvers()), a.involves)
}

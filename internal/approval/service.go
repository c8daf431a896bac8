package approval

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// Kind returns a kind of approvals.
func (s *Service) Kind(name string) Kind { return s.kinds[name] }

// viewer is who looks at approvals of a workspace, with what decides whether they may approve.
type viewer struct {
	db.Caller
	held   access.Set
	roles  []string
	people map[access.Pair]access.SecondPerson
}

// view reads what decides whether somebody may approve what a pair is about.
func view(q db.Q, by db.Caller, held access.Set, workspaceID string, now int64, pairs ...access.Pair) (viewer, error) {
	v := viewer{Caller: by, held: held, people: map[access.Pair]access.SecondPerson{}}
	for _, pair := range pairs {
		people, err := access.FindSecondPerson(q, pair, workspaceID, now)
		if err != nil {
			return v, err
		}
		v.people[pair] = people
	}
	roles, err := access.RolesOf(q, workspaceID, by.ID)
	for _, role := range roles {
		v.roles = append(v.roles, role.Key)
	}
	return v, err
}

// kindsThat lists the kinds that something holds for, for a query.
func (s *Service) kindsThat(hold func(Kind) bool) (names []any) {
	for _, name := range slices.Sorted(maps.Keys(s.kinds)) {
		if hold(s.kinds[name]) {
			names = append(names, name)
		}
	}
	return names
}

// List returns a page of the approvals of a workspace that the caller may see, newest first.
// Account numbers are masked.
func (s *Service) List(ctx context.Context, by db.Caller, in ListInput) (web.Page[api.Approval], error) {
	held, err := s.authority.Permissions(ctx, by.Actor, in.WorkspaceID)
	kinds := s.kindsThat(func(k Kind) bool { return held.Has(k.Read) })
	if err == nil && len(kinds) == 0 {
		err = fault.Denied(string(access.PayoutsRead), fault.Scope{WorkspaceID: in.WorkspaceID}) // which most roles have
	}
	if err != nil {
		return web.Page[api.Approval]{}, err
	}
	window, err := s.cursors.Paged(in.PageParams, web.Descending, "approvals", in.WorkspaceID, stateScope(in.State))
	if err != nil {
		return web.Page[api.Approval]{}, err
	}
	var who viewer
	var rows []row
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		if who, err = view(q, by, held, in.WorkspaceID, s.db.Now(), access.Receiving, access.Payouts); err == nil {
			rows, err = newest(q, in.WorkspaceID, kinds, in.State, window.After, window.Limit)
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
			list[i], err = s.wire(who, a, false)
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
	kinds := s.kindsThat(func(k Kind) bool { return held.Has(k.Pair.Approve) })
	if err != nil || len(kinds) == 0 {
		return 0, err
	}
	list := db.NewStatement(`SELECT a.involved FROM approval a WHERE a.workspace_id = `, workspaceID)
	list.Add(` AND a.state = 'pending' AND a.kind IN (`, kinds...)
	list.Add(`) AND NOT EXISTS (SELECT 1 FROM approval_vote v WHERE v.approval_id = a.id AND v.account_id = `, by.ID)
	list.Add(`) AND (a.role = '' OR EXISTS (SELECT 1 FROM member_role m WHERE m.workspace_id = a.workspace_id AND m.role = a.role AND m.account_id = `, by.ID)
	list.Add(`)) ORDER BY a.id LIMIT 100`)
	err = s.db.Read(ctx, func(q db.Q) error {
		n = 0
		return q.EachOf(list, func(r db.Rows) error {
			if !(Approval{involved: r.Text(0)}).involves(by.ID) {
				n++
			}
			return nil
		})
	})
	return n, err
}

// wire is an approval as the API tells it.
func (s *Service) wire(who viewer, a Approval, full bool) (api.Approval, error) {
	out := api.Approval{
		ID: a.ID, WorkspaceID: a.WorkspaceID, Kind: a.Kind, State: a.State, SubjectID: a.SubjectID, SubjectVersion: a.Version, EntryID: a.AboutID,
		Digest: a.digest, RequestedBy: a.Maker, CreatedAt: a.CreatedAt, ExpiresAt: a.ExpiresAt,
		ApprovalsNeeded: a.needed, Approvals: a.votes, Role: a.role, KeysMayApprove: a.keysMay,
		DecidedBy: a.decider, DecidedAt: a.decidedAt, Verification: a.verification, Reason: a.reason,
	}
	var err error
	if out.Summary, out.Fields, err = s.kinds[a.Kind].Show(a, full); err != nil || a.State != api.ApprovalPending {
		return out, err
	}
	out.Approvals = a.standing(who.people[s.kinds[a.Kind].Pair])
	why := s.mayApprove(a, who, s.db.Now())
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
		return found.Approval, held, fault.Instead(err, fault.ResourceNotFound, fault.Missing("approval"))
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
	var who viewer
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		who, err = view(q, by, held, a.WorkspaceID, s.db.Now(), s.kinds[a.Kind].Pair)
		return err
	})
	if err != nil {
		return a, api.Approval{}, err
	}
	shown, err := s.wire(who, a, full)
	return a, shown, err
}

// decision is how an approval ends, or a vote for it.
type decision struct {
	state                        string
	digest, verification, reason string
}

// permission is what a decision needs.
func (d decision) permission(k Kind) access.Permission {
	if d.state == api.ApprovalWithdrawn {
		return k.Make
	}
	return k.Pair.Approve
}

// Approve allows what was shown. With the last vote that is needed it is carried out.
func (s *Service) Approve(ctx context.Context, by db.Caller, in ApproveInput) (api.Approval, error) {
	return ApproveAs(ctx, s, by, in, itself)
}

// Reject refuses what somebody asked for.
func (s *Service) Reject(ctx context.Context, by db.Caller, in RejectInput) (api.Approval, error) {
	return RejectAs(ctx, s, by, in, itself)
}

// Withdraw takes a request back. Whoever may ask for the same may withdraw it.
func (s *Service) Withdraw(ctx context.Context, by db.Caller, in Input) (api.Approval, error) {
	return decide(ctx, s, by, in.ID, decision{state: api.ApprovalWithdrawn}, itself)
}

// As makes an answer of an approval that was decided, in the transaction that decides it, so that
// a request that is repeated with its idempotency key gets that answer.
type As[T any] func(tx *db.Tx, a api.Approval) (T, error)

func itself(_ *db.Tx, a api.Approval) (api.Approval, error) { return a, nil }

// ApproveAs is Approve with an answer of its own.
func ApproveAs[T any](ctx context.Context, s *Service, by db.Caller, in ApproveInput, answer As[T]) (T, error) {
	return decide(ctx, s, by, in.ID, decision{api.ApprovalApproved, in.Digest, in.Verification, ""}, answer)
}

// RejectAs is Reject with an answer of its own.
func RejectAs[T any](ctx context.Context, s *Service, by db.Caller, in RejectInput, answer As[T]) (T, error) {
	return decide(ctx, s, by, in.ID, decision{api.ApprovalRejected, "", "", in.Reason}, answer)
}

// decide is also how a refusal gets the action and the subject that the log tells it by, since
// the route stands for all kinds.
func decide[T any](ctx context.Context, s *Service, by db.Caller, id string, d decision, as As[T]) (answer T, err error) {
	a, held, err := s.enter(ctx, by, id, d.permission)
	if err == nil {
		answer, err = decideHeld(ctx, s, by, a, held, d, as)
	}
	var f *fault.Fault
	if errors.As(err, &f) && f.Code == fault.Forbidden && a.ID != "" {
		named := *f
		named.Action, named.ResourceID = string(s.kinds[a.Kind].Actions[d.state]), a.SubjectID
		err = &named
	}
	return answer, err
}

func decideHeld[T any](ctx context.Context, s *Service, by db.Caller, a Approval, held access.Set, d decision, as As[T]) (answer T, err error) {
	kind := s.kinds[a.Kind]
	if d.state != api.ApprovalApproved {
		d.digest = a.digest
	}
	if err := s.vault.Ready(ctx, a.number); err != nil {
		return answer, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (answer T, event audit.Event, err error) {
		if _, err := s.stillPending(tx, a.ID); err != nil {
			return answer, event, err
		}
		if err := kind.Lock(tx, a); err != nil {
			return answer, event, err
		}
		if _, err := access.ObserveSecondPerson(tx, kind.Pair, a.WorkspaceID); err != nil {
			return answer, event, err
		}
		who, err := view(tx.Q, by, held, a.WorkspaceID, tx.Now(), kind.Pair)
		if err != nil {
			return answer, event, err
		}
		if event, err = s.settle(tx, who, a, d); err != nil {
			return answer, event, err
		}
		now, err := s.find(tx.Q, a.ID)
		if err != nil {
			return answer, event, err
		}
		shown, err := s.wire(who, now, false)
		if err == nil {
			answer, err = as(tx, shown)
		}
		return answer, event, err
	})
}

// settle stores a decision, and carries it out unless it is a vote after which others are missing.
func (s *Service) settle(tx *db.Tx, who viewer, a Approval, d decision) (audit.Event, error) {
	changed := func() error {
		if _, err := s.stillPending(tx, a.ID); err != nil {
			return err
		}
		return fault.New(fault.ApprovalChanged, "this is not what waits for approval: look at it again")
	}
	votes := int64(0)
	if d.state == api.ApprovalApproved {
		now, err := s.stillPending(tx, a.ID)
		if err == nil {
			err = s.mayApprove(now, who, tx.Now())
		}
		if err != nil {
			return audit.Event{}, err
		}
		var first bool
		votes, first, err = vote(tx, a, d, who.ID)
		switch {
		case err != nil:
			return audit.Event{}, err
		case votes == 0:
			return audit.Event{}, changed()
		case !first: // they voted twice at the same moment
			now.votes = append(now.votes, api.ApprovalVote{ID: who.ID})
			return audit.Event{}, s.mayApprove(now, who, tx.Now())
		}
		// The approval is locked: its votes are what they are now.
		locked, err := findRow(tx.Q, a.ID)
		if err != nil {
			return audit.Event{}, err
		}
		if votes = int64(len(locked.standing(who.people[s.kinds[a.Kind].Pair]))); votes < a.needed {
			return s.voted(a, d, votes)
		}
	}
	swapped, err := swap(tx, a, d, who.ID)
	if err == nil && !swapped {
		err = changed()
	}
	if err != nil {
		return audit.Event{}, err
	}
	return s.carryOut(tx, a, d, votes)
}

// voted is the event of a vote after which others are missing.
func (s *Service) voted(a Approval, d decision, votes int64) (audit.Event, error) {
	summary, _, err := s.kinds[a.Kind].Show(a, false)
	event := audit.Event{Action: s.kinds[a.Kind].Actions[d.state], WorkspaceID: a.WorkspaceID, ResourceID: a.SubjectID,
		Description: fmt.Sprintf("Approved, as %d of %d: %s", votes, a.needed, summary)}
	event.Changes.Add("approvals", votes-1, votes)
	event.Changes.Add("approval_id", nil, a.ID)
	event.Changes.Add("requested_by", nil, a.Maker.Name)
	event.Changes.Add("verification", nil, d.verification)
	return event, err
}

// stillPending reads an approval and returns an error if it is decided, or has expired.
func (s *Service) stillPending(tx *db.Tx, id string) (Approval, error) {
	a, err := s.find(tx.Q, id)
	switch {
	case err != nil:
		return a, err
	case a.ID == "":
		return a, fault.Missing("approval")
	case a.State != api.ApprovalPending:
		return a, fault.New(fault.ApprovalDecided, "this is no longer pending: it is %s", a.State)
	case a.ExpiresAt <= tx.Now():
		return a, fault.New(fault.ApprovalDecided, "this is no longer pending: it is %s", api.ApprovalExpired)
	}
	return a, nil
}

// carryOut does what an approval that was decided, by the last of so many votes or otherwise, leads
// to. It returns the event of that, with those of its parts.
func (s *Service) carryOut(tx *db.Tx, a Approval, d decision, votes int64) (audit.Event, error) {
	kind := s.kinds[a.Kind]
	do := kind.Drop
	if d.state == api.ApprovalApproved {
		do = kind.Apply
	}
	var parts []audit.Event
	if kind.Parts != nil {
		var err error
		if parts, err = kind.Parts(tx, a, d.state); err != nil {
			return audit.Event{}, err
		}
	}
	changes, of, err := do(tx, a)
	event := audit.Event{Action: kind.Actions[d.state], WorkspaceID: a.WorkspaceID, ResourceID: a.SubjectID, Changes: changes}
	event.Changes.Add("approval", api.ApprovalPending, d.state)
	event.Changes.Add("approval_id", nil, a.ID)
	event.Changes.Add("requested_by", nil, a.Maker.Name)
	event.Changes.Add("verification", nil, d.verification)
	event.Changes.Add("reason", nil, d.reason)
	if a.needed > 1 && votes > 0 {
		event.Changes.Add("approvals", votes-1, votes)
	}
	words := map[string]string{
		api.ApprovalApproved: "Approved", api.ApprovalRejected: "Rejected", api.ApprovalWithdrawn: "Withdrew", api.ApprovalExpired: "Let expire",
	}
	event.Description = words[d.state] + " " + of
	for i := range parts {
		parts[i].Changes = event.Changes
	}
	return audit.All(append([]audit.Event{event}, parts...)...), err
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
		event, err := s.carryOut(tx, a, d, 0)
		return struct{}{}, event, err
	})
	return err
}

// mayDecide lists who could decide an approval, for the mail that tells them.
func (s *Service) mayDecide(q db.Q, a Approval, now int64) (list []string, err error) {
	people, err := access.FindSecondPerson(q, s.kinds[a.Kind].Pair, a.WorkspaceID, now)
	for _, id := range people.Approvers() {
		if err != nil || a.involves(id) || a.voted(id) {
			continue
		}
		var roles []access.Role
		roles, err = access.RolesOf(q, a.WorkspaceID, id)
		if a.role == "" || slices.ContainsFunc(roles, func(r access.Role) bool { return r.Key == a.role }) {
			list = append(list, id)
		}
	}
	return list, err
}

// AskToLoosen asks for a change after which money is guarded less, if there is somebody who could
// approve it, or was a moment ago. Otherwise the id is "", and the caller makes the change at once.
func (s *Service) AskToLoosen(tx *db.Tx, by db.Caller, people access.SecondPerson, r Request) (id string, err error) {
	if !people.Demanded() && !people.Available() {
		return "", nil
	}
	return s.Make(tx, by, r)
}

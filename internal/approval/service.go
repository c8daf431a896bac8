package approval

import (
	"context"
	"errors"
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

// Service manages approvals and the policies of workspaces.
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

// New returns the service. Without a mailer it sends no mail.
func New(d *db.DB, v *vault.Vault, a *access.Authority, c *web.Cursors, m *mail.Mailer, b *budget.Budgets, publicURL string) *Service {
	s := &Service{db: d, vault: v, authority: a, cursors: c, mail: m, budgets: b, publicURL: publicURL, kinds: map[string]Kind{}}
	s.registerPolicies()
	return s
}

// Register adds a kind of approvals, before the server starts.
func (s *Service) Register(k Kind) { s.kinds[k.Name] = k }

// Kind returns a kind of approvals.
func (s *Service) Kind(name string) Kind { return s.kinds[name] }

// viewer is a caller who reads approvals of a workspace, with what determines whether they may approve.
type viewer struct {
	db.Caller
	held   access.Set
	roles  []string
	people map[access.Pair]access.SecondPerson
}

// view reads what determines whether a caller may approve changes of some pairs.
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

// kindsThat lists the kinds that satisfy a condition, for a query.
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
		err = fault.Denied(string(access.PayoutsRead), fault.Scope{WorkspaceID: in.WorkspaceID}) // most roles have it
	}
	if err != nil {
		return web.Page[api.Approval]{}, err
	}
	mode := access.ModeOf(by.Actor)
	window, err := s.cursors.Paged(in.PageParams, web.Descending, "approvals", in.WorkspaceID, stateScope(in.State), mode)
	if err != nil {
		return web.Page[api.Approval]{}, err
	}
	var who viewer
	var rows []row
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		if who, err = view(q, by, held, in.WorkspaceID, s.db.Now(), access.Pairs()...); err == nil {
			rows, err = newest(q, s.db.Integrity(), in.WorkspaceID, kinds, in.State, mode, window.After, window.Limit)
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
	if mode := access.ModeOf(by.Actor); mode != "" {
		list.Add(` AND a.mode IN ('', `, mode)
		list.Add(`)`)
	}
	list.Add(` AND a.state = 'pending' AND a.kind IN (`, kinds...)
	list.Add(`) AND NOT EXISTS (SELECT 1 FROM approval_vote v WHERE v.approval_id = a.id AND v.account_id = `, by.ID)
	list.Add(`) AND (a.role = '' OR EXISTS (SELECT 1 FROM member_role m WHERE m.workspace_id = a.workspace_id AND m.role = a.role AND m.account_id = `, by.ID)
	list.Add(`)) ORDER BY a.id LIMIT 100`)
	err = s.db.Read(ctx, func(q db.Q) error {
		n = 0
		return q.EachOf(list, func(r db.Rows) error {
			if !(Approval{record: record{Involved: r.Text(0)}}).involves(by.ID) {
				n++
			}
			return nil
		})
	})
	return n, err
}

// wire returns an approval as in the API.
func (s *Service) wire(who viewer, a Approval, full bool) (api.Approval, error) {
	out := api.Approval{
		ID: a.ID, WorkspaceID: a.WorkspaceID, Kind: a.Kind, State: a.State, SubjectID: a.SubjectID, SubjectVersion: a.Version, EntryID: a.AboutID,
		Digest: a.shown(), RequestedBy: a.Maker, CreatedAt: a.CreatedAt, ExpiresAt: a.ExpiresAt,
		ApprovalsNeeded: a.NeededVotes, Approvals: a.votes, Role: a.Role, KeysMayApprove: a.KeysMay,
		DecidedBy: a.decider, DecidedAt: a.DecidedAt, Verification: a.Verification, Reason: a.Reason,
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
		found, err = findRow(q, s.db.Integrity(), id)
		return err
	})
	if err == nil {
		held, err = s.authority.Held(ctx, by.Actor, found.WorkspaceID, need(s.kinds[found.Kind]))
	}
	if err == nil && found.Mode != "" && !by.Scope.InMode(found.Mode) {
		err = fault.Missing("approval")
	}
	if err != nil {
		return found.Approval, held, fault.Replace(err, api.CodeNotFound, fault.Missing("approval"))
	}
	a, err = s.open(found)
	return a, held, err
}

// Find returns an approval that the caller may see, for packages that show more of it.
func (s *Service) Find(ctx context.Context, by db.Caller, id string) (Approval, error) {
	a, _, err := s.enter(ctx, by, id, func(k Kind) access.Permission { return k.Read })
	return a, err
}

// Get returns one approval in full: old and new values, the requester, what changed about the roles of people, and what its kind adds.
func (s *Service) Get(ctx context.Context, by db.Caller, in Input) (api.Approval, error) {
	a, held, err := s.enter(ctx, by, in.ID, func(k Kind) access.Permission { return k.Read })
	if err != nil {
		return api.Approval{}, err
	}
	var who viewer
	var more []api.ApprovalField
	var roles []api.ApprovalChange
	kind := s.kinds[a.Kind]
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		if who, err = view(q, by, held, a.WorkspaceID, s.db.Now(), access.Pairs()...); err == nil {
			a.Maker.EmailProved, err = IsEmailProved(q, a.Maker.ID)
		}
		if err == nil && kind.Now != nil {
			more, err = kind.Now(q, a)
		}
		if err == nil && held.Has(kind.Pair.Approve) {
			roles, err = a.roleChanges(q, a.people(by), s.db.Now())
		}
		return err
	})
	if err != nil {
		return api.Approval{}, err
	}
	shown, err := s.wire(who, a, kind.Pair != access.Receiving || held.Has(access.ReceivingRead))
	shown.Fields, shown.RoleChanges = append(shown.Fields, more...), roles
	if err == nil && kind.Complete != nil {
		err = kind.Complete(ctx, by, held, a, &shown)
	}
	return shown, err
}

// IsEmailProved reports whether the address of a person is proved to be theirs. It is nil for a machine client.
func IsEmailProved(q db.Q, userID string) (*bool, error) {
	var proof string
	found, err := q.Row(`SELECT email_proof FROM account WHERE id = $1 AND kind = 'person'`, userID).Scan(&proof)
	if err != nil || !found {
		return nil, err
	}
	return new(proof == "*"), nil
}

// mayDecide lists who could decide an approval, for the mail that notifies them.
func (s *Service) mayDecide(q db.Q, a Approval, now int64) ([]string, error) {
	people, kind := map[access.Pair]access.SecondPerson{}, s.kinds[a.Kind]
	for _, pair := range []access.Pair{kind.Pair, kind.Also} {
		if pair.Approve == "" {
			continue
		}
		var err error
		if people[pair], err = access.FindSecondPerson(q, pair, a.WorkspaceID, now); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(s.approversOf(a, people), a.voted), nil
}

// approversOf lists who could approve a request, or has, including those who do not count yet. They have no part in it, and hold the
// demanded role and the permissions of all pairs that it touches.
func (s *Service) approversOf(a Approval, people map[access.Pair]access.SecondPerson) (list []string) {
	kind := s.kinds[a.Kind]
	for _, id := range people[kind.Pair].Approvers() {
		if !a.involves(id) && people[kind.Pair].WillCount(id, a.Role, a.CreatedAt) && (kind.Also.Approve == "" || people[kind.Also].WillCount(id, "", a.CreatedAt)) {
			list = append(list, id)
		}
	}
	return list
}

// RequestRelaxation requests approval of a looser change, if there is a person who could approve it, or was until recently. Otherwise the id is
// "", and the caller makes the change immediately.
func (s *Service) RequestRelaxation(tx *db.Tx, by db.Caller, people access.SecondPerson, r Request) (id string, err error) {
	if !people.Demanded() && !people.Available() {
		return "", nil
	}
	return s.Make(tx, by, r)
}

// AskToRelease is RequestRelaxation for changes that let stopped or stuck live money move. A machine client alone cannot do that: its secret may
// be why it was stopped.
func (s *Service) AskToRelease(tx *db.Tx, by db.Caller, people access.SecondPerson, r Request) (id string, err error) {
	if id, err = s.RequestRelaxation(tx, by, people, r); err != nil || id != "" {
		return id, err
	}
	if by.Type == audit.Client {
		f := fault.New(api.CodeForbidden, "a machine client cannot do this, only a person can")
		f.Scope.WorkspaceID = r.WorkspaceID
		return "", f
	}
	if slices.ContainsFunc(people.Approvers(), func(other string) bool { return other != by.ID }) {
		return s.Make(tx, by, r) // the requester need not be one of the two
	}
	return "", nil
}

// Outcome is the result of a write that either makes a change or stores a request for its approval.
type Outcome[T any] struct {
	Answer     T      `json:"answer"`
	ApprovalID string `json:"approval_id,omitzero"`
}

// Kept returns the response that a retry with the same idempotency key gets.
func (o Outcome[T]) Kept() (any, *fault.Fault) {
	if o.ApprovalID == "" {
		return o.Answer, nil
	}
	return nil, &fault.Fault{Code: api.CodeSecondPersonRequired, Message: "another person has to approve this: your request is stored and waits for them",
		Details: api.SecondPersonDetails{ApprovalID: o.ApprovalID}}
}

// Result returns the result, or SECOND_PERSON_REQUIRED if the change waits for an approval. The request is stored already, so a retry with
// the same idempotency key names the same approval.
func (o Outcome[T]) Result() (T, error) {
	if _, waits := o.Kept(); waits != nil {
		return o.Answer, waits
	}
	return o.Answer, nil
}

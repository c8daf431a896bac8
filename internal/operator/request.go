package operator

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/ledger"
	"bursar/internal/mail"
	"bursar/internal/web"
	"bursar/internal/workspace"
)

// requestLifetime is how long another operator can confirm a request.
const requestLifetime = 7 * 24 * time.Hour

// request is a row of a request.
type request struct {
	ID          string `db:"id"`
	Kind        string `db:"kind"`
	Subject     string `db:"subject_id"`
	Payload     string `db:"payload"`
	Reference   string `db:"reference"`
	RequestedBy string `db:"requested_by,null"`
	Requester   string `db:"requester"`
	State       string `db:"state"`
	CreatedAt   int64  `db:"created_at"`
	ExpiresAt   int64  `db:"expires_at"`
	Version     int64  `db:"requester_version"`
}

var (
	requestRows    = db.Select[request]("operator_request", nil)
	newRequest     = db.InsertInto[request]("operator_request")
	selectRequests = `SELECT ` + requestRows.Columns + ` FROM operator_request`
)

// digest returns a digest of everything that a request contains.
func (r request) digest() string {
	sum := sha256.Sum256([]byte(r.ID + "\n" + r.Kind + "\n" + r.Subject + "\n" + r.Reference + "\n" + r.Payload))
	return hex.EncodeToString(sum[:])
}

// permission returns the permission that deciding the request needs.
func (r request) permission() access.Permission {
	if r.Kind == api.OpsDeposit {
		return access.OpsMoney
	}
	return access.OpsAccess
}

// payload contains the parameters of a request.
type payload struct {
	Summary     string `json:"summary"`
	Amount      int64  `json:"amount,omitzero"`
	Note        string `json:"note,omitzero"`
	WorkspaceID string `json:"workspace_id,omitzero"`
	Role        string `json:"role,omitzero"`
}

// ended returns why a request can no longer be confirmed, or "". Its requester must still be allowed to make it, and sign in as they did
// then. A request made at the command line of the machine ends only by its expiry. An appointment ends with the membership of the person.
func (r request) ended(q db.Q) (why string, err error) {
	if r.Kind == api.OpsAppoint {
		p, err := r.parameters()
		var workspace string
		if err == nil {
			workspace, err = workspaceWith(q, p.WorkspaceID, r.Subject)
		}
		if err != nil || workspace == "" {
			return "the person is no longer a member of the workspace", err
		}
	}
	if r.RequestedBy == "" {
		return "", nil
	}
	held, err := access.OperatorHolds(q, r.RequestedBy)
	if err == nil && !slices.Contains(held, r.permission()) {
		return "whoever asked for it is disabled, or no longer an operator with " + string(r.permission()), nil
	}
	version, bad := identity.CredentialVersion(q, r.RequestedBy)
	if err = cmp.Or(err, bad); err == nil && version != r.Version {
		why = "how the operator who asked for it signs in has changed since"
	}
	return why, err
}

// requireOpen returns an error if the request can no longer be confirmed.
func (r request) requireOpen(q db.Q) error {
	why, err := r.ended(q)
	if err == nil && why != "" {
		err = fault.New(api.CodeApprovalDecided, "this has ended: %s", why)
	}
	return err
}

// workspaceWith returns the name of a workspace, or "" unless an active user is a member of it.
func workspaceWith(q db.Q, workspaceID, userID string) (name string, err error) {
	_, err = q.Row(`SELECT w.name FROM live_member m JOIN workspace w ON w.id = m.workspace_id JOIN account a ON a.id = m.account_id
		WHERE m.workspace_id = $1 AND m.account_id = $2 AND a.status = 'active'`, workspaceID, userID).Scan(&name)
	return name, err
}

// parameters reads the payload of the request.
func (r request) parameters() (p payload, err error) {
	if err = json.Unmarshal([]byte(r.Payload), &p); err != nil {
		err = fmt.Errorf("read the request %s: %w", r.ID, err)
	}
	return p, err
}

func (r request) wire() (api.OpsRequest, error) {
	p, err := r.parameters()
	if err != nil {
		return api.OpsRequest{}, err
	}
	return api.OpsRequest{ID: r.ID, Kind: r.Kind, Summary: p.Summary, RequestedBy: r.Requester, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
		Digest: r.digest(), Permission: string(r.permission())}, nil
}

// Outcome is the result of an operation that may need another operator. It has the id of the request if it does.
type Outcome struct {
	RequestID string
	Deposit   api.Deposit
}

// errReference is the error for a reference that was used before.
var errReference = fault.New(api.CodeValidation, "this reference was used before: each deposit into a live account needs its own")

// store stores a request in a state. It first removes expired requests, which frees their references.
func store(tx *db.Tx, by db.Caller, kind, subject, reference, state string, p payload) (request, error) {
	text, err := json.Marshal(p, json.Deterministic(true))
	if err != nil {
		return request{}, fmt.Errorf("write a request: %w", err)
	}
	now := tx.Now()
	version, err := identity.CredentialVersion(tx.Q, by.ID)
	if err != nil {
		return request{}, err
	}
	r := request{
		ID: tx.NewID("opr"), Kind: kind, Subject: subject, Payload: string(text), Reference: reference,
		RequestedBy: by.ID, Requester: cmp.Or(by.Email, by.Name), State: state,
		CreatedAt: now, ExpiresAt: now + requestLifetime.Milliseconds(), Version: version,
	}
	if err := tx.Exec(`UPDATE operator_request SET state = 'expired' WHERE state = 'pending' AND expires_at <= $1`, now); err != nil {
		return r, err
	}
	stored, err := newRequest.InsertNew(tx, `(reference) WHERE reference <> '' AND state IN ('pending', 'approved')`, &r)
	if err == nil && !stored {
		err = errReference
	}
	return r, err
}

// event returns the event of a request in the operator's log.
func (r request) event(tx *db.Tx, action audit.Action, verb, summary string) (audit.Event, error) {
	event := audit.Event{Action: action, ResourceID: r.ID, Description: verb + ": " + summary}
	event.Changes.Add("state", nil, r.State)
	event.Changes.Add("requested_by", nil, r.Requester)
	var err error
	event.OrganizationID, err = access.AuditOrganization(tx.Q, "")
	return event, err
}

// request executes a request if alone is set. Otherwise it stores the request for another operator.
func (s *Service) request(tx *db.Tx, by db.Caller, alone bool, kind, subject, reference string, p payload) (Outcome, audit.Event, error) {
	state := "pending"
	if alone {
		state = "approved"
	}
	r, err := store(tx, by, kind, subject, reference, state, p)
	if err != nil {
		return Outcome{}, audit.Event{}, err
	}
	event, err := r.event(tx, audit.OperatorRequested, "Requested", p.Summary)
	if err != nil || !alone {
		return Outcome{RequestID: r.ID}, event, err
	}
	done, events, err := s.carryOut(tx, by, r)
	return done, audit.All(append(events, event)...), err
}

// Deposit adds money to an account, on behalf of the person who controls the machine. For a live account it needs a unique reference. If
// there are two operators, the deposit waits until one with ops.money confirms it.
func Deposit(tx *db.Tx, by db.Caller, to ledger.Account, amount int64, reference, note string) (Outcome, audit.Event, error) {
	if to.Mode != api.ModeLive {
		if reference == "" {
			reference = note
		}
		d, event, err := ledger.Deposit(tx, to, amount, api.DepositFromOperator, reference, true)
		return Outcome{Deposit: d}, event, err
	}
	if reference == "" {
		return Outcome{}, audit.Event{}, fault.Invalid("reference", "is required for a live account")
	}
	booked, err := tx.Row(`SELECT id FROM ledger_deposit WHERE account_id = $1 AND reference = $2 AND status = 'booked' LIMIT 1`, to.ID, reference).Scan(new(string))
	if err == nil && booked {
		err = errReference
	}
	operators := 0
	if err == nil {
		operators, err = count(tx.Q, "")
	}
	if err != nil {
		return Outcome{}, audit.Event{}, err
	}
	summary := fmt.Sprintf("deposit of %s into the live account %s (%s), reference %s: %s", api.FormatAmount(amount, to.Currency), to.Name, to.ID, reference, note)
	return (&Service{}).request(tx, by, operators < 2, api.OpsDeposit, to.ID, reference, payload{Summary: summary, Amount: amount, Note: note})
}

// Reset removes a person's sign-in methods and mails them a link to start over. For a person who may approve, or who operates the store, it
// waits for a second operator if there is one.
func (s *Service) Reset(ctx context.Context, by db.Caller, in UserInput) (Outcome, error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (Outcome, audit.Event, error) {
		who, alone, err := s.enter(tx, by, in.UserID)
		if err != nil {
			return Outcome{}, audit.Event{}, err
		}
		if !s.Mails() {
			return Outcome{}, audit.Event{}, fault.New(api.CodeForbidden, "this server sends no mail: make the link with 'bursar admin user reset'")
		}
		if !alone {
			approves, err := access.MayApproveAnywhere(tx.Q, who.ID)
			if err != nil {
				return Outcome{}, audit.Event{}, err
			}
			held, err := access.OperatorHolds(tx.Q, who.ID)
			if err != nil {
				return Outcome{}, audit.Event{}, err
			}
			alone = !approves && len(held) == 0
		}
		out, event, err := s.request(tx, by, alone, api.OpsReset, who.ID, "", payload{Summary: "reset of how " + who.Email + " signs in"})
		return out, event, cmp.Or(err, stillOperates(tx, by, access.OpsAccess))
	})
}

// Appoint gives a member of a workspace a role that may approve, in an emergency. It waits for a second operator if there is one.
func (s *Service) Appoint(ctx context.Context, by db.Caller, in AppointInput) (Outcome, error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (Outcome, audit.Event, error) {
		var id string
		if _, err := tx.Row(`SELECT id FROM account WHERE email = $1 AND email <> ''`, identity.NormalizeEmail(in.Email)).Scan(&id); err != nil {
			return Outcome{}, audit.Event{}, err
		}
		who, alone, err := s.enter(tx, by, id)
		if err != nil {
			return Outcome{}, audit.Event{}, err
		}
		name, err := workspaceWith(tx.Q, in.WorkspaceID, who.ID)
		if err == nil && name == "" {
			err = fault.Invalid("email", "must be a member of the workspace")
		}
		if err != nil {
			return Outcome{}, audit.Event{}, err
		}
		out, event, err := s.request(tx, by, alone, api.OpsAppoint, who.ID, "", payload{Summary: "role " + in.Role + " in the workspace " + name + " for " + who.Email,
			WorkspaceID: in.WorkspaceID, Role: in.Role})
		return out, event, cmp.Or(err, stillOperates(tx, by, access.OpsAccess))
	})
}

// enter requires ops.access and finds a person. alone reports that there is no second operator who could confirm an action on that person.
func (s *Service) enter(tx *db.Tx, by db.Caller, userID string) (who identity.User, alone bool, err error) {
	if err := access.RequireOperator(tx.Q, by.Actor, access.OpsAccess, tx.Now()); err != nil {
		return who, false, err
	}
	if who, err = person(tx.Q, userID); err == nil && who.ID == by.ID {
		err = fault.New(api.CodeForbidden, "this is about you: another operator has to do it")
	}
	if err != nil {
		return who, false, err
	}
	n, err := count(tx.Q, access.OpsAccess)
	return who, n < 2, err
}

// stillOperates returns an error unless the caller's session is live and they hold a permission. Both may have ended after the request was
// authorized, also on another node. It locks them, so it is called after workspaces and others are locked.
func stillOperates(tx *db.Tx, by db.Caller, need access.Permission) error {
	if err := identity.LockCaller(tx, by); err != nil {
		return err
	}
	return access.RequireOperator(tx.Q, by.Actor, need, tx.Now())
}

// RequestsInput selects the pending requests.
type RequestsInput struct{ web.PageParams }

// Requests lists the pending requests, oldest first.
func (s *Service) Requests(ctx context.Context, by db.Caller, in RequestsInput) (web.Page[api.OpsRequest], error) {
	return web.ReadUnpaged(ctx, s.db, s.cursors, in.PageParams, func(r api.OpsRequest) string { return r.ID },
		func(q db.Q, after string, take int) (list []api.OpsRequest, err error) {
			if err := access.RequireOperator(q, by.Actor, access.OpsRead, s.db.Now()); err != nil {
				return nil, err
			}
			rows, err := db.Collect(q, requestRows.Read, selectRequests+` WHERE state = 'pending' AND expires_at > $1 AND id > $2 ORDER BY id LIMIT $3`, s.db.Now(), after, take)
			list = []api.OpsRequest{}
			for _, r := range rows {
				var one api.OpsRequest
				if err == nil {
					one, err = r.wire()
				}
				if err == nil {
					one.EndedBecause, err = r.ended(q)
				}
				list = append(list, one)
			}
			return list, err
		}, "ops-requests")
}

// ApproveInput identifies a request and what was shown of it.
type ApproveInput struct {
	ID string `path:"id"`
	api.OpsApprove
}

// Validate checks the digest without reading the database.
func (in *ApproveInput) Validate(v *fault.Violations) { web.CheckText(v, "digest", in.Digest, 1, 100) }

// RejectInput identifies a request.
type RejectInput struct {
	ID string `path:"id"`
}

// Approve confirms and executes another operator's request.
func (s *Service) Approve(ctx context.Context, by db.Caller, in ApproveInput) (api.OpsDecision, error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.OpsDecision, audit.Event, error) {
		r, err := s.decide(tx, by, in.ID, "approved")
		switch {
		case err != nil:
			return api.OpsDecision{}, audit.Event{}, err
		case in.Digest != r.digest():
			return api.OpsDecision{}, audit.Event{}, fault.New(api.CodeApprovalChanged, "this is not what waits: look at it again")
		case by.ID == r.RequestedBy || by.ID == r.Subject:
			return api.OpsDecision{}, audit.Event{}, fault.New(api.CodeForbidden, "you asked for this, or it is about you: another operator has to confirm it")
		}
		_, events, err := s.carryOut(tx, by, r)
		if err == nil {
			err = identity.LockUser(tx, r.RequestedBy)
		}
		if err == nil {
			err = stillOperates(tx, by, r.permission())
		}
		if err == nil {
			err = r.requireOpen(tx.Q)
		}
		if err != nil {
			return api.OpsDecision{}, audit.Event{}, err
		}
		shown, err := r.wire()
		if err != nil {
			return api.OpsDecision{}, audit.Event{}, err
		}
		event, err := r.event(tx, audit.OperatorApproved, "Confirmed", shown.Summary)
		return api.OpsDecision{ID: r.ID, State: r.State}, audit.All(append([]audit.Event{event}, events...)...), err
	})
}

// Reject rejects a request. The operator who made it can also withdraw it this way.
func (s *Service) Reject(ctx context.Context, by db.Caller, in RejectInput) (api.OpsDecision, error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.OpsDecision, audit.Event, error) {
		r, err := s.decide(tx, by, in.ID, "rejected")
		if err != nil {
			return api.OpsDecision{}, audit.Event{}, err
		}
		shown, err := r.wire()
		if err != nil {
			return api.OpsDecision{}, audit.Event{}, err
		}
		event, err := r.event(tx, audit.OperatorRejected, "Rejected", shown.Summary)
		return api.OpsDecision{ID: r.ID, State: r.State}, event, cmp.Or(err, stillOperates(tx, by, r.permission()))
	})
}

// decide changes the state of a pending request. The caller must hold the permission for it.
func (s *Service) decide(tx *db.Tx, by db.Caller, id, state string) (request, error) {
	if err := access.RequireOperator(tx.Q, by.Actor, access.OpsRead, tx.Now()); err != nil {
		return request{}, err
	}
	rows, err := db.Collect(tx.Q, requestRows.Read, selectRequests+` WHERE id = $1`, id)
	if err == nil && len(rows) == 0 {
		err = fault.Foreign("request", fault.Scope{})
	}
	if err != nil {
		return request{}, err
	}
	r := rows[0]
	if err := access.RequireOperator(tx.Q, by.Actor, r.permission(), tx.Now()); err != nil {
		return r, err
	}
	first, err := tx.Row(`UPDATE operator_request SET state = $2, decided_by = $3, decided_at = $4 WHERE id = $1 AND state = 'pending' AND expires_at > $4 RETURNING id`,
		id, state, by.ID, tx.Now()).Scan(new(string))
	if err == nil && !first {
		err = fault.New(api.CodeApprovalDecided, "this no longer waits")
	}
	r.State = state
	return r, err
}

// carryOut executes a request, and returns its audit rows.
func (s *Service) carryOut(tx *db.Tx, by db.Caller, r request) (done Outcome, events []audit.Event, err error) {
	p, err := r.parameters()
	if err != nil {
		return done, nil, err
	}
	switch r.Kind {
	case api.OpsDeposit:
		to, err := ledger.FindAccount(tx.Q, r.Subject)
		if err == nil && to.Kind != ledger.Customer {
			err = fault.Missing("account")
		}
		if err != nil {
			return done, nil, err
		}
		d, event, err := ledger.Deposit(tx, to, p.Amount, api.DepositFromOperator, r.Reference, true)
		event.Changes.Add("note", nil, p.Note)
		return Outcome{Deposit: d}, []audit.Event{event}, err
	case api.OpsReset:
		events, err = s.reset(tx, by, r.Subject)
	case api.OpsAppoint:
		events, err = s.appoint(tx, r, p)
	}
	return done, events, err
}

func (s *Service) reset(tx *db.Tx, by db.Caller, userID string) ([]audit.Event, error) {
	who, err := person(tx.Q, userID)
	if err != nil {
		return nil, err
	}
	workspaces, err := access.RestartApprover(tx, userID)
	if err != nil {
		return nil, err
	}
	_, event, err := s.signin.ResetIn(tx, who.Email, false, func(tx *db.Tx, userID, email string) (identity.Link, error) {
		return s.links.MailUser(tx, userID, email, by.Name)
	})
	for _, id := range workspaces {
		if err == nil {
			err = s.notify(tx, id, mail.OperatorChange{Person: who.Email})
		}
	}
	return event.Each(), err
}

// appoint makes a member an approver, like bursar admin approver appoint. Servers mail the approvers and owners.
func (s *Service) appoint(tx *db.Tx, r request, p payload) ([]audit.Event, error) {
	who, err := person(tx.Q, r.Subject)
	if err == nil {
		_, _, err = access.LockMembers(tx, p.WorkspaceID)
	}
	if err == nil {
		err = r.requireOpen(tx.Q) // they may have been removed since, also on another node
	}
	if err != nil {
		return nil, err
	}
	_, event, err := workspace.AppointIn(tx, p.WorkspaceID, who.Email, p.Role)
	return []audit.Event{event}, err
}

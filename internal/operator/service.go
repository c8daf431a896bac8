// Package operator contains the operations of people who operate the store. They see organizations, users and the state of the server,
// disable and reset users, appoint approvers, and confirm deposits. Anything that could help one person to money or to approvals needs a
// second operator if there is one.
package operator

import (
	"context"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/mail"
	"bursar/internal/payout"
	"bursar/internal/signin"
	"bursar/internal/web"
)

// Service runs operators' requests from the console and the API.
type Service struct {
	db      *db.DB
	cursors *web.Cursors
	signin  *signin.Service
	links   *identity.Links
	mail    *mail.Mailer
}

// New returns the service.
func New(d *db.DB, c *web.Cursors, s *signin.Service, l *identity.Links, m *mail.Mailer) *Service {
	return &Service{db: d, cursors: c, signin: s, links: l, mail: m}
}

// Holds returns the caller's operator permissions in their session. It returns an error if they are not an operator.
func (s *Service) Holds(ctx context.Context, by db.Caller, need access.Permission) (held []access.Permission, err error) {
	err = s.db.Read(ctx, func(q db.Q) error {
		if err := access.RequireOperator(q, by.Actor, need, s.db.Now()); err != nil {
			return err
		}
		held, err = access.OperatorHolds(q, by.ID)
		return err
	})
	return held, err
}

// read runs fn for an operator who may see the store.
func (s *Service) read(ctx context.Context, by db.Caller, fn func(q db.Q) error) error {
	return s.db.Read(ctx, func(q db.Q) error {
		if err := access.RequireOperator(q, by.Actor, access.OpsRead, s.db.Now()); err != nil {
			return err
		}
		return fn(q)
	})
}

// PageSize is the number of rows on a page.
const PageSize = 100

// PageInput selects the rows after an id.
type PageInput struct{ After string }

// Organization is an organization as shown to an operator.
type Organization struct {
	api.Organization
	Workspaces, People int64
}

// Organizations lists organizations, oldest first.
func (s *Service) Organizations(ctx context.Context, by db.Caller, in PageInput) (list []Organization, err error) {
	err = s.read(ctx, by, func(q db.Q) (err error) {
		list, err = db.Collect(q, func(r db.Rows) Organization {
			return Organization{api.Organization{ID: r.Text(0), Name: r.Text(1), Slug: r.Text(2)}, r.Int(3), r.Int(4)}
		}, `SELECT o.id, o.name, o.slug, (SELECT count(*) FROM workspace w WHERE w.organization_id = o.id),
				(SELECT count(DISTINCT m.account_id) FROM workspace w JOIN workspace_member m ON m.workspace_id = w.id
					JOIN account a ON a.id = m.account_id AND a.kind = 'person' WHERE w.organization_id = o.id AND m.accepted = TRUE)
			FROM organization o WHERE o.id > $1 ORDER BY o.id LIMIT $2`, in.After, PageSize)
		return err
	})
	return list, err
}

// User is a user as shown to an operator.
type User struct {
	identity.User
	Approves, Operates bool
}

// FindInput selects users by a prefix of their address, or by id.
type FindInput struct{ Text string }

// Users finds users by a prefix of their address, or by id.
func (s *Service) Users(ctx context.Context, by db.Caller, in FindInput) (list []User, err error) {
	text := identity.NormalizeEmail(in.Text)
	err = s.read(ctx, by, func(q db.Q) (err error) {
		if list = nil; text == "" {
			return nil
		}
		where, args := `email >= $1 AND email < $2 AND email <> '' ORDER BY email`, []any{text, text + "\U0010FFFF"}
		if strings.HasPrefix(text, "usr_") {
			where, args = `id = $1`, []any{text}
		}
		list, err = db.Collect(q, func(r db.Rows) User {
			return User{User: identity.User{ID: r.Text(0), Email: r.Text(1), Name: r.Text(2), Status: r.Text(3), CreatedAt: r.Int(4), LastUsedAt: r.Int(5)}}
		}, `SELECT id, email, name, status, created_at, last_used_at FROM account WHERE `+where+` LIMIT 50`, args...)
		for i := range list {
			if err == nil {
				list[i].Approves, err = access.MayApproveAnywhere(q, list[i].ID)
			}
			var held []access.Permission
			if err == nil {
				held, err = access.OperatorHolds(q, list[i].ID)
			}
			list[i].Operates = len(held) > 0
		}
		return err
	})
	return slices.DeleteFunc(list, func(u User) bool { return !strings.HasPrefix(u.ID, "usr_") }), err
}

// StoppedWorkspace is a workspace in which sending payouts is stopped.
type StoppedWorkspace struct {
	api.NamedWorkspace
	Mode, Reason string
	At           int64
}

// State is the state of the store.
type State struct {
	Rails     payout.Stopped
	Conflicts []payout.RecordConflict
	Stopped   []StoppedWorkspace
	Waiting   int // requests of operators
}

// State returns the state of the store.
func (s *Service) State(ctx context.Context, by db.Caller, _ struct{}) (state State, err error) {
	err = s.read(ctx, by, func(q db.Q) (err error) {
		if state.Rails, err = payout.ReadStopped(q); err != nil {
			return err
		}
		if state.Conflicts, err = payout.ReadConflicts(q, ""); err != nil {
			return err
		}
		if _, err = q.Row(`SELECT count(*) FROM operator_request WHERE state = 'pending' AND expires_at > $1`, s.db.Now()).Scan(&state.Waiting); err != nil {
			return err
		}
		state.Stopped, err = db.Collect(q, func(r db.Rows) StoppedWorkspace {
			return StoppedWorkspace{api.NamedWorkspace{WorkspaceID: r.Text(0), WorkspaceName: r.Text(1)}, r.Text(2), r.Text(3), r.Int(4)}
		}, `SELECT s.workspace_id, w.name, s.mode, s.reason, s.stopped_at FROM payout_stop s JOIN workspace w ON w.id = s.workspace_id
			WHERE s.stopped_at > 0 AND s.mode IN ('live', 'sandbox') ORDER BY s.mode, s.workspace_id LIMIT $1`, PageSize)
		return err
	})
	return state, err
}

// Audit lists the newest entries of the audit log that belong to no workspace.
func (s *Service) Audit(ctx context.Context, by db.Caller, _ struct{}) (list []api.AuditEntry, err error) {
	if _, err := s.Holds(ctx, by, access.OpsRead); err != nil {
		return nil, err
	}
	for row, err := range (auditlog.Outside{}).Rows(ctx, s.db) {
		if err != nil {
			return nil, err
		}
		if list = append(list, row); len(list) == PageSize {
			break
		}
	}
	return list, nil
}

// UserInput identifies a user.
type UserInput struct{ UserID string }

// Disable ends all access of a user. One operator is enough.
func (s *Service) Disable(ctx context.Context, by db.Caller, in UserInput) (identity.User, error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (identity.User, audit.Event, error) {
		if err := stillOperates(tx, by, access.OpsAccess); err != nil {
			return identity.User{}, audit.Event{}, err
		}
		who, err := person(tx.Q, in.UserID)
		if err != nil {
			return who, audit.Event{}, err
		}
		_, event, err := identity.DisableIn(tx, who.Email)
		return who, event, err
	})
}

// person finds a person.
func person(q db.Q, id string) (u identity.User, err error) {
	found, err := q.Row(`SELECT id, email, name, status FROM account WHERE id = $1 AND kind = 'person'`, id).Scan(&u.ID, &u.Email, &u.Name, &u.Status)
	if err == nil && !found {
		err = fault.Missing("user")
	}
	return u, err
}

// Mails reports whether links can be mailed. Without mail, only the command line creates them.
func (s *Service) Mails() bool { return s.links.Mails() }

// AppointInput gives a member of a workspace a role that may approve.
type AppointInput struct{ WorkspaceID, Email, Role string }

// Validate checks the texts.
func (in *AppointInput) Validate(v *fault.Violations) {
	web.CheckEmail(v, "email", in.Email)
	web.CheckText(v, "workspace_id", in.WorkspaceID, 1, 64)
	role, builtIn := access.BuiltInRole(in.Role)
	if !builtIn || !approves(role.Permissions) {
		v.Add("role", "must be a built-in role that may approve")
	}
}

func approves(held access.Set) bool {
	return held.Has(access.ReceivingApprove) || held.Has(access.PayoutsApprove)
}

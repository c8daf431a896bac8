package auditlog

import (
	"context"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// pageTimeout bounds a query that needs more than one index: several filters that each
// match many rows and together match few.
const pageTimeout = 10 * time.Second

// maxRecent is the most rows that Recent returns.
const maxRecent = 50

// Service reads the audit log.
type Service struct {
	db        *db.DB
	authority *access.Authority
	cursors   *web.Cursors
	sequencer *Sequencer
	signer    *Signer
}

// New returns the service.
func New(d *db.DB, a *access.Authority, c *web.Cursors, s *Signer) *Service {
	return &Service{db: d, authority: a, cursors: c, sequencer: NewSequencer(d, s), signer: s}
}

// Sequencer gives the rows of the log their places.
func (s *Service) Sequencer() *Sequencer { return s.sequencer }

// Signer signs the checkpoints of the log.
func (s *Service) Signer() *Signer { return s.signer }

// List returns a page of rows, newest first: those of a workspace, or those of an
// organization that belong to none of its workspaces.
func (s *Service) List(ctx context.Context, by db.Caller, in ListInput) (*web.JSONPage[api.AuditEntry], error) {
	f, err := s.authorize(ctx, by, in.Filters, access.AuditRead)
	if err != nil {
		return nil, err
	}
	return s.encoded(ctx, f, in.PageParams)
}

// Page is a page of the log as values. Cursor is empty on the last page.
type Page struct {
	Rows   []api.AuditEntry
	Cursor string
	More   bool
}

// Page returns the same page as List, as values.
func (s *Service) Page(ctx context.Context, by db.Caller, in ListInput) (Page, error) {
	f, err := s.authorize(ctx, by, in.Filters, access.AuditRead)
	if err != nil {
		return Page{}, err
	}
	window, err := s.cursors.Paged(in.PageParams, web.Descending, f.scope()...)
	if err != nil {
		return Page{}, err
	}
	rows, err := s.rows(ctx, f, window.After, window.Limit)
	if err != nil {
		return Page{}, err
	}
	list := web.NewPage(window, rows, func(r api.AuditEntry) string { return r.ID })
	page := Page{Rows: list.Rows()}
	page.Cursor, page.More = list.Next()
	return page, nil
}

// Recent returns the newest n rows of a workspace, 50 at most.
func (s *Service) Recent(ctx context.Context, by db.Caller, workspaceID string, n int) ([]api.AuditEntry, error) {
	number, err := s.authority.Enter(ctx, by.Actor, workspaceID, access.AuditRead)
	if err != nil {
		return nil, err
	}
	return s.rows(ctx, inWorkspace(workspaceID, number), string(web.Descending), max(0, min(n, maxRecent)))
}

// Get returns one row of a workspace, or one of an organization that belongs to none of
// its workspaces.
func (s *Service) Get(ctx context.Context, by db.Caller, in GetInput) (api.AuditEntry, error) {
	f, err := s.authorize(ctx, by, in.Filters, access.AuditRead)
	if err != nil {
		return api.AuditEntry{}, err
	}
	var row api.AuditEntry
	err = s.db.Read(ctx, func(q db.Q) error {
		var found bool
		var err error
		if row, found, err = f.find(q, in.ID); err == nil && !found {
			err = fault.Missing("audit entry")
		}
		return err
	})
	return row, err
}

// Activity returns a page of the caller's activity outside workspaces: signing in,
// changing keys, changing organizations.
func (s *Service) Activity(ctx context.Context, by db.Caller, in ActivityInput) (*web.JSONPage[api.AuditEntry], error) {
	if err := access.RequireUnlimited(by.Actor, access.AuditRead); err != nil {
		return nil, err
	}
	return s.encoded(ctx, byActor(by.ID), in.PageParams)
}

// authorize checks that the caller has a permission in the workspace, or owns the
// organization, and returns the filter for its rows.
func (s *Service) authorize(ctx context.Context, by db.Caller, in Filters, need access.Permission) (filter, error) {
	f := filter{column: "workspace_id", from: in.from, to: in.to}
	var err error
	if in.WorkspaceID != nil && *in.WorkspaceID != "" {
		f.value = *in.WorkspaceID
		f.workspace, err = s.authority.Enter(ctx, by.Actor, f.value, need)
	} else {
		f.column, f.value = "organization_id", *in.OrganizationID
		err = s.authority.RequireOrganizationLog(ctx, by.Actor, f.value, need)
	}
	f.equal(audit.ByActor, in.Actor)
	f.equal(audit.ByAction, in.Action)
	f.equal(audit.ByResourceType, in.ResourceType)
	f.equal(audit.ByResource, in.ResourceID)
	f.equal(audit.ByOutcome, in.Outcome)
	f.entry, f.key = in.EntryID, in.KeyID
	return f, err
}

func (s *Service) encoded(ctx context.Context, f filter, p web.PageParams) (*web.JSONPage[api.AuditEntry], error) {
	window, err := s.cursors.Paged(p, web.Descending, f.scope()...)
	if err != nil {
		return nil, err
	}
	if !f.indexed() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, pageTimeout)
		defer cancel()
	}
	page := web.NewJSONPage[api.AuditEntry](window)
	err = s.db.ReadList(ctx, func(q db.Q) error {
		page.Clear()
		return f.encode(q, window, page)
	})
	return page, err
}

func (s *Service) rows(ctx context.Context, f filter, below string, take int) ([]api.AuditEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	var rows []api.AuditEntry
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		rows, err = f.rows(q, below, take)
		return err
	})
	return rows, err
}

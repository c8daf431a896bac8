// Package auditlog reads the audit log. Its rows are written by package db, each
// in the transaction of the mutation that it speaks of.
package auditlog

import (
	"context"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// pageTimeout bounds a page by several filters that are common each but rare
// together, the one question that no index answers alone.
const pageTimeout = 10 * time.Second

// maxRecent bounds how many rows Recent shows.
const maxRecent = 50

// Service answers for the audit log.
type Service struct {
	db        *db.DB
	authority *access.Authority
	cursors   *web.Cursors
}

// New makes the service.
func New(d *db.DB, a *access.Authority, c *web.Cursors) *Service {
	return &Service{db: d, authority: a, cursors: c}
}

// List is a page of what happened in a workspace, or of what happened in an
// organization outside of its workspaces, newest first.
func (s *Service) List(ctx context.Context, by db.Caller, in listInput) (*web.JSONPage, error) {
	f, err := s.may(ctx, by, in.filters, access.AuditRead)
	if err != nil {
		return nil, err
	}
	return s.encoded(ctx, f, in.PageParams)
}

// Page is a piece of the log, as rows. Cursor is empty where there are no more.
type Page struct {
	Rows   []api.AuditEntry
	Cursor string
	More   bool
}

// Page is what List is, as rows.
func (s *Service) Page(ctx context.Context, by db.Caller, in listInput) (Page, error) {
	f, err := s.may(ctx, by, in.filters, access.AuditRead)
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

// Recent is the newest rows of a workspace, 50 at most.
func (s *Service) Recent(ctx context.Context, by db.Caller, workspaceID string, n int) ([]api.AuditEntry, error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, workspaceID, access.AuditRead); err != nil {
		return nil, err
	}
	return s.rows(ctx, all(workspaceID), string(web.Descending), max(0, min(n, maxRecent)))
}

// Get is one row of a workspace.
func (s *Service) Get(ctx context.Context, by db.Caller, workspaceID, id string) (api.AuditEntry, error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, workspaceID, access.AuditRead); err != nil {
		return api.AuditEntry{}, err
	}
	var row api.AuditEntry
	err := s.db.Read(ctx, func(q db.Q) error {
		var found bool
		var err error
		if row, found, err = find(q, workspaceID, id); err == nil && !found {
			err = fault.Missing("audit entry")
		}
		return err
	})
	return row, err
}

// Activity is a page of what the caller did outside of workspaces: logins, keys,
// organizations.
func (s *Service) Activity(ctx context.Context, by db.Caller, in activityInput) (*web.JSONPage, error) {
	return s.encoded(ctx, filter{column: "actor_id", value: by.ID, own: true, to: web.LastMillisecond}, in.PageParams)
}

// may demands a permission in the workspace whose rows are asked for, or to be an
// owner of the organization, and makes the filter.
func (s *Service) may(ctx context.Context, by db.Caller, in filters, need access.Permission) (filter, error) {
	f := filter{column: "workspace_id", from: in.from, to: in.to}
	var err error
	if in.WorkspaceID != nil && *in.WorkspaceID != "" {
		f.value = *in.WorkspaceID
		err = s.authority.RequireInWorkspace(ctx, by.Actor, f.value, need)
	} else {
		f.column, f.value = "organization_id", *in.OrganizationID
		// Only an owner reads it, and that is who may write settings.
		err = s.authority.RequireInOrganization(ctx, by.Actor, f.value, access.OrgSettingsWrite)
	}
	f.equal("actor_id", in.Actor)
	f.equal("action", in.Action)
	f.equal("resource_type", in.ResourceType)
	f.equal("resource_id", in.ResourceID)
	f.equal("outcome", in.Outcome)
	return f, err
}

func (s *Service) encoded(ctx context.Context, f filter, p web.PageParams) (*web.JSONPage, error) {
	window, err := s.cursors.Paged(p, web.Descending, f.scope()...)
	if err != nil {
		return nil, err
	}
	if !f.indexed() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, pageTimeout)
		defer cancel()
	}
	page := window.NewJSONPage()
	err = s.db.Read(ctx, func(q db.Q) error { return f.encode(q, window, page) })
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

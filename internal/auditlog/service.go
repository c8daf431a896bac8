// Package auditlog reads the audit log. Its rows are written by package db, each
// in the transaction of the mutation that it speaks of.
package auditlog

import (
	"context"
	"time"

	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/web"
)

// pageTimeout bounds a page by several filters that are common each but rare
// together, the one question that no index answers alone.
const pageTimeout = 10 * time.Second

// Service answers for the audit log.
type Service struct {
	db        *db.DB
	authority *identity.Authority
	cursors   *web.Cursors
}

// New makes the service.
func New(d *db.DB, a *identity.Authority, c *web.Cursors) *Service {
	return &Service{db: d, authority: a, cursors: c}
}

// List is a page of what happened in a workspace, or of what happened in an
// organization outside of its workspaces, newest first.
func (s *Service) List(ctx context.Context, by db.Caller, in listInput) (*web.Encoded, error) {
	f := filter{column: "workspace_id", from: in.from, to: in.to}
	var err error
	if in.WorkspaceID != nil && *in.WorkspaceID != "" {
		f.value = *in.WorkspaceID
		err = s.authority.Workspace(ctx, by.Actor, f.value, identity.AuditRead)
	} else {
		f.column, f.value = "organization_id", *in.OrganizationID
		// Only an owner reads it, and that is who may write settings.
		err = s.authority.Organization(ctx, by.Actor, f.value, identity.OrgSettingsWrite)
	}
	if err != nil {
		return nil, err
	}
	f.equal("actor_id", in.Actor)
	f.equal("action", in.Action)
	f.equal("resource_type", in.ResourceType)
	f.equal("resource_id", in.ResourceID)
	f.equal("outcome", in.Outcome)
	return s.page(ctx, f, in.Page)
}

// Activity is a page of what the caller did outside of workspaces: logins, keys,
// organizations.
func (s *Service) Activity(ctx context.Context, by db.Caller, in activityInput) (*web.Encoded, error) {
	return s.page(ctx, filter{column: "actor_id", value: by.ID, own: true, to: web.LastMillisecond}, in.Page)
}

func (s *Service) page(ctx context.Context, f filter, p web.Page) (*web.Encoded, error) {
	window, err := s.cursors.Paged(p, web.Descending, f.scope()...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	page := web.NewEncoded(window)
	err = s.db.Read(ctx, func(q db.Q) error { return f.each(q, window, page) })
	return page, err
}

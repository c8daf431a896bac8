// Package workspace keeps workspaces, their members and their roles.
package workspace

import (
	"context"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/slug"
	"bursar/internal/web"
)

// Service answers for workspaces.
type Service struct {
	db        *db.DB
	authority *access.Authority
	cursors   *web.Cursors
	links     *identity.Links
}

// New makes the service.
func New(d *db.DB, a *access.Authority, c *web.Cursors, l *identity.Links) *Service {
	return &Service{db: d, authority: a, cursors: c, links: l}
}

// List is the workspaces that the caller is a member of, oldest first.
func (s *Service) List(ctx context.Context, by db.Caller, in listInput) (web.Page[api.Workspace], error) {
	return web.ReadUnpaged(ctx, s.db, s.cursors, in.PageParams, func(w api.Workspace) string { return w.ID },
		func(q db.Q, after string, take int) ([]api.Workspace, error) { return listOf(q, by.ID, after, take) }, "workspaces", by.ID)
}

// Get is one workspace.
func (s *Service) Get(ctx context.Context, by db.Caller, in oneInput) (api.Workspace, error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, in.ID, access.WSRead); err != nil {
		return api.Workspace{}, err
	}
	var w api.Workspace
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		w, err = find(q, in.ID)
		return err
	})
	return w, err
}

// Create makes a workspace, whose first admin is the caller. It takes an owner
// of the organization.
func (s *Service) Create(ctx context.Context, by db.Caller, in createInput) (api.Workspace, error) {
	if err := s.authority.RequireInOrganization(ctx, by.Actor, in.OrganizationID, access.OrgSettingsWrite); err != nil {
		return api.Workspace{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Workspace, audit.Event, error) {
		w, err := Insert(tx, in.OrganizationID, in.Name, in.Slug)
		if err == nil {
			err = access.Join(tx, w.ID, by.ID, access.Admin)
		}
		if err == nil {
			err = access.AcceptMembership(tx, w.ID, by.ID)
		}
		return w, audit.Event{
			Action:      audit.WorkspaceCreated,
			WorkspaceID: w.ID,
			ResourceID:  w.ID,
			Description: "Created workspace " + w.Name,
		}, err
	})
}

// Update changes the name and the slug.
func (s *Service) Update(ctx context.Context, by db.Caller, in updateInput) (api.Workspace, error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, in.ID, access.WSWrite); err != nil {
		return api.Workspace{}, err
	}
	updated, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Workspace, audit.Event, error) {
		before, err := lock(tx, in.ID)
		if err != nil {
			return before, audit.Event{}, err
		}
		after := before
		if in.Name != nil {
			after.Name = *in.Name
		}
		if in.Slug != nil {
			after.Slug = *in.Slug
		}
		if after == before {
			return after, audit.None("nothing changed"), nil
		}
		return after, audit.Event{
			Action:      audit.WorkspaceUpdated,
			WorkspaceID: in.ID,
			ResourceID:  in.ID,
			Description: "Updated workspace " + after.Name,
		}, update(tx, after)
	})
	if db.IsUnique(err) {
		return api.Workspace{}, slug.Taken(*in.Slug)
	}
	return updated, err
}

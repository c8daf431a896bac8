// Package workspace manages workspaces, their members and their roles.
package workspace

import (
	"context"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/slug"
	"bursar/internal/web"
)

// Service manages workspaces.
type Service struct {
	db        *db.DB
	authority *access.Authority
	cursors   *web.Cursors
	links     *identity.Links
	approvals *approval.Service
}

// New returns the service.
func New(d *db.DB, a *access.Authority, c *web.Cursors, l *identity.Links, approvals *approval.Service) *Service {
	s := &Service{db: d, authority: a, cursors: c, links: l, approvals: approvals}
	s.registerGrants()
	return s
}

// List returns the workspaces that the caller is a member of, oldest first.
func (s *Service) List(ctx context.Context, by db.Caller, in ListInput) (web.Page[api.Workspace], error) {
	return web.ReadUnpaged(ctx, s.db, s.cursors, in.PageParams, func(w api.Workspace) string { return w.ID },
		func(q db.Q, after string, take int) ([]api.Workspace, error) { return listOf(q, by.Actor, after, take) }, "workspaces", by.ID)
}

// Get returns one workspace.
func (s *Service) Get(ctx context.Context, by db.Caller, in GetInput) (api.Workspace, error) {
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

// Create creates a workspace and makes the caller its first admin. The caller must be an owner of the organization.
func (s *Service) Create(ctx context.Context, by db.Caller, in CreateInput) (api.Workspace, error) {
	if err := s.authority.RequireInOrganization(ctx, by.Actor, in.OrganizationID, access.OrgSettingsWrite); err != nil {
		return api.Workspace{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Workspace, audit.Event, error) {
		if err := access.StillOwner(tx, by.Actor, in.OrganizationID); err != nil {
			return api.Workspace{}, audit.Event{}, err
		}
		if err := identity.LockCaller(tx, by); err != nil {
			return api.Workspace{}, audit.Event{}, err
		}
		w, err := Insert(tx, in.OrganizationID, in.Name, in.Slug)
		if err == nil {
			err = access.Join(tx, w.ID, by.ID, access.Admin)
		}
		if err == nil {
			err = access.NoteCreatorOrigin(tx, w.ID, by.ID, in.OrganizationID)
		}
		return w, audit.Event{
			Action:      audit.WorkspaceCreated,
			WorkspaceID: w.ID,
			ResourceID:  w.ID,
			Description: "Created workspace " + w.Name,
		}, err
	})
}

// Update changes the name and the slug of a workspace, and how it handles duplicates.
func (s *Service) Update(ctx context.Context, by db.Caller, in UpdateInput) (api.Workspace, error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, in.ID, access.WSWrite); err != nil {
		return api.Workspace{}, err
	}
	return slug.Update(ctx, s.db, by, in.Name, in.Slug, slug.Named[api.Workspace]{
		Lock: func(tx *db.Tx) (api.Workspace, error) {
			w, err := lock(tx, in.ID)
			if err == nil {
				_, err = identity.HeldNow(tx, by, in.ID, access.WSWrite)
			}
			return w, err
		},
		Names: func(w *api.Workspace) (name, slug *string) { return &w.Name, &w.Slug },
		Change: func(_ *db.Tx, w *api.Workspace, changes *audit.Changes) error {
			if in.OnDuplicate != nil {
				before := *w
				w.OnDuplicate = shownOnDuplicate(*in.OnDuplicate)
				changes.Add("on_duplicate", before.OnDuplicate, w.OnDuplicate)
			}
			return nil
		},
		Save: update,
		Event: func(w api.Workspace) audit.Event {
			return audit.Event{Action: audit.WorkspaceUpdated, WorkspaceID: w.ID, ResourceID: w.ID, Description: "Updated workspace " + w.Name}
		},
	})
}

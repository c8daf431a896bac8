// Package organization manages organizations and their settings.
package organization

import (
	"context"
	"fmt"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/slug"
	"bursar/internal/web"
)

// Service manages organizations.
type Service struct {
	db        *db.DB
	authority *access.Authority
	cursors   *web.Cursors
	// minRetention is the minimum number of days that an organization keeps its audit log.
	minRetention int
}

// New returns the service.
func New(d *db.DB, a *access.Authority, c *web.Cursors, minRetention int) *Service {
	return &Service{db: d, authority: a, cursors: c, minRetention: minRetention}
}

// List returns the organizations that the caller belongs to, oldest first.
func (s *Service) List(ctx context.Context, by db.Caller, in ListInput) (web.Page[api.Organization], error) {
	return web.ReadUnpaged(ctx, s.db, s.cursors, in.PageParams, func(o api.Organization) string { return o.ID },
		func(q db.Q, after string, take int) ([]api.Organization, error) {
			return listOf(q, by.Actor, after, take)
		}, "organizations", by.ID)
}

// Get returns one organization.
func (s *Service) Get(ctx context.Context, by db.Caller, in GetInput) (api.Organization, error) {
	return s.read(ctx, by, in.ID, access.OrgRead)
}

// Settings returns the settings of an organization.
func (s *Service) Settings(ctx context.Context, by db.Caller, in GetInput) (api.Organization, error) {
	return s.read(ctx, by, in.ID, access.OrgSettingsRead)
}

func (s *Service) read(ctx context.Context, by db.Caller, id string, need access.Permission) (api.Organization, error) {
	if err := s.authority.RequireInOrganization(ctx, by.Actor, id, need); err != nil {
		return api.Organization{}, err
	}
	var o api.Organization
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		o, err = find(q, id)
		return err
	})
	return o, err
}

// Create creates an organization and makes the caller its owner.
func (s *Service) Create(ctx context.Context, by db.Caller, in CreateInput) (api.Organization, error) {
	if by.Type == audit.Client {
		return api.Organization{}, fault.New(api.CodeForbidden, "a machine client cannot create an organization")
	}
	if err := access.RequireUnlimited(by.Actor, access.OrgSettingsWrite); err != nil {
		return api.Organization{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Organization, audit.Event, error) {
		o, err := Insert(tx, in.Name, in.Slug)
		if err == nil {
			err = Found(tx, o.ID, by.ID)
		}
		return o, audit.Event{
			Action:         audit.OrganizationCreated,
			OrganizationID: o.ID,
			ResourceID:     o.ID,
			Description:    "Created organization " + o.Name,
		}, err
	})
}

// UpdateSettings changes the name and the slug of an organization, whether it requires a second factor, and how long it keeps its audit
// log.
func (s *Service) UpdateSettings(ctx context.Context, by db.Caller, in SettingsInput) (api.Organization, error) {
	if err := s.authority.RequireInOrganization(ctx, by.Actor, in.ID, access.OrgSettingsWrite); err != nil {
		return api.Organization{}, err
	}
	var rules string // descriptions of the changes of the second factor and the audit log
	return slug.Update(ctx, s.db, by, in.Name, in.Slug, slug.Named[api.Organization]{
		Lock: func(tx *db.Tx) (api.Organization, error) {
			o, err := lock(tx, in.ID)
			if err == nil {
				err = stillOwner(tx, by, in.ID)
			}
			return o, err
		},
		Names: func(o *api.Organization) (name, slug *string) { return &o.Name, &o.Slug },
		Change: func(tx *db.Tx, o *api.Organization, changes *audit.Changes) (err error) {
			before := o.RequireSecondFactor
			if rules, err = demandFactor(tx, by, o, in.RequireSecondFactor); err != nil {
				return err
			}
			changes.Add("require_second_factor", before, o.RequireSecondFactor)
			kept, err := s.retain(tx, by, o, in.AuditRetentionDays, changes)
			rules += kept
			return err
		},
		Save: update,
		Event: func(o api.Organization) audit.Event {
			return audit.Event{
				Action: audit.OrganizationSettingsUpdated, OrganizationID: o.ID, ResourceID: o.ID,
				Description: "Updated the settings of organization " + o.Name + rules,
			}
		},
	})
}

// demandFactor changes whether an organization requires a second factor, and describes the change in words. The person who switches it on
// must have one. Otherwise they would be the first to be locked out.
func demandFactor(tx *db.Tx, by db.Caller, o *api.Organization, demand *bool) (words string, err error) {
	if demand == nil || *demand == o.RequireSecondFactor {
		return "", nil
	}
	if err := access.RequireAdministration(by.Actor, tx.Now()); err != nil {
		return "", err
	}
	if o.RequireSecondFactor = *demand; !*demand {
		return ", which no longer demands a second factor", nil
	}
	has, err := access.HasFactor(tx.Q, by.ID, true)
	if err == nil && (!has || by.OneFactor) {
		err = fault.New(api.CodeSecondFactorRequired, "to demand a second factor you need one yourself, or you would be the first whom it stops: "+
			"set one up in the console and log in with it")
	}
	return ", which now demands a second factor", err
}

// retain changes how long an organization keeps personal data in its audit log, and describes the change in words. It needs administration
// (see RequireAdministration), because data that is too old is soon erased permanently.
func (s *Service) retain(tx *db.Tx, by db.Caller, o *api.Organization, days *int64, changes *audit.Changes) (words string, err error) {
	if days == nil || *days == o.AuditRetentionDays {
		return "", nil
	}
	if *days > 0 && *days < int64(s.minRetention) {
		return "", fault.Invalid("audit_retention_days", fmt.Sprintf("must be at least %d, or 0 to keep the log for ever", s.minRetention))
	}
	if err := access.RequireAdministration(by.Actor, tx.Now()); err != nil {
		return "", err
	}
	shown := func(days int64) any {
		if days == 0 {
			return nil
		}
		return days
	}
	changes.Add("audit_retention_days", shown(o.AuditRetentionDays), shown(*days))
	if o.AuditRetentionDays = *days; *days == 0 {
		return ", which now keeps its audit log for ever", nil
	}
	return fmt.Sprintf(", whose audit log is now erased after %d days", *days), nil
}

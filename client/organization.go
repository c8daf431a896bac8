package client

import (
	"context"
	"iter"
	"net/http"

	"bursar/api"
)

// OrganizationService manages the organizations that the caller belongs to.
type OrganizationService struct{ c *Client }

// List reads the caller's organizations.
func (s *OrganizationService) List(ctx context.Context, p ListParams) (*Page[Organization], error) {
	return list[Organization](ctx, s.c, p.query(), "/organizations")
}

// All iterates over the caller's organizations.
func (s *OrganizationService) All(ctx context.Context, p ListParams) iter.Seq2[Organization, error] {
	return walk(p.Cursor, func(cursor string) (*Page[Organization], error) {
		return s.List(ctx, p.at(cursor))
	})
}

// Get reads an organization.
func (s *OrganizationService) Get(ctx context.Context, id string) (*Organization, error) {
	return read[Organization](ctx, s.c, "/organizations", id)
}

// Create creates an organization and makes the caller its owner.
func (s *OrganizationService) Create(ctx context.Context, p OrganizationCreateParams) (*Organization, error) {
	return change[Organization](ctx, s.c, http.MethodPost, p, "/organizations")
}

// Settings reads the settings of an organization.
func (s *OrganizationService) Settings(ctx context.Context, id string) (*Organization, error) {
	return read[Organization](ctx, s.c, "/organizations", id, "settings")
}

// UpdateSettings changes the settings of an organization.
func (s *OrganizationService) UpdateSettings(ctx context.Context, id string, p OrganizationUpdateParams) (*Organization, error) {
	return change[Organization](ctx, s.c, http.MethodPatch, p, "/organizations", id, "settings")
}

// Owners reads the owners of an organization.
func (s *OrganizationService) Owners(ctx context.Context, id string, p ListParams) (*Page[User], error) {
	return list[User](ctx, s.c, p.query(), "/organizations", id, "owners")
}

// AllOwners iterates over the owners of an organization.
func (s *OrganizationService) AllOwners(ctx context.Context, id string, p ListParams) iter.Seq2[User, error] {
	return walk(p.Cursor, func(cursor string) (*Page[User], error) {
		return s.Owners(ctx, id, p.at(cursor))
	})
}

// AddOwner makes a member of an organization one of its owners.
func (s *OrganizationService) AddOwner(ctx context.Context, id, userID string) (*Ownership, error) {
	return change[Ownership](ctx, s.c, http.MethodPost, api.OwnerAdd{UserID: userID}, "/organizations", id, "owners")
}

// RemoveOwner ends a person's ownership. The last owner cannot be removed.
func (s *OrganizationService) RemoveOwner(ctx context.Context, id, userID string) (*Ownership, error) {
	return change[Ownership](ctx, s.c, http.MethodDelete, nil, "/organizations", id, "owners", userID)
}

// SuspendedOwners iterates over the owners who were added through a compromised API key and wait for an owner's decision.
func (s *OrganizationService) SuspendedOwners(ctx context.Context, id string, p ListParams) iter.Seq2[SuspendedOwner, error] {
	return walk(p.Cursor, func(cursor string) (*Page[SuspendedOwner], error) {
		return list[SuspendedOwner](ctx, s.c, p.at(cursor).query(), "/organizations", id, "suspended")
	})
}

// ConfirmOwner restores a suspended owner.
func (s *OrganizationService) ConfirmOwner(ctx context.Context, id, suspensionID string) (*SuspendedOwner, error) {
	return change[SuspendedOwner](ctx, s.c, http.MethodPost, nil, "/organizations", id, "suspended", suspensionID, "confirm")
}

// RemoveSuspendedOwner ends suspended ownership permanently.
func (s *OrganizationService) RemoveSuspendedOwner(ctx context.Context, id, suspensionID string) (*SuspendedOwner, error) {
	return change[SuspendedOwner](ctx, s.c, http.MethodPost, nil, "/organizations", id, "suspended", suspensionID, "remove")
}

// RemoveLeaver removes all access of a person to an organization. A dry run only lists it.
func (s *OrganizationService) RemoveLeaver(ctx context.Context, id string, p LeaverRemoveParams) (*Leaver, error) {
	return change[Leaver](ctx, s.c, http.MethodPost, p, "/organizations", id, "leavers")
}

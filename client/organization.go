package client

import (
	"context"
	"iter"

	"bursar/api"
)

// OrganizationService manages the organizations that the caller belongs to.
type OrganizationService struct{ c *Client }

// List reads the caller's organizations.
func (s *OrganizationService) List(ctx context.Context, p ListParams) (*Page[Organization], error) {
	return list(ctx, s.c, api.ListOrganizations, p.query())
}

// All iterates over the caller's organizations.
func (s *OrganizationService) All(ctx context.Context, p ListParams) iter.Seq2[Organization, error] {
	return all(ctx, s.c, api.ListOrganizations, p.query())
}

// Get reads an organization.
func (s *OrganizationService) Get(ctx context.Context, id string) (*Organization, error) {
	return run(ctx, s.c, api.GetOrganization, id)
}

// Create creates an organization and makes the caller its owner.
func (s *OrganizationService) Create(ctx context.Context, p OrganizationCreateParams) (*Organization, error) {
	return submit(ctx, s.c, api.CreateOrganization, p)
}

// Settings reads the settings of an organization.
func (s *OrganizationService) Settings(ctx context.Context, id string) (*Organization, error) {
	return run(ctx, s.c, api.GetOrganizationSettings, id)
}

// UpdateSettings changes the settings of an organization.
func (s *OrganizationService) UpdateSettings(ctx context.Context, id string, p OrganizationUpdateParams) (*Organization, error) {
	return submit(ctx, s.c, api.UpdateOrganizationSettings, p, id)
}

// Owners reads the owners of an organization.
func (s *OrganizationService) Owners(ctx context.Context, id string, p ListParams) (*Page[User], error) {
	return list(ctx, s.c, api.ListOwners, p.query(), id)
}

// AllOwners iterates over the owners of an organization.
func (s *OrganizationService) AllOwners(ctx context.Context, id string, p ListParams) iter.Seq2[User, error] {
	return all(ctx, s.c, api.ListOwners, p.query(), id)
}

// AddOwner makes a member of an organization one of its owners.
func (s *OrganizationService) AddOwner(ctx context.Context, id, userID string) (*Ownership, error) {
	return submit(ctx, s.c, api.AddOwner, api.OwnerAdd{UserID: userID}, id)
}

// RemoveOwner ends a person's ownership. The last owner cannot be removed.
func (s *OrganizationService) RemoveOwner(ctx context.Context, id, userID string) (*Ownership, error) {
	return run(ctx, s.c, api.RemoveOwner, id, userID)
}

// SuspendedOwners iterates over the owners who were added through a compromised API key and wait for an owner's decision.
func (s *OrganizationService) SuspendedOwners(ctx context.Context, id string, p ListParams) iter.Seq2[SuspendedOwner, error] {
	return all(ctx, s.c, api.ListSuspendedOwners, p.query(), id)
}

// ConfirmOwner restores a suspended owner.
func (s *OrganizationService) ConfirmOwner(ctx context.Context, id, suspensionID string) (*SuspendedOwner, error) {
	return run(ctx, s.c, api.ConfirmSuspendedOwner, id, suspensionID)
}

// RemoveSuspendedOwner ends suspended ownership permanently.
func (s *OrganizationService) RemoveSuspendedOwner(ctx context.Context, id, suspensionID string) (*SuspendedOwner, error) {
	return run(ctx, s.c, api.RemoveSuspendedOwner, id, suspensionID)
}

// RemoveLeaver removes all access of a person to an organization. A dry run only lists it.
func (s *OrganizationService) RemoveLeaver(ctx context.Context, id string, p LeaverRemoveParams) (*Leaver, error) {
	return submit(ctx, s.c, api.RemoveLeaver, p, id)
}

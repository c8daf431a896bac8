package client

import (
	"context"
	"net/http"
)

// ReceivingMethodService manages the accounts where an entry receives money.
// [DirectoryService.Get] lists them.
type ReceivingMethodService struct{ c *Client }

// Add adds a receiving method to an entry.
func (s *ReceivingMethodService) Add(ctx context.Context, entryID string, p ReceivingMethodParams) (*ReceivingMethod, error) {
	return change[ReceivingMethod](ctx, s.c, http.MethodPost, p, "/directory", entryID, "receiving-methods")
}

// Update changes a receiving method.
func (s *ReceivingMethodService) Update(ctx context.Context, entryID, id string, p ReceivingMethodUpdateParams) (*ReceivingMethod, error) {
	return change[ReceivingMethod](ctx, s.c, http.MethodPatch, p, "/directory", entryID, "receiving-methods", id)
}

// Remove removes a receiving method.
func (s *ReceivingMethodService) Remove(ctx context.Context, entryID, id string) (*Deleted, error) {
	return change[Deleted](ctx, s.c, http.MethodDelete, nil, "/directory", entryID, "receiving-methods", id)
}

package client

import (
	"context"
	"net/http"
)

// ReceivingMethodService is about the accounts at which an entry receives money.
// [DirectoryService.Get] lists them.
type ReceivingMethodService struct{ c *Client }

// Add gives an entry a receiving method.
func (s *ReceivingMethodService) Add(ctx context.Context, entryID string, p ReceivingMethodParams) (*ReceivingMethod, error) {
	return change[ReceivingMethod](ctx, s.c, http.MethodPost, p, "/directory", entryID, "receiving-methods")
}

// Update changes a receiving method.
func (s *ReceivingMethodService) Update(ctx context.Context, entryID, id string, p ReceivingMethodUpdateParams) (*ReceivingMethod, error) {
	return change[ReceivingMethod](ctx, s.c, http.MethodPatch, p, "/directory", entryID, "receiving-methods", id)
}

// Remove takes a receiving method away.
func (s *ReceivingMethodService) Remove(ctx context.Context, entryID, id string) (*Deleted, error) {
	return change[Deleted](ctx, s.c, http.MethodDelete, nil, "/directory", entryID, "receiving-methods", id)
}

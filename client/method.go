package client

import (
	"context"
	"net/http"
)

// ReceivingMethodService manages the accounts where an entry receives money.
// [DirectoryService.Get] lists those that can be paid.
type ReceivingMethodService struct{ c *Client }

// List reads all receiving methods of an entry, oldest first. It includes those that wait for a second person, are cooling, were replaced
// or were rejected.
func (s *ReceivingMethodService) List(ctx context.Context, entryID string) ([]ReceivingMethod, error) {
	methods, err := read[[]ReceivingMethod](ctx, s.c, "/directory", entryID, "receiving-methods")
	if err != nil {
		return nil, err
	}
	return *methods, nil
}

// Add adds a receiving method to an entry.
func (s *ReceivingMethodService) Add(ctx context.Context, entryID string, p ReceivingMethodParams) (*ReceivingMethod, error) {
	return change[ReceivingMethod](ctx, s.c, http.MethodPost, p, "/directory", entryID, "receiving-methods")
}

// Update makes a receiving method the default, or creates its successor and returns that.
func (s *ReceivingMethodService) Update(ctx context.Context, entryID, id string, p ReceivingMethodUpdateParams) (*ReceivingMethod, error) {
	return change[ReceivingMethod](ctx, s.c, http.MethodPatch, p, "/directory", entryID, "receiving-methods", id)
}

// Remove removes a receiving method.
func (s *ReceivingMethodService) Remove(ctx context.Context, entryID, id string) (*Deleted, error) {
	return change[Deleted](ctx, s.c, http.MethodDelete, nil, "/directory", entryID, "receiving-methods", id)
}

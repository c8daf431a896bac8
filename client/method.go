package client

import (
	"context"

	"bursar/api"
)

// ReceivingMethodService manages the accounts where an entry receives money.
// [DirectoryService.Get] lists those that can be paid.
type ReceivingMethodService struct{ c *Client }

// List reads all receiving methods of an entry, oldest first. It includes those that wait for a second person, are cooling, were replaced
// or were rejected.
func (s *ReceivingMethodService) List(ctx context.Context, entryID string) ([]ReceivingMethod, error) {
	methods, err := run(ctx, s.c, api.ListReceivingMethods, entryID)
	if err != nil {
		return nil, err
	}
	return *methods, nil
}

// Add adds a receiving method to an entry.
func (s *ReceivingMethodService) Add(ctx context.Context, entryID string, p ReceivingMethodParams) (*ReceivingMethod, error) {
	return submit(ctx, s.c, api.AddReceivingMethod, p, entryID)
}

// Update makes a receiving method the default, or creates its successor and returns that.
func (s *ReceivingMethodService) Update(ctx context.Context, entryID, id string, p ReceivingMethodUpdateParams) (*ReceivingMethod, error) {
	return submit(ctx, s.c, api.UpdateReceivingMethod, p, entryID, id)
}

// Remove removes a receiving method.
func (s *ReceivingMethodService) Remove(ctx context.Context, entryID, id string) (*Deleted, error) {
	return run(ctx, s.c, api.RemoveReceivingMethod, entryID, id)
}

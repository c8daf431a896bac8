package client

import (
	"context"

	"bursar/api"
)

// Bulk makes one change to many entries. A change of more than a thousand entries continues after Bulk returns. Poll GetBulk until it has
// ended.
func (s *DirectoryService) Bulk(ctx context.Context, p BulkParams) (*Bulk, error) {
	return submit(ctx, s.c, api.BulkEntries, p)
}

// GetBulk reads the state of a bulk change.
func (s *DirectoryService) GetBulk(ctx context.Context, id string) (*Bulk, error) {
	return run(ctx, s.c, api.GetBulk, id)
}

// CancelBulk cancels a bulk change. Changes already made stay.
func (s *DirectoryService) CancelBulk(ctx context.Context, id string) (*Bulk, error) {
	return run(ctx, s.c, api.CancelBulk, id)
}

// UndoBulk undoes a bulk change with another one.
func (s *DirectoryService) UndoBulk(ctx context.Context, id string) (*Bulk, error) {
	return run(ctx, s.c, api.UndoBulk, id)
}

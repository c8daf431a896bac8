package client

import (
	"context"
	"net/http"
)

// Bulk makes one change to many entries. If there are more than a thousand, it is not ended
// yet: ask for it by GetBulk.
func (s *DirectoryService) Bulk(ctx context.Context, p BulkParams) (*Bulk, error) {
	return change[Bulk](ctx, s.c, http.MethodPost, p, "/directory/bulk")
}

// GetBulk reads how a bulk stands.
func (s *DirectoryService) GetBulk(ctx context.Context, id string) (*Bulk, error) {
	return read[Bulk](ctx, s.c, "/directory/bulk", id)
}

// CancelBulk ends a bulk. What it has changed stays.
func (s *DirectoryService) CancelBulk(ctx context.Context, id string) (*Bulk, error) {
	return change[Bulk](ctx, s.c, http.MethodPost, nil, "/directory/bulk", id, "cancel")
}

// UndoBulk undoes what a bulk has changed, by another bulk.
func (s *DirectoryService) UndoBulk(ctx context.Context, id string) (*Bulk, error) {
	return change[Bulk](ctx, s.c, http.MethodPost, nil, "/directory/bulk", id, "undo")
}

package client

import (
	"context"
	"net/http"
)

// Bulk makes one change to many entries. A change of more than a thousand entries continues after Bulk returns. Poll GetBulk until it has
// ended.
func (s *DirectoryService) Bulk(ctx context.Context, p BulkParams) (*Bulk, error) {
	return change[Bulk](ctx, s.c, http.MethodPost, p, "/directory/bulk")
}

// GetBulk reads the state of a bulk change.
func (s *DirectoryService) GetBulk(ctx context.Context, id string) (*Bulk, error) {
	return read[Bulk](ctx, s.c, "/directory/bulk", id)
}

// CancelBulk cancels a bulk change. Changes already made stay.
func (s *DirectoryService) CancelBulk(ctx context.Context, id string) (*Bulk, error) {
	return change[Bulk](ctx, s.c, http.MethodPost, nil, "/directory/bulk", id, "cancel")
}

// UndoBulk undoes a bulk change with another one.
func (s *DirectoryService) UndoBulk(ctx context.Context, id string) (*Bulk, error) {
	return change[Bulk](ctx, s.c, http.MethodPost, nil, "/directory/bulk", id, "undo")
}

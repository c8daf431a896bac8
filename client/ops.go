package client

import (
	"context"
	"iter"
	"net/http"

	"bursar/api"
)

// OperatorService decides what operators of the store ask each other.
type OperatorService struct{ c *Client }

// Requests reads what waits for another operator.
func (s *OperatorService) Requests(ctx context.Context, p ListParams) (*Page[OpsRequest], error) {
	return list[OpsRequest](ctx, s.c, p.query(), "/ops/requests")
}

// AllRequests iterates over what waits for another operator.
func (s *OperatorService) AllRequests(ctx context.Context, p ListParams) iter.Seq2[OpsRequest, error] {
	return walk(p.Cursor, func(cursor string) (*Page[OpsRequest], error) {
		return s.Requests(ctx, p.at(cursor))
	})
}

// Approve confirms a request, by the digest of what was shown.
func (s *OperatorService) Approve(ctx context.Context, id, digest string) (*OpsDecision, error) {
	return change[OpsDecision](ctx, s.c, http.MethodPost, api.OpsApprove{Digest: digest}, "/ops/requests", id, "approve")
}

// Reject ends a request.
func (s *OperatorService) Reject(ctx context.Context, id string) (*OpsDecision, error) {
	return change[OpsDecision](ctx, s.c, http.MethodPost, nil, "/ops/requests", id, "reject")
}

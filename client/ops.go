package client

import (
	"context"
	"iter"
	"net/http"

	"bursar/api"
)

// OperatorService decides requests of one operator of the store that another has to confirm.
type OperatorService struct{ c *Client }

// Requests reads the requests that wait for another operator.
func (s *OperatorService) Requests(ctx context.Context, p ListParams) (*Page[OpsRequest], error) {
	return list[OpsRequest](ctx, s.c, p.query(), "/ops/requests")
}

// AllRequests iterates over the requests that wait for another operator.
func (s *OperatorService) AllRequests(ctx context.Context, p ListParams) iter.Seq2[OpsRequest, error] {
	return walk(p.Cursor, func(cursor string) (*Page[OpsRequest], error) {
		return s.Requests(ctx, p.at(cursor))
	})
}

// Approve confirms a request, identified by the digest of what was shown.
func (s *OperatorService) Approve(ctx context.Context, id, digest string) (*OpsDecision, error) {
	return change[OpsDecision](ctx, s.c, http.MethodPost, api.OpsApprove{Digest: digest}, "/ops/requests", id, "approve")
}

// Reject rejects a request.
func (s *OperatorService) Reject(ctx context.Context, id string) (*OpsDecision, error) {
	return change[OpsDecision](ctx, s.c, http.MethodPost, nil, "/ops/requests", id, "reject")
}

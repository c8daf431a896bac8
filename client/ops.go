package client

import (
	"context"
	"iter"

	"bursar/api"
)

// OperatorService decides requests of one operator of the store that another has to confirm.
type OperatorService struct{ c *Client }

// Requests reads the requests that wait for another operator.
func (s *OperatorService) Requests(ctx context.Context, p ListParams) (*Page[OpsRequest], error) {
	return list(ctx, s.c, api.ListOpsRequests, p.query())
}

// AllRequests iterates over the requests that wait for another operator.
func (s *OperatorService) AllRequests(ctx context.Context, p ListParams) iter.Seq2[OpsRequest, error] {
	return all(ctx, s.c, api.ListOpsRequests, p.query())
}

// Approve confirms a request, identified by the digest of what was shown.
func (s *OperatorService) Approve(ctx context.Context, id, digest string) (*OpsDecision, error) {
	return submit(ctx, s.c, api.ApproveOpsRequest, api.OpsApprove{Digest: digest}, id)
}

// Reject rejects a request.
func (s *OperatorService) Reject(ctx context.Context, id string) (*OpsDecision, error) {
	return run(ctx, s.c, api.RejectOpsRequest, id)
}

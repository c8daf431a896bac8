package client

import (
	"context"
	"net/http"
)

// RailService tells which rails and institutions there are, and how they are.
type RailService struct{ c *Client }

// HealthParams say which service is meant, all optional.
type HealthParams struct {
	// Mode is [ModeSandbox] or [ModeLive]. Without it the service is the live one, if there is one of
	// that name.
	Mode string
	// WorkspaceID is the workspace whose sandbox is meant. Without it the status is the worst of the
	// sandboxes of the caller's workspaces.
	WorkspaceID string
}

// Health says how a rail, a connector or an institution is.
func (s *RailService) Health(ctx context.Context, serviceName string, p HealthParams) (*ServiceHealth, error) {
	return readWith[ServiceHealth](ctx, s.c, query{}.text("mode", p.Mode).text("workspace_id", p.WorkspaceID), "/v2/payout-requests/health", serviceName)
}

// Institutions reads the banks and wallets that can be paid; with a rail, those that it reaches.
func (s *RailService) Institutions(ctx context.Context, rail string, p ListParams) (*Page[Institution], error) {
	return list[Institution](ctx, s.c, p.query().text("rail", rail), "/v2/receiving_institutions")
}

// SandboxService drives the simulator of the rails of the sandbox. Nothing that is live is found.
type SandboxService struct{ c *Client }

// Deposit puts money into an account of the sandbox.
func (s *SandboxService) Deposit(ctx context.Context, p SimulatedDepositParams) (*Deposit, error) {
	return change[Deposit](ctx, s.c, http.MethodPost, p, "/v2/simulations/deposits")
}

// Settle completes a payout that the simulator has and has not decided.
func (s *SandboxService) Settle(ctx context.Context, payoutID string) (*Payout, error) {
	return change[Payout](ctx, s.c, http.MethodPost, nil, "/v2/simulations/payouts", payoutID, "settle")
}

// Reject refuses such a payout, for a reason of ISO 20022 if one is given.
func (s *SandboxService) Reject(ctx context.Context, payoutID string, p SimulatedReasonParams) (*Payout, error) {
	return change[Payout](ctx, s.c, http.MethodPost, p, "/v2/simulations/payouts", payoutID, "reject")
}

// Return sends a completed payout back.
func (s *SandboxService) Return(ctx context.Context, payoutID string, p SimulatedReasonParams) (*Payout, error) {
	return change[Payout](ctx, s.c, http.MethodPost, p, "/v2/simulations/payouts", payoutID, "return")
}

// SetService says how a rail or an institution is from now on in the sandbox of a workspace. A machine
// client may leave the workspace out: it means its own.
func (s *SandboxService) SetService(ctx context.Context, serviceName string, p SimulatedServiceParams) (*ServiceHealth, error) {
	return change[ServiceHealth](ctx, s.c, http.MethodPost, p, "/v2/simulations/services", serviceName)
}

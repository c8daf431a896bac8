package client

import (
	"context"

	"bursar/api"
)

// RailService reads the rails and institutions, and their health.
type RailService struct{ c *Client }

// HealthParams select a service. All are optional.
type HealthParams struct {
	// Mode is [ModeSandbox] or [ModeLive]. Without it, the service is the live one if a live one has that name.
	Mode string
	// WorkspaceID selects the sandbox of one workspace. Without it, the status is the worst of the sandboxes of the caller's workspaces.
	WorkspaceID string
}

// Health reads the health of a rail, a connector or an institution.
func (s *RailService) Health(ctx context.Context, serviceName string, p HealthParams) (*ServiceHealth, error) {
	return runWith(ctx, s.c, api.GetServiceHealth, query{}.text("mode", p.Mode).text("workspace_id", p.WorkspaceID), serviceName)
}

// Institutions reads the banks and wallets that can be paid. With a rail, it reads those that the rail reaches.
func (s *RailService) Institutions(ctx context.Context, rail string, p ListParams) (*Page[Institution], error) {
	return list(ctx, s.c, api.ListInstitutions, p.query().text("rail", rail))
}

// SandboxService controls the simulated rails of the sandbox. It finds nothing that is live.
type SandboxService struct{ c *Client }

// Deposit adds money to a sandbox account.
func (s *SandboxService) Deposit(ctx context.Context, p SimulatedDepositParams) (*Deposit, error) {
	return submit(ctx, s.c, api.SimulateDeposit, p)
}

// Settle completes a payout that is undecided at the simulator.
func (s *SandboxService) Settle(ctx context.Context, payoutID string) (*Payout, error) {
	return run(ctx, s.c, api.SimulateSettlement, payoutID)
}

// Reject rejects a payout that is undecided at the simulator, with an ISO 20022 reason if one is given.
func (s *SandboxService) Reject(ctx context.Context, payoutID string, p SimulatedReasonParams) (*Payout, error) {
	return submit(ctx, s.c, api.SimulateRejection, p, payoutID)
}

// Return returns a completed payout.
func (s *SandboxService) Return(ctx context.Context, payoutID string, p SimulatedReasonParams) (*Payout, error) {
	return submit(ctx, s.c, api.SimulateReturn, p, payoutID)
}

// SetService sets the state of a rail or an institution in the sandbox of a workspace. A machine client may omit the workspace, which is
// then its own.
func (s *SandboxService) SetService(ctx context.Context, serviceName string, p SimulatedServiceParams) (*ServiceHealth, error) {
	return submit(ctx, s.c, api.SimulateService, p, serviceName)
}

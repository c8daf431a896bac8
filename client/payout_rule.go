package client

import (
	"context"
	"iter"

	"bursar/api"
)

// ApprovalRuleService manages the rules for how many people have to approve payouts.
type ApprovalRuleService struct{ c *Client }

// List reads one page of the approval rules of a workspace, oldest first.
func (s *ApprovalRuleService) List(ctx context.Context, workspaceID string, p ListParams) (*Page[ApprovalRule], error) {
	return list(ctx, s.c, api.ListApprovalRules, p.query().text("workspace_id", workspaceID))
}

// All iterates over the approval rules of a workspace, oldest first.
func (s *ApprovalRuleService) All(ctx context.Context, workspaceID string) iter.Seq2[ApprovalRule, error] {
	return all(ctx, s.c, api.ListApprovalRules, query{}.text("workspace_id", workspaceID))
}

// Create creates a rule. A rule that requires less than the default is RulePending until another person approves it.
func (s *ApprovalRuleService) Create(ctx context.Context, p ApprovalRuleParams) (*ApprovalRule, error) {
	return submit(ctx, s.c, api.CreateApprovalRule, p)
}

// Confirm puts a suspended rule back into effect. If that needs approval, the result has an ApprovalID.
func (s *ApprovalRuleService) Confirm(ctx context.Context, id string) (*ApprovalRule, error) {
	return run(ctx, s.c, api.ConfirmApprovalRule, id)
}

// Delete removes a rule. If that needs approval, the result has an ApprovalID.
func (s *ApprovalRuleService) Delete(ctx context.Context, id string) (*ApprovalRule, error) {
	return run(ctx, s.c, api.DeleteApprovalRule, id)
}

// PayoutLimitService manages the limits of payouts.
type PayoutLimitService struct{ c *Client }

// List reads one page of the limits of a workspace, oldest first.
func (s *PayoutLimitService) List(ctx context.Context, workspaceID string, p ListParams) (*Page[PayoutLimit], error) {
	return list(ctx, s.c, api.ListLimits, p.query().text("workspace_id", workspaceID))
}

// All iterates over the limits of a workspace, oldest first.
func (s *PayoutLimitService) All(ctx context.Context, workspaceID string) iter.Seq2[PayoutLimit, error] {
	return all(ctx, s.c, api.ListLimits, query{}.text("workspace_id", workspaceID))
}

// Set creates a limit, or changes the one with the same scope. An increase waits for another person. The result then has an ApprovalID and
// the unchanged limit.
func (s *PayoutLimitService) Set(ctx context.Context, p PayoutLimitParams) (*PayoutLimit, error) {
	return submit(ctx, s.c, api.SetLimit, p)
}

// Delete removes a limit. If that needs approval, the result has an ApprovalID.
func (s *PayoutLimitService) Delete(ctx context.Context, id string) (*PayoutLimit, error) {
	return run(ctx, s.c, api.DeleteLimit, id)
}

package client

import (
	"context"
	"iter"
	"net/http"
)

// ApprovalRuleService manages the rules for how many people have to approve payouts.
type ApprovalRuleService struct{ c *Client }

// List reads one page of the approval rules of a workspace, oldest first.
func (s *ApprovalRuleService) List(ctx context.Context, workspaceID string, p ListParams) (*Page[ApprovalRule], error) {
	return list[ApprovalRule](ctx, s.c, p.query().text("workspace_id", workspaceID), moneyVersion, "approval-rules")
}

// All iterates over the approval rules of a workspace, oldest first.
func (s *ApprovalRuleService) All(ctx context.Context, workspaceID string) iter.Seq2[ApprovalRule, error] {
	return walk("", func(cursor string) (*Page[ApprovalRule], error) {
		return s.List(ctx, workspaceID, ListParams{pageSize(0), cursor})
	})
}

// Create creates a rule. A rule that requires less than the default is RulePending until another person approves it.
func (s *ApprovalRuleService) Create(ctx context.Context, p ApprovalRuleParams) (*ApprovalRule, error) {
	return change[ApprovalRule](ctx, s.c, http.MethodPost, p, moneyVersion, "approval-rules")
}

// Confirm puts a suspended rule back into effect. If that needs approval, the result has an ApprovalID.
func (s *ApprovalRuleService) Confirm(ctx context.Context, id string) (*ApprovalRule, error) {
	return change[ApprovalRule](ctx, s.c, http.MethodPost, nil, moneyVersion, "approval-rules", id, "confirm")
}

// Delete removes a rule. If that needs approval, the result has an ApprovalID.
func (s *ApprovalRuleService) Delete(ctx context.Context, id string) (*ApprovalRule, error) {
	return change[ApprovalRule](ctx, s.c, http.MethodDelete, nil, moneyVersion, "approval-rules", id)
}

// PayoutLimitService manages the limits of payouts.
type PayoutLimitService struct{ c *Client }

// List reads one page of the limits of a workspace, oldest first.
func (s *PayoutLimitService) List(ctx context.Context, workspaceID string, p ListParams) (*Page[PayoutLimit], error) {
	return list[PayoutLimit](ctx, s.c, p.query().text("workspace_id", workspaceID), moneyVersion, "limits")
}

// All iterates over the limits of a workspace, oldest first.
func (s *PayoutLimitService) All(ctx context.Context, workspaceID string) iter.Seq2[PayoutLimit, error] {
	return walk("", func(cursor string) (*Page[PayoutLimit], error) {
		return s.List(ctx, workspaceID, ListParams{pageSize(0), cursor})
	})
}

// Set creates a limit, or changes the one with the same scope. An increase waits for another person. The result then has an ApprovalID and
// the unchanged limit.
func (s *PayoutLimitService) Set(ctx context.Context, p PayoutLimitParams) (*PayoutLimit, error) {
	return change[PayoutLimit](ctx, s.c, http.MethodPost, p, moneyVersion, "limits")
}

// Delete removes a limit. If that needs approval, the result has an ApprovalID.
func (s *PayoutLimitService) Delete(ctx context.Context, id string) (*PayoutLimit, error) {
	return change[PayoutLimit](ctx, s.c, http.MethodDelete, nil, moneyVersion, "limits", id)
}

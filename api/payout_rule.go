package api

// The states of an approval rule.
const (
	RulePending = "pending" // looser than without the rule; waits for approval
	RuleActive  = "active"
	// RuleSuspended is not in effect until two people confirm it: see SuspendedBecause. If it requires approvals, API keys cannot give
	// them.
	RuleSuspended = "suspended"
	RuleRemoved   = "removed"
)

// Reasons why a rule is suspended.
const (
	// RuleMadeAlone marks a rule that requires less than the default and was made when no second person could approve it. A second person
	// has since joined.
	RuleMadeAlone = "made_alone"
	// RuleClientSecret marks a rule that lets a machine client pay without approval, after someone else gave the client a new secret.
	RuleClientSecret = "client_secret"
)

// ApprovalRule sets how many people have to approve payouts. An omitted condition matches every payout. If several rules match, the
// strictest applies.
type ApprovalRule struct {
	ID          string `json:"id"`
	WorkspaceID string `json:"workspace_id"`
	ApprovalRuleTerms
	Status string `json:"status"`
	// SuspendedBecause is RuleMadeAlone or RuleClientSecret.
	SuspendedBecause string `json:"suspended_because,omitzero"`
	// ApprovalID is the approval that the start, the confirmation or the end of the rule waits for.
	ApprovalID string `json:"approval_id,omitzero"`
	CreatedAt  int64  `json:"created_at"`
}

// ApprovalRuleTerms are the conditions of a rule and its requirements.
type ApprovalRuleTerms struct {
	Mode      string `json:"mode"` // ModeSandbox, ModeLive or GuardBothModes
	AccountID string `json:"account_id,omitzero"`
	Rail      string `json:"rail,omitzero"`
	ClientID  string `json:"client_id,omitzero"` // the machine client that creates the payout
	// Currency is the currency of the amounts: that of the account, of the rail or of all rails. It is empty if there are several.
	Currency string `json:"currency,omitzero"`
	// Per is LimitPerPayout, or LimitPerDay if amounts are the sum of one day's payouts. Each sets whose sum that is: EachMaker or
	// EachPayee.
	Per  string `json:"per"`
	Each string `json:"each,omitzero"`
	// AboveCents is the exclusive lower bound of the amounts, and UpToCents the inclusive upper bound.
	AboveCents *int64 `json:"above_cents,omitzero"`
	UpToCents  *int64 `json:"up_to_cents,omitzero"`

	Approvals int64 `json:"approvals"`
	// Role is a role that every approver must hold. KeysMayApprove lets sessions of the approvers' API keys approve.
	Role           string `json:"role,omitzero"`
	KeysMayApprove bool   `json:"keys_may_approve"`
}

// ApprovalRuleCreate describes a new rule.
type ApprovalRuleCreate struct {
	// WorkspaceID is optional for a machine client, which acts in its own workspace.
	WorkspaceID    *string `json:"workspace_id,omitzero"`
	Mode           *string `json:"mode,omitzero"` // ModeSandbox, ModeLive or GuardBothModes, which is the default
	AccountID      *string `json:"account_id,omitzero"`
	Rail           *string `json:"rail,omitzero"`
	ClientID       *string `json:"client_id,omitzero"`
	Per            *string `json:"per,omitzero"`
	Each           *string `json:"each,omitzero"`
	AboveCents     *int64  `json:"above_cents,omitzero"`
	UpToCents      *int64  `json:"up_to_cents,omitzero"`
	Approvals      *int64  `json:"approvals" required:"true"`
	Role           *string `json:"role,omitzero"`
	KeysMayApprove *bool   `json:"keys_may_approve,omitzero"`
}

// GuardBothModes is the mode of rules and limits that apply to sandbox and live payouts. Each mode has its own counter.
const GuardBothModes = "both"

// What a limit applies to.
const (
	LimitPerPayout = "payout"
	LimitPerDay    = "day" // a day in Manila time
)

// What a limit is counted by.
const (
	EachAccount = "account"
	EachMaker   = "maker"
	EachPayee   = "payee"
)

// PayoutLimit limits one payout, or the payouts of one day. An omitted condition matches every payout. Every limit that matches applies.
type PayoutLimit struct {
	ID          string `json:"id"`
	WorkspaceID string `json:"workspace_id"`
	Mode        string `json:"mode"` // ModeSandbox, ModeLive or GuardBothModes
	AccountID   string `json:"account_id,omitzero"`
	MakerID     string `json:"maker_id,omitzero"`
	EntryID     string `json:"entry_id,omitzero"` // the payee
	Rail        string `json:"rail,omitzero"`
	// Each is EachAccount, EachMaker or EachPayee if the limit is counted for each separately. It is empty if all share it.
	Each        string `json:"each,omitzero"`
	Per         string `json:"per"`
	AmountCents int64  `json:"amount_cents"`
	// Currency is the currency of the amount: that of the account, of the rail or of all rails. It is empty if there are several.
	Currency string `json:"currency,omitzero"`
	Count    int64  `json:"count,omitzero"` // payouts on one day; 0 for any number
	// ApprovalID is the approval that an increase or the end of the limit waits for.
	ApprovalID string `json:"approval_id,omitzero"`
	CreatedAt  int64  `json:"created_at"`
	Removed    bool   `json:"removed,omitzero"`
}

// PayoutLimitSet sets a limit. A limit with the same scope gets the new amount and count.
type PayoutLimitSet struct {
	// WorkspaceID is optional for a machine client, which acts in its own workspace.
	WorkspaceID *string `json:"workspace_id,omitzero"`
	Mode        *string `json:"mode,omitzero"` // ModeSandbox, ModeLive or GuardBothModes, which is the default
	AccountID   *string `json:"account_id,omitzero"`
	MakerID     *string `json:"maker_id,omitzero"`
	EntryID     *string `json:"entry_id,omitzero"`
	Rail        *string `json:"rail,omitzero"`
	Each        *string `json:"each,omitzero"`
	Per         string  `json:"per" required:"true"`
	AmountCents *int64  `json:"amount_cents" required:"true"`
	Count       *int64  `json:"count,omitzero"`
}

// LimitDetails are the details of LIMIT_EXCEEDED: the limit, and how much of it is left.
type LimitDetails struct {
	LimitID         string `json:"limit_id"`
	Per             string `json:"per"`
	AmountCents     int64  `json:"amount_cents"`
	RemainingCents  int64  `json:"remaining_cents"`
	Count           int64  `json:"count,omitzero"`
	RemainingCount  *int64 `json:"remaining_count,omitzero"`
	RequestedAmount int64  `json:"requested_amount"`
}

package api

// The states of an approval rule.
const (
	RulePending = "pending" // it protects less than what holds without it, and waits for approval
	RuleActive  = "active"
	// RuleSuspended does not hold until two people confirm it: see SuspendedBecause. If it demands approvals, API keys give none of them.
	RuleSuspended = "suspended"
	RuleRemoved   = "removed"
)

// Why a rule is suspended.
const (
	// RuleMadeAlone demands less than there is without rules, and was made when no second person could agree to it. One has joined.
	RuleMadeAlone = "made_alone"
	// RuleClientSecret lets a machine client pay without approval, to which someone else has given a new secret.
	RuleClientSecret = "client_secret"
)

// ApprovalRule says how many people have to approve payouts. Whatever is left out matches every
// payout. Of the rules that match a payout the most demanding holds.
type ApprovalRule struct {
	ID          string `json:"id"`
	WorkspaceID string `json:"workspace_id"`
	ApprovalRuleTerms
	Status string `json:"status"`
	// SuspendedBecause is RuleMadeAlone or RuleClientSecret.
	SuspendedBecause string `json:"suspended_because,omitzero"`
	// ApprovalID is the approval that the beginning of the rule, its confirmation or its end waits for.
	ApprovalID string `json:"approval_id,omitzero"`
	CreatedAt  int64  `json:"created_at"`
}

// ApprovalRuleTerms are what a rule is about and what it demands.
type ApprovalRuleTerms struct {
	Mode      string `json:"mode"` // ModeSandbox, ModeLive or GuardBothModes
	AccountID string `json:"account_id,omitzero"`
	Rail      string `json:"rail,omitzero"`
	ClientID  string `json:"client_id,omitzero"` // the machine client that makes the payout
	// Currency is that of the account, of the rail or of all rails, in which amounts are meant; empty
	// where there are several.
	Currency string `json:"currency,omitzero"`
	// Per is LimitPerPayout, or LimitPerDay if the amount is the sum of the payouts of one day, for Each: EachMaker or EachPayee.
	Per  string `json:"per"`
	Each string `json:"each,omitzero"`
	// AboveCents is less than the amounts that the rule is about, and UpToCents the greatest of them.
	AboveCents *int64 `json:"above_cents,omitzero"`
	UpToCents  *int64 `json:"up_to_cents,omitzero"`

	Approvals int64 `json:"approvals"`
	// Role is one that every approver must hold, and KeysMayApprove lets sessions of their API keys
	// approve.
	Role           string `json:"role,omitzero"`
	KeysMayApprove bool   `json:"keys_may_approve"`
}

// ApprovalRuleCreate describes a new rule.
type ApprovalRuleCreate struct {
	// WorkspaceID may be left out by a machine client, which acts in its own.
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

// GuardBothModes is the mode of rules and limits that hold for sandbox and live payouts. Each mode has a counter of its own.
const GuardBothModes = "both"

// What a limit is for.
const (
	LimitPerPayout = "payout"
	LimitPerDay    = "day" // in Manila
)

// What a limit holds for each of by itself.
const (
	EachAccount = "account"
	EachMaker   = "maker"
	EachPayee   = "payee"
)

// PayoutLimit says how much may be paid: by one payout, or on one day. Whatever is left out matches
// every payout. Every limit that matches holds.
type PayoutLimit struct {
	ID          string `json:"id"`
	WorkspaceID string `json:"workspace_id"`
	Mode        string `json:"mode"` // ModeSandbox, ModeLive or GuardBothModes
	AccountID   string `json:"account_id,omitzero"`
	MakerID     string `json:"maker_id,omitzero"`
	EntryID     string `json:"entry_id,omitzero"` // the payee
	Rail        string `json:"rail,omitzero"`
	// Each is EachAccount, EachMaker or EachPayee if the limit holds for each by itself, and empty if
	// all share it.
	Each        string `json:"each,omitzero"`
	Per         string `json:"per"`
	AmountCents int64  `json:"amount_cents"`
	// Currency is that of the account, of the rail or of all rails, in which the amount is meant; empty
	// where there are several.
	Currency string `json:"currency,omitzero"`
	Count    int64  `json:"count,omitzero"` // payouts on one day; 0 is any
	// ApprovalID is the approval that more, or the end of the limit, waits for.
	ApprovalID string `json:"approval_id,omitzero"`
	CreatedAt  int64  `json:"created_at"`
	Removed    bool   `json:"removed,omitzero"`
}

// PayoutLimitSet sets a limit. One with the same scope gets the new amount and count.
type PayoutLimitSet struct {
	// WorkspaceID may be left out by a machine client, which acts in its own.
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

// LimitDetails are the details of LIMIT_EXCEEDED: which limit it is, and how much is left of it.
type LimitDetails struct {
	LimitID         string `json:"limit_id"`
	Per             string `json:"per"`
	AmountCents     int64  `json:"amount_cents"`
	RemainingCents  int64  `json:"remaining_cents"`
	Count           int64  `json:"count,omitzero"`
	RemainingCount  *int64 `json:"remaining_count,omitzero"`
	RequestedAmount int64  `json:"requested_amount"`
}

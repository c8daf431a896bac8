package control

import (
	"cmp"

	"bursar/api"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// maxCents is the greatest amount: 15 digits.
const maxCents = 999_999_999_999_999

// maxApprovals is how many approvals a rule can demand.
const maxApprovals = 3

// ListInput is a request for the rules or the limits of a workspace.
type ListInput struct {
	WorkspaceID *string `query:"workspace_id"`
	web.PageParams
}

// Input names a rule or a limit.
type Input struct {
	ID string `path:"id"`
}

// RuleInput describes a new rule.
type RuleInput struct {
	api.ApprovalRuleCreate
}

// Validate checks the rule without reading the database.
func (in *RuleInput) Validate(v *fault.Violations) {
	checkGuardMode(v, in.Mode)
	checkIDs(v, map[string]*string{"account_id": in.AccountID, "client_id": in.ClientID, "rail": in.Rail, "role": in.Role})
	if n := in.Approvals; n != nil && (*n < 0 || *n > maxApprovals) {
		v.Add("approvals", "must be an integer from 0 to 3")
	}
	checkCents(v, "above_cents", in.AboveCents, 0)
	checkCents(v, "up_to_cents", in.UpToCents, 1)
	if in.AboveCents != nil && in.UpToCents != nil && *in.UpToCents <= *in.AboveCents {
		v.Add("up_to_cents", "must be more than above_cents")
	}
	web.CheckOneOf(v, "per", in.Per, api.LimitPerPayout, api.LimitPerDay)
	web.CheckOneOf(v, "each", in.Each, api.EachMaker, api.EachPayee)
	byDay := web.Value(in.Per) == api.LimitPerDay
	if !byDay && in.Each != nil {
		v.Add("each", "is for rules by day")
	}
	if !byDay {
		return
	}
	if in.Each == nil {
		v.Add("each", "must be maker or payee in a rule by day")
	}
	if in.AboveCents == nil {
		v.Add("above_cents", "must be given in a rule by day")
	}
	if in.UpToCents != nil {
		v.Add("up_to_cents", "is for rules by payout")
	}
	if in.ClientID != nil {
		v.Add("client_id", "is for rules by payout")
	}
	if in.Approvals != nil && *in.Approvals == 0 {
		v.Add("approvals", "must be 1 or more in a rule by day")
	}
}

func (in *RuleInput) terms() api.ApprovalRuleTerms {
	return api.ApprovalRuleTerms{Mode: guardMode(in.Mode), Per: cmp.Or(web.Value(in.Per), api.LimitPerPayout), Each: web.Value(in.Each), AccountID: web.Value(in.AccountID),
		Rail: web.Value(in.Rail), ClientID: web.Value(in.ClientID), AboveCents: in.AboveCents, UpToCents: in.UpToCents,
		Approvals: *in.Approvals, Role: web.Value(in.Role), KeysMayApprove: web.Value(in.KeysMayApprove)}
}

// LimitInput sets a limit.
type LimitInput struct {
	api.PayoutLimitSet
}

// Validate checks the limit without reading the database.
func (in *LimitInput) Validate(v *fault.Violations) {
	checkGuardMode(v, in.Mode)
	checkIDs(v, map[string]*string{"account_id": in.AccountID, "maker_id": in.MakerID, "entry_id": in.EntryID, "rail": in.Rail})
	web.CheckOneOf(v, "per", &in.Per, api.LimitPerPayout, api.LimitPerDay)
	web.CheckOneOf(v, "each", in.Each, api.EachAccount, api.EachMaker, api.EachPayee)
	checkCents(v, "amount_cents", in.AmountCents, 0)
	if n := in.Count; n != nil && (*n < 1 || *n > 1_000_000_000) {
		v.Add("count", "must be an integer from 1 to 1000000000")
	}
	if in.Per == api.LimitPerPayout && (in.Count != nil || in.Each != nil) {
		v.Add("per", "count and each are for limits by day")
	}
}

func (in *LimitInput) limit() api.PayoutLimit {
	return api.PayoutLimit{Mode: guardMode(in.Mode), AccountID: web.Value(in.AccountID), MakerID: web.Value(in.MakerID), EntryID: web.Value(in.EntryID),
		Rail: web.Value(in.Rail), Each: web.Value(in.Each), Per: in.Per, AmountCents: *in.AmountCents, Count: web.Value(in.Count)}
}

func checkGuardMode(v *fault.Violations, mode *string) {
	web.CheckOneOf(v, "mode", mode, api.ModeSandbox, api.ModeLive, api.GuardBothModes)
}

func guardMode(given *string) string { return cmp.Or(web.Value(given), api.GuardBothModes) }

func checkIDs(v *fault.Violations, fields map[string]*string) {
	for name, value := range fields {
		web.CheckOptionalText(v, name, value, 1, 64)
	}
}

func checkCents(v *fault.Violations, name string, cents *int64, least int64) {
	if cents != nil && (*cents < least || *cents > maxCents) {
		v.Add(name, "must be an integer of at most 15 digits, and not negative")
	}
}

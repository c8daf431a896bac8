package console

import (
	"strings"

	"bursar/internal/audit"
)

// choice is an option of a filter.
type choice struct {
	Value, Text string
	Chosen      bool
}

// choiceGroup is a group of options with a label.
type choiceGroup struct {
	Label   string
	Choices []choice
}

// actionChoices lists the actions as filter options. An unknown action in the URL
// is added, so that the filter stays visible.
func actionChoices(chosen string) []choiceGroup {
	groups := []choiceGroup{{Label: "Directory"}, {Label: "Money"}, {Label: "People and roles"}, {Label: "Sign-in and keys"}, {Label: "Audit log"}}
	place := map[string]int{"directory": 0, "money": 1, "payout": 1, "iam": 2, "auth": 3, "audit": 4}
	known := false
	for _, action := range audit.Actions() {
		area, _, _ := strings.Cut(string(action), ".")
		group := &groups[place[area]]
		group.Choices = append(group.Choices, choice{string(action), actionText(string(action)), string(action) == chosen})
		known = known || string(action) == chosen
	}
	if chosen != "" && !known {
		groups = append(groups, choiceGroup{"Other", []choice{{chosen, chosen, true}}})
	}
	return groups
}

// actionText says what was done, such as "Added member" for iam.member.added. It is
// derived from the name of the action, except where that would read oddly.
func actionText(action string) string {
	switch audit.Action(action) {
	case audit.MemberAccepted:
		return "Accepted invitation"
	case audit.MemberDeclined:
		return "Declined invitation"
	case audit.MemberSuspended:
		return "Suspended access"
	case audit.MemberReinstated:
		return "Confirmed suspended access"
	case audit.MemberRoleAssigned:
		return "Assigned role"
	case audit.MemberRoleRemoved:
		return "Removed role"
	case audit.OrganizationSettingsUpdated:
		return "Updated organization settings"
	case audit.OwnerAdded:
		return "Added owner"
	case audit.OwnerRemoved:
		return "Removed owner"
	case audit.OwnerSuspended:
		return "Suspended owner"
	case audit.OwnerReinstated:
		return "Confirmed suspended owner"
	case audit.LeaverRemoved:
		return "Removed leaver"
	case audit.AccessDenied:
		return "Access denied"
	case audit.EntryPurged:
		return "Permanently deleted entry"
	case audit.ReceivingMethodRevealed:
		return "Saw account numbers"
	case audit.ImportRevealed:
		return "Saw account numbers of an import"
	case audit.ImportExpired:
		return "An import was not approved in time"
	case audit.BulkRevealed:
		return "Saw account numbers of a bulk change"
	case audit.BulkExpired:
		return "A bulk change was not approved in time"
	case audit.ReceivingMethodActivated:
		return "Receiving method can be paid"
	case audit.MemberGrantRequested:
		return "Requested a role for member"
	case audit.MemberGrantApproved:
		return "Approved a role for member"
	case audit.MemberGrantRejected:
		return "Rejected a role for member"
	case audit.MemberGrantWithdrawn:
		return "Withdrew a role for member"
	case audit.MemberGrantExpired:
		return "A role for a member expired"
	case audit.ApproverAppointed:
		return "Appointed approver"
	case audit.RoleChangeRequested:
		return "Requested more permissions for role"
	case audit.RoleChangeApproved:
		return "Approved more permissions for role"
	case audit.RoleChangeRejected:
		return "Rejected more permissions for role"
	case audit.RoleChangeWithdrawn:
		return "Withdrew more permissions for role"
	case audit.RoleChangeExpired:
		return "More permissions for a role expired"
	case audit.SecondPersonExtended:
		return "Extended the demand for a second person"
	case audit.ReceivingPolicyUpdated:
		return "Updated receiving policy"
	case audit.ReceivingPolicyRequested:
		return "Asked for a looser receiving policy"
	case audit.ReceivingPolicyApproved:
		return "Approved a looser receiving policy"
	case audit.ReceivingPolicyRejected:
		return "Rejected a looser receiving policy"
	case audit.ReceivingPolicyWithdrawn:
		return "Withdrew a looser receiving policy"
	case audit.ReceivingPolicyExpired:
		return "A looser receiving policy expired"
	case audit.LedgerAccountCreated:
		return "Opened account"
	case audit.LedgerAccountFrozen:
		return "Froze account"
	case audit.LedgerAccountUnfrozen:
		return "Unfroze account"
	case audit.PayoutCreated:
		return "Asked for payout"
	case audit.PayoutUpdated:
		return "Changed draft of payout"
	case audit.PayoutPublished:
		return "Published payout"
	case audit.PayoutApproved:
		return "Approved payout"
	case audit.PayoutRejected:
		return "Rejected payout"
	case audit.PayoutWithdrawn:
		return "Withdrew payout"
	case audit.PayoutExpired:
		return "A payout was not approved in time"
	case audit.PayoutCancelled:
		return "Cancelled payout"
	case audit.PayoutRetried:
		return "Retried payout"
	case audit.PayoutRevealed:
		return "Saw the account number of a payout"
	case audit.PayoutResolved:
		return "Resolved payout"
	case audit.PayoutResolveRequested:
		return "Requested to resolve payout"
	case audit.PayoutResolveRejected:
		return "Rejected resolution of payout"
	case audit.PayoutResolveWithdrawn:
		return "Withdrew resolution of payout"
	case audit.PayoutResolveExpired:
		return "A resolution of a payout was not approved in time"
	case audit.PayoutBatchCreated:
		return "Asked for batch of payouts"
	case audit.PayoutBatchApproved:
		return "Approved batch of payouts"
	case audit.PayoutBatchRejected:
		return "Rejected batch of payouts"
	case audit.PayoutBatchWithdrawn:
		return "Withdrew batch of payouts"
	case audit.PayoutBatchExpired:
		return "A batch of payouts was not approved in time"
	case audit.PayoutSent:
		return "Sent payout"
	case audit.PayoutNeverCame:
		return "A rail has not received a payout"
	case audit.PayoutUnknown:
		return "The outcome of a payout is unknown"
	case audit.PayoutAttention:
		return "A payout needs attention"
	case audit.PayoutCompleted:
		return "Completed payout"
	case audit.PayoutFailed:
		return "A payout failed"
	case audit.PayoutReversed:
		return "A payout came back"
	case audit.PayoutRecheckApproved:
		return "Released held payout"
	case audit.PayoutRecheckRejected:
		return "Rejected held payout"
	case audit.PayoutRecheckWithdrawn:
		return "Withdrew held payout"
	case audit.PayoutRecheckExpired:
		return "Held payout expired"
	case audit.PayoutSettled:
		return "The bank's statement shows a payout"
	case audit.PayoutDriven:
		return "Drove a payout in the sandbox"
	case audit.PayoutAcknowledged:
		return "Acknowledged a payout that was sent before a restore"
	case audit.RailsResumed:
		return "Let the rails send again"
	case audit.RailAdopted:
		return "Adopted the folder of a connector"
	case audit.ServiceDriven:
		return "Changed a service of the sandbox"
	case audit.MoneySuspended:
		return "Put money into suspense"
	case audit.TransferCreated:
		return "Moved money between accounts"
	case audit.PayoutRuleCreated:
		return "Set an approval rule"
	case audit.PayoutRuleRemoved:
		return "Removed an approval rule"
	case audit.PayoutRuleRequested:
		return "Asked for fewer approvals of payouts"
	case audit.PayoutRuleApproved:
		return "Approved fewer approvals of payouts"
	case audit.PayoutRuleRejected:
		return "Rejected fewer approvals of payouts"
	case audit.PayoutRuleWithdrawn:
		return "Withdrew a request for fewer approvals of payouts"
	case audit.PayoutRuleExpired:
		return "A request for fewer approvals of payouts expired"
	case audit.PayoutLimitCreated:
		return "Set a limit of payouts"
	case audit.PayoutLimitUpdated:
		return "Changed a limit of payouts"
	case audit.PayoutLimitRemoved:
		return "Removed a limit of payouts"
	case audit.PayoutLimitRequested:
		return "Asked for a higher limit of payouts"
	case audit.PayoutLimitApproved:
		return "Approved a higher limit of payouts"
	case audit.PayoutLimitRejected:
		return "Rejected a higher limit of payouts"
	case audit.PayoutLimitWithdrawn:
		return "Withdrew a request for a higher limit of payouts"
	case audit.PayoutLimitExpired:
		return "A request for a higher limit of payouts expired"
	case audit.PayoutSendingStopped:
		return "Stopped sending payouts"
	case audit.PayoutSendingResumed:
		return "Resumed sending payouts"
	case audit.PayoutSendingRequested:
		return "Requested to resume sending payouts"
	case audit.PayoutSendingApproved:
		return "Approved to resume sending payouts"
	case audit.PayoutSendingRejected:
		return "Rejected to resume sending payouts"
	case audit.PayoutSendingWithdrawn:
		return "Withdrew a request to resume sending payouts"
	case audit.PayoutSendingExpired:
		return "A request to resume sending payouts expired"
	case audit.LedgerUnfreezeRequested:
		return "Requested to unfreeze an account"
	case audit.LedgerUnfreezeApproved:
		return "Approved to unfreeze an account"
	case audit.LedgerUnfreezeRejected:
		return "Rejected to unfreeze an account"
	case audit.LedgerUnfreezeWithdrawn:
		return "Withdrew a request to unfreeze an account"
	case audit.LedgerUnfreezeExpired:
		return "A request to unfreeze an account expired"
	case audit.SessionCreated:
		return "Signed in"
	case audit.SessionRevoked:
		return "Ended session"
	case audit.LoginFailed:
		return "Failed sign-in"
	case audit.LinkCreated:
		return "Created sign-in link"
	case audit.FactorsReset:
		return "Reset sign-in methods"
	case audit.AccountBound:
		return "First single sign-on"
	case audit.RecoveryCodeUsed:
		return "Used recovery code"
	case audit.DirectoryExported:
		return "Exported directory"
	case audit.ImportHeld:
		return "Uploaded a file to import"
	case audit.ImportDownloaded:
		return "Downloaded lines of an import"
	case audit.AuditExported:
		return "Exported audit log"
	case audit.AuditRestarted:
		return "Restarted audit log"
	case audit.StoreArchived:
		return "Archived the store"
	case audit.StoreRestored:
		return "Restored the store"
	case audit.AuditErased:
		return "Erased audit entries"
	}
	parts := strings.Split(action, ".")
	if len(parts) != 3 {
		return action
	}
	return capitalized(parts[2]) + " " + thing(parts[1])
}

// thing is the middle part of an action's name in words, such as "API key" for key.
func thing(name string) string {
	switch name {
	case "key":
		return "API key"
	case "client":
		return "machine client"
	case "totp":
		return "authenticator app"
	case "bulk":
		return "change of many entries"
	}
	return withSpaces(name)
}

// withSpaces replaces the underscores of a name by spaces.
func withSpaces(name string) string { return strings.ReplaceAll(name, "_", " ") }

// capitalized is a name in words that begin with a capital letter.
func capitalized(name string) string {
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + withSpaces(name[1:])
}

// resourceTypes lists the resource types of audit entries.
func resourceTypes() []audit.ResourceType {
	return []audit.ResourceType{
		audit.DirectoryEntry, audit.DirectoryTag, audit.ReceivingMethod, audit.DirectoryImport, audit.DirectoryBulk, audit.Directory,
		audit.LedgerAccount, audit.Transfer, audit.Deposit, audit.Suspense, audit.OperatorRequest, audit.PayoutRequest, audit.PayoutBatch, audit.PayoutRule, audit.PayoutLimit, audit.RailService, audit.Member, audit.Role, audit.Workspace,
		audit.Organization, audit.UserAccount, audit.Session, audit.DeviceCode, audit.Key, audit.ClientAccount, audit.SigningKey, audit.VaultKey, audit.Passkey, audit.Log,
	}
}

func resourceChoices(chosen string) []choice {
	var list []choice
	known := chosen == ""
	for _, kind := range resourceTypes() {
		list = append(list, choice{string(kind), resourceWords(string(kind)), string(kind) == chosen})
		known = known || string(kind) == chosen
	}
	if !known {
		list = append(list, choice{chosen, chosen, true})
	}
	return list
}

func resourceWords(kind string) string {
	switch audit.ResourceType(kind) {
	case audit.Key:
		return "API key"
	case audit.ClientAccount:
		return "Machine client"
	case audit.Log:
		return "Audit log"
	case audit.PayoutRequest:
		return "Payout"
	case audit.PayoutBatch:
		return "Batch of payouts"
	case audit.RailService:
		return "Rail or bank"
	}
	return capitalized(kind)
}

// actorTypeText is the type of an actor in words.
func actorTypeText(kind string) string {
	switch audit.ActorType(kind) {
	case audit.APIKey:
		return "API key"
	case audit.Client:
		return "Machine client"
	}
	return capitalized(kind)
}

// outcomeText is an outcome in words.
func outcomeText(outcome string) string {
	if outcome == string(audit.Failure) {
		return "Failed"
	}
	return capitalized(outcome)
}

func outcomeChoices(chosen string) []choice {
	list := []choice{}
	known := chosen == ""
	for _, outcome := range []audit.Outcome{audit.Success, audit.Denied, audit.Failure} {
		list = append(list, choice{string(outcome), outcomeText(string(outcome)), string(outcome) == chosen})
		known = known || string(outcome) == chosen
	}
	if !known {
		list = append(list, choice{chosen, chosen, true})
	}
	return list
}

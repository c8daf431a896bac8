package api

import (
	"net/http"
	"slices"
)

// Code is the machine-readable identifier of an error, which programs act on.
type Code string

// The error codes. More may be added. [Codes] describes them.
const (
	CodeValidation           Code = "VALIDATION_ERROR"
	CodeInvalidInstitution   Code = "INVALID_INSTITUTION"
	CodeUnauthorized         Code = "UNAUTHORIZED"
	CodeInvalidCredentials   Code = "INVALID_CREDENTIALS"
	CodeForbidden            Code = "FORBIDDEN"
	CodeRecentLoginRequired  Code = "RECENT_LOGIN_REQUIRED"
	CodeSecondFactorRequired Code = "SECOND_FACTOR_REQUIRED"
	CodeSecondPersonRequired Code = "SECOND_PERSON_REQUIRED"
	CodeEntryNotFound        Code = "NOT_FOUND"
	CodeNotFound             Code = "RESOURCE_NOT_FOUND"
	CodeMethodNotAllowed     Code = "METHOD_NOT_ALLOWED"
	CodeIdempotencyConflict  Code = "IDEMPOTENCY_CONFLICT"
	CodeBodyTooLarge         Code = "BODY_TOO_LARGE"
	CodeLastAdmin            Code = "LAST_ADMIN"
	CodeLastOwner            Code = "LAST_OWNER"
	CodeLastWayIn            Code = "LAST_WAY_IN"
	CodeLastFactor           Code = "LAST_FACTOR"
	CodeSlugTaken            Code = "SLUG_TAKEN"
	CodeRoleInUse            Code = "ROLE_IN_USE"
	CodeRolesChanged         Code = "ROLES_CHANGED"
	CodeNotPending           Code = "CODE_NOT_PENDING"
	CodeTagExists            Code = "TAG_EXISTS"
	CodeTagInUse             Code = "TAG_IN_USE"
	CodeTooMany              Code = "TOO_MANY"
	CodeAuditUnsigned        Code = "AUDIT_UNSIGNED"
	CodeExternalIDTaken      Code = "EXTERNAL_ID_TAKEN"
	CodeApprovalDecided      Code = "APPROVAL_DECIDED"
	CodeApprovalChanged      Code = "APPROVAL_CHANGED"
	CodeDuplicateEntry       Code = "DUPLICATE_ENTRY"
	CodeEntryMerged          Code = "ENTRY_MERGED"
	CodeMergeChanged         Code = "MERGE_CHANGED"
	CodeMergeFinal           Code = "MERGE_FINAL"
	CodeImportNotHeld        Code = "IMPORT_NOT_HELD"
	CodeMethodNotPayable     Code = "METHOD_NOT_PAYABLE"
	CodePayoutState          Code = "PAYOUT_STATE"
	CodeScreeningDenied      Code = "SCREENING_DENIED"
	CodeLimitExceeded        Code = "LIMIT_EXCEEDED"
	CodeAccountNotEmpty      Code = "ACCOUNT_NOT_EMPTY"
	CodeAccountGuarded       Code = "ACCOUNT_GUARDED"
	CodeInsufficientFunds    Code = "INSUFFICIENT_FUNDS"
	CodeAccountFrozen        Code = "ACCOUNT_FROZEN"
	CodeAccountClosed        Code = "ACCOUNT_CLOSED"
	CodeAmountBelowMinimum   Code = "AMOUNT_BELOW_MINIMUM"
	CodeAmountAboveMaximum   Code = "AMOUNT_ABOVE_MAXIMUM"
	CodeInvalidAccount       Code = "INVALID_ACCOUNT"
	CodeBankUnavailable      Code = "BANK_UNAVAILABLE"
	CodeRailUnavailable      Code = "RAIL_UNAVAILABLE"
	CodeProcessingFailed     Code = "PROCESSING_FAILED"
	CodeRateLimited          Code = "RATE_LIMITED"
	CodeInternal             Code = "INTERNAL_ERROR"
	CodeUnavailable          Code = "UNAVAILABLE"
)

// CodeInfo describes an error code.
type CodeInfo struct {
	Code   Code
	Status int // the HTTP status
	// Temporary means that the same request can succeed later.
	Temporary bool
	// When is the text of the contract.
	When string
}

// Info returns the description of a code. That of an unknown code is a business rule.
func (c Code) Info() CodeInfo {
	all := Codes()
	if i := slices.IndexFunc(all, func(one CodeInfo) bool { return one.Code == c }); i >= 0 {
		return all[i]
	}
	return CodeInfo{Code: c, Status: http.StatusUnprocessableEntity}
}

// Codes describes every error code, in the order of their statuses. Those without a text are answered only to the console.
func Codes() []CodeInfo {
	return []CodeInfo{
		{Code: CodeValidation, Status: 400, When: "The request is malformed or a value is not allowed. `details.fields` lists every violation at once, each with `field` and `constraint`."},
		{Code: CodeInvalidInstitution, Status: 400, When: "The bank is unknown, or not on that rail."},
		{Code: CodeUnauthorized, Status: 401, When: "The credential is missing, malformed, expired or revoked."},
		{Code: CodeInvalidCredentials, Status: 401, When: "The client id or client secret is wrong. Only `POST /auth/token` and `/v2`."},
		{Code: CodeForbidden, Status: 403, When: "You belong to the workspace or organization but lack a permission. `details.permission` names it."},
		{Code: CodeRecentLoginRequired, Status: 403, Temporary: true, When: "You create a credential, approve a device or a change, or change owners or security settings, and you logged in more than 15 minutes ago. " +
			"Log in again and repeat the request, also with the same idempotency key. Sessions that depend on an API key never get this."},
		{Code: CodeSecondFactorRequired, Status: 403, Temporary: true, When: "The organization requires a second factor, and you logged in without one. " +
			"Sign in to the console with a passkey, with your password and a code, or with single sign-on, or set one of them up there; then log in again. " +
			"Repeat the request, also with the same idempotency key. Sessions that depend on an API key get this if the key was created without a second factor " +
			"while an organization required one; machine clients never get it. You can leave without one."},
		{Code: CodeSecondPersonRequired, Status: 403, When: "Another person has to approve this. The request is stored and waits; `details.approval_id` names its approval."},
		{Code: CodeEntryNotFound, Status: 404, When: "The directory entry does not exist. Only operations on `/directory/{id}` itself use this code."},
		{Code: CodeNotFound, Status: 404, When: "Any other resource or path does not exist."},
		{Code: CodeMethodNotAllowed, Status: 405, When: "The path exists but does not allow this method. `Allow` lists the methods that it allows."},
		{Code: CodeIdempotencyConflict, Status: 409, Temporary: true, When: "The idempotency key was used for a different request, or the first request with it is still running."},
		{Code: CodeBodyTooLarge, Status: 413, When: "The body is larger than 1 MiB."},
		{Code: CodeLastAdmin, Status: 422, When: "A workspace keeps at least one admin."},
		{Code: CodeLastOwner, Status: 422, When: "An organization keeps at least one owner."},
		{Code: CodeLastWayIn, Status: 422},
		{Code: CodeLastFactor, Status: 422},
		{Code: CodeSlugTaken, Status: 422, When: "The slug is in use."},
		{Code: CodeRoleInUse, Status: 422, When: "Members or rules have the role."},
		{Code: CodeRolesChanged, Status: 422},
		{Code: CodeNotPending, Status: 422, When: "The device code was decided or has expired."},
		{Code: CodeTagExists, Status: 422, When: "A tag with this name exists."},
		{Code: CodeTagInUse, Status: 422, When: "Entries of another type have the tag."},
		{Code: CodeTooMany, Status: 422, When: "The limit of this resource is reached."},
		{Code: CodeAuditUnsigned, Status: 422, When: "The server does not sign the audit log."},
		{Code: CodeExternalIDTaken, Status: 422, When: "Another entry has or has reserved the external id."},
		{Code: CodeApprovalDecided, Status: 422, When: "The approval is no longer pending."},
		{Code: CodeApprovalChanged, Status: 422, When: "The approval differs from what was shown."},
		{Code: CodeDuplicateEntry, Status: 422, When: "The new entry is a possible duplicate, and the workspace refuses duplicates."},
		{Code: CodeEntryMerged, Status: 422, When: "The entry was merged into another one and can no longer be changed."},
		{Code: CodeMergeChanged, Status: 422, When: "An entry was changed since the merge, which therefore cannot be undone."},
		{Code: CodeMergeFinal, Status: 422, When: "The merge is too old to be undone."},
		{Code: CodeImportNotHeld, Status: 422, When: "The import was started, has ended or has expired."},
		{Code: CodeMethodNotPayable, Status: 422, When: "The receiving method is inactive or cooling, or its payee is deleted."},
		{Code: CodePayoutState, Status: 422, When: "The state of the payout does not allow this."},
		{Code: CodeScreeningDenied, Status: 422, When: "The operator's screening rejects the payout."},
		{Code: CodeLimitExceeded, Status: 422, Temporary: true, When: "The amount exceeds a limit of the workspace."},
		{Code: CodeAccountNotEmpty, Status: 422, When: "The account is not empty, so it cannot be closed."},
		{Code: CodeAccountGuarded, Status: 422, When: "The transfer would move money under weaker rules or limits."},
		{Code: CodeInsufficientFunds, Status: 422, Temporary: true, When: "The available balance is too low. `details` has `available_balance` and `requested_amount`."},
		{Code: CodeAccountFrozen, Status: 422, Temporary: true, When: "The account that would pay is frozen or closed. `details.status` has the status."},
		{Code: CodeAccountClosed, Status: 422, When: "The account that would receive is closed."},
		{Code: CodeAmountBelowMinimum, Status: 422, When: "The rail does not carry so small an amount. `details` has `minimum` and `rail`."},
		{Code: CodeAmountAboveMaximum, Status: 422, When: "The rail does not carry so large an amount. `details` has `maximum` and `rail`."},
		{Code: CodeInvalidAccount, Status: 422, When: "The payee's account number is invalid at its bank, or the rail reports that it does not exist."},
		{Code: CodeBankUnavailable, Status: 422, Temporary: true, When: "The payee's bank is down. Try again later."},
		{Code: CodeRailUnavailable, Status: 422, Temporary: true, When: "The rail is down, or live payouts are stopped after a restore. Try again later."},
		{Code: CodeProcessingFailed, Status: 422, When: "The payment network has rejected the payout, for a reason without its own code. " +
			"Its receipt answers this; `details` has `failure_code`, and the rail's own `reason` and `message`."},
		{Code: CodeRateLimited, Status: 429, Temporary: true, When: "Too many requests. Wait for the number of seconds in `Retry-After`."},
		{Code: CodeInternal, Status: 500, Temporary: true, When: "An error on the server. Retry with backoff; when you report the problem, include the request id."},
		{Code: CodeUnavailable, Status: 503, Temporary: true, When: "The database cannot be reached, or the requested data is not ready yet. Retry after the number of seconds in `Retry-After`. " +
			"If `details.outcome` is `unknown`, the connection to the database was lost during the commit, and the server could not determine whether the change was stored: " +
			"retry with the same idempotency key, which never carries a request out twice."},
	}
}

// Package fault contains the error type that callers of Bursar see, and the table from
// code to HTTP status.
package fault

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Code is the machine-readable identifier of an error, which clients act on.
type Code string

const (
	Validation          Code = "VALIDATION_ERROR"
	Unauthorized        Code = "UNAUTHORIZED"
	InvalidCredentials  Code = "INVALID_CREDENTIALS"
	Forbidden           Code = "FORBIDDEN"
	NotFound            Code = "NOT_FOUND" // of a directory entry; everything else is RESOURCE_NOT_FOUND
	ResourceNotFound    Code = "RESOURCE_NOT_FOUND"
	MethodNotAllowed    Code = "METHOD_NOT_ALLOWED"
	IdempotencyConflict Code = "IDEMPOTENCY_CONFLICT"
	BodyTooLarge        Code = "BODY_TOO_LARGE"
	RateLimited         Code = "RATE_LIMITED"
	Internal            Code = "INTERNAL_ERROR"
	Unavailable         Code = "UNAVAILABLE"
	RecentLoginRequired Code = "RECENT_LOGIN_REQUIRED"
	// SecondFactorRequired is for a person whose organization requires a second factor.
	SecondFactorRequired Code = "SECOND_FACTOR_REQUIRED"
	// SecondPersonRequired is for a change that now waits for the approval of another person.
	SecondPersonRequired Code = "SECOND_PERSON_REQUIRED"

	LastAdmin      Code = "LAST_ADMIN"
	LastOwner      Code = "LAST_OWNER"
	LastWayIn      Code = "LAST_WAY_IN"
	LastFactor     Code = "LAST_FACTOR"
	SlugTaken      Code = "SLUG_TAKEN"
	RoleInUse      Code = "ROLE_IN_USE"
	RolesChanged   Code = "ROLES_CHANGED"
	CodeNotPending Code = "CODE_NOT_PENDING"
	TagExists      Code = "TAG_EXISTS"
	TagInUse       Code = "TAG_IN_USE"
	TooMany        Code = "TOO_MANY"
	AuditUnsigned  Code = "AUDIT_UNSIGNED"
	// ExternalIDTaken is for an entry whose external id belongs to another entry.
	ExternalIDTaken Code = "EXTERNAL_ID_TAKEN"

	// ApprovalDecided is for an approval that is no longer pending. ApprovalChanged is for
	// an approval that has changed since it was shown.
	ApprovalDecided Code = "APPROVAL_DECIDED"
	ApprovalChanged Code = "APPROVAL_CHANGED"
	// DuplicateEntry is for a new entry that may be a duplicate, if duplicates are rejected.
	DuplicateEntry Code = "DUPLICATE_ENTRY"
	// EntryMerged is for an entry that was merged into another and can no longer be changed.
	EntryMerged Code = "ENTRY_MERGED"
	// MergeChanged is for a merge that cannot be undone, because its result was changed since.
	MergeChanged Code = "MERGE_CHANGED"
	// MergeFinal is for a merge that is too old to be undone.
	MergeFinal Code = "MERGE_FINAL"
	// MethodNotPayable is for a receiving method that is not active, is still cooling, or whose payee is
	// deleted.
	MethodNotPayable Code = "METHOD_NOT_PAYABLE"
	// PayoutState is for a request that the state of a payout does not allow.
	PayoutState Code = "PAYOUT_STATE"
	// ScreeningDenied is for a payout that the operator's screening rejects.
	ScreeningDenied Code = "SCREENING_DENIED"
	// ImportNotHeld is for an import that was started, has ended or was discarded.
	ImportNotHeld Code = "IMPORT_NOT_HELD"

	// Codes of payments. Most of them also explain why a payout has failed.
	InsufficientFunds  Code = "INSUFFICIENT_FUNDS"
	AccountFrozen      Code = "ACCOUNT_FROZEN"
	AmountBelowMinimum Code = "AMOUNT_BELOW_MINIMUM"
	AmountAboveMaximum Code = "AMOUNT_ABOVE_MAXIMUM"
	InvalidAccount     Code = "INVALID_ACCOUNT"
	AccountClosed      Code = "ACCOUNT_CLOSED"
	InvalidInstitution Code = "INVALID_INSTITUTION"
	BankUnavailable    Code = "BANK_UNAVAILABLE"
	RailUnavailable    Code = "RAIL_UNAVAILABLE"
	ProcessingFailed   Code = "PROCESSING_FAILED"
	// AccountNotEmpty is for an account that cannot be closed because it has money.
	AccountNotEmpty Code = "ACCOUNT_NOT_EMPTY"
	// AccountGuarded is for a transfer that would move money under weaker rules or limits.
	AccountGuarded Code = "ACCOUNT_GUARDED"
	// LimitExceeded is for a payout above a limit that the workspace has set.
	LimitExceeded Code = "LIMIT_EXCEEDED"
)

// Status returns the HTTP status of a code. A code that is not in the table is a business
// rule, with status 422.
func (c Code) Status() int {
	switch c {
	case Validation, InvalidInstitution:
		return http.StatusBadRequest
	case Unauthorized, InvalidCredentials:
		return http.StatusUnauthorized
	case Forbidden, RecentLoginRequired, SecondFactorRequired, SecondPersonRequired:
		return http.StatusForbidden
	case NotFound, ResourceNotFound:
		return http.StatusNotFound
	case MethodNotAllowed:
		return http.StatusMethodNotAllowed
	case IdempotencyConflict:
		return http.StatusConflict
	case BodyTooLarge:
		return http.StatusRequestEntityTooLarge
	case RateLimited:
		return http.StatusTooManyRequests
	case Internal:
		return http.StatusInternalServerError
	case Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusUnprocessableEntity
}

// Fault is an error for the caller. Its message is sent unchanged.
type Fault struct {
	Code       Code
	Message    string
	Details    any
	RetryAfter time.Duration

	// Scope is the tenant in whose audit log a refusal is recorded. With Outside, it is the
	// tenant that the caller named.
	Scope Scope
	// Action and ResourceID are recorded for a refusal if the route does not determine them.
	Action, ResourceID string
	// Passing means that the error is temporary, if the code alone does not show that.
	Passing bool
	// NotMember means that the caller is not a member of the requested tenant, or that the
	// resource does not exist. Only the operator can read the refusal.
	NotMember bool
}

// Temporary reports whether the same request can succeed later. Temporary errors are failures of the
// server, rate limits, a key that is in use, and a login that is too old or lacks a second factor.
// Others are insufficient money, a frozen account, a used-up limit, and a bank or a rail that is
// unavailable.
func (f *Fault) Temporary() bool {
	switch f.Code {
	case RateLimited, IdempotencyConflict, RecentLoginRequired, SecondFactorRequired,
		InsufficientFunds, AccountFrozen, BankUnavailable, RailUnavailable, LimitExceeded:
		return true
	}
	return f.Passing || f.Code.Status() >= 500
}

// Scope names a workspace or an organization.
type Scope struct{ WorkspaceID, OrganizationID string }

func (f *Fault) Error() string { return string(f.Code) + ": " + f.Message }

// New makes a fault with a formatted message.
func New(code Code, format string, args ...any) *Fault {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Missing returns the fault for a resource that does not exist or that the caller may not
// see. The caller must not be able to distinguish the two.
func Missing(what string) *Fault { return New(ResourceNotFound, "%s not found", what) }

// Foreign is Missing for a caller who is not a member of the resource's tenant, whether or
// not the resource exists. Both cases do the same work, because the response time would
// reveal which it is.
func Foreign(what string, named Scope) *Fault {
	f := Missing(what)
	f.Scope, f.NotMember = named, true
	return f
}

// Replace replaces a fault with a code by another fault, and returns other errors
// unchanged. It drops the tenant that was looked up, because the caller may not have
// named it.
func Replace(err error, code Code, other *Fault) error {
	var f *Fault
	if errors.As(err, &f) && f.Code == code {
		replaced := *other
		replaced.NotMember = f.NotMember
		return &replaced
	}
	return err
}

// Denied returns the fault for a member who lacks a permission.
func Denied(permission string, scope Scope) *Fault {
	return &Fault{
		Code:    Forbidden,
		Message: "permission " + permission + " is required",
		Details: PermissionDetails{Permission: permission},
		Scope:   scope,
	}
}

// PermissionDetails contains the permission that a refused caller lacks.
type PermissionDetails struct {
	Permission string `json:"permission"`
}

// Limited returns the fault for a caller who has to wait.
func Limited(wait time.Duration) *Fault {
	return &Fault{Code: RateLimited, Message: "too many requests", RetryAfter: wait}
}

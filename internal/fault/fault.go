// Package fault holds the one error type that callers of Bursar see, and the one table
// from code to HTTP status.
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
	// SecondFactorRequired is for a person whose organization demands one.
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
	// ExternalIDTaken is for an entry whose id in another system another entry has.
	ExternalIDTaken Code = "EXTERNAL_ID_TAKEN"

	// ApprovalDecided is for an approval that is no longer pending, and ApprovalChanged for
	// one that is for something else than what was shown.
	ApprovalDecided Code = "APPROVAL_DECIDED"
	ApprovalChanged Code = "APPROVAL_CHANGED"
	// DuplicateEntry is for a new entry that may be a double of another, where those are refused.
	DuplicateEntry Code = "DUPLICATE_ENTRY"
	// EntryMerged is for an entry that was merged into another, which nobody can change any more.
	EntryMerged Code = "ENTRY_MERGED"
	// MergeChanged is for a merge that cannot be undone: what it made was changed since.
	MergeChanged Code = "MERGE_CHANGED"
	// MergeFinal is for one that is too old to be undone.
	MergeFinal Code = "MERGE_FINAL"
	// MethodNotPayable is for a receiving method that is not active, still cools, or whose payee is gone.
	MethodNotPayable Code = "METHOD_NOT_PAYABLE"
	// PayoutState is for a payout that is in another state than what was asked for needs.
	PayoutState Code = "PAYOUT_STATE"
	// ScreeningDenied is for a payout that the screening of the operator refuses.
	ScreeningDenied Code = "SCREENING_DENIED"
	// ImportNotHeld is for an import that was started, has ended or was given up.
	ImportNotHeld Code = "IMPORT_NOT_HELD"

	// Those of payments. Most of them also say why a payout has failed.
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
	// AccountNotEmpty is for an account that has money and cannot be closed.
	AccountNotEmpty Code = "ACCOUNT_NOT_EMPTY"
	// AccountGuarded is for a transfer by which money would come under weaker rules or limits.
	AccountGuarded Code = "ACCOUNT_GUARDED"
	// LimitExceeded is for a payout above a limit that the workspace has set itself.
	LimitExceeded Code = "LIMIT_EXCEEDED"
)

// Status is the table from code to HTTP status. A code that is not in it is a business
// rule, which is a 422.
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

// Fault is an error for the caller: its message is sent as it is.
type Fault struct {
	Code       Code
	Message    string
	Details    any
	RetryAfter time.Duration

	// Scope is the tenant in whose audit log a refusal is recorded or, with Outside, the one
	// that the caller named.
	Scope Scope
	// Action and ResourceID are what a refusal is recorded as, where the route does not tell.
	Action, ResourceID string
	// Passing says that the reason may go away by itself, where the code alone does not show that.
	Passing bool
	// Outside says that the caller does not belong to what they asked for, or that there
	// is no such thing. Only the operator reads of it.
	Outside bool
}

// MayPass says whether the same request can succeed later without being changed. A failure of the
// server, a rate limit, a key that is in use, a login that is too old or lacks a second factor, and
// money, an account, a bank or a rail that is not there just now may all pass.
func (f *Fault) MayPass() bool {
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

// Missing is the answer for something that does not exist or that the caller may not
// see: the caller must not be able to tell the two apart.
func Missing(what string) *Fault { return New(ResourceNotFound, "%s not found", what) }

// Foreign is Missing for somebody who does not belong to the tenant of what they asked for,
// whether or not that exists: the two do the same work, or the time would tell which it is.
func Foreign(what string, named Scope) *Fault {
	f := Missing(what)
	f.Scope, f.Outside = named, true
	return f
}

// Instead replaces a fault that has the code by another, and returns other errors as they
// are. It forgets which tenant was looked up, since the caller may not have named it.
func Instead(err error, code Code, other *Fault) error {
	var f *Fault
	if errors.As(err, &f) && f.Code == code {
		replaced := *other
		replaced.Outside = f.Outside
		return &replaced
	}
	return err
}

// Denied is the answer to a member who lacks a permission.
func Denied(permission string, scope Scope) *Fault {
	return &Fault{
		Code:    Forbidden,
		Message: "permission " + permission + " is required",
		Details: PermissionDetails{Permission: permission},
		Scope:   scope,
	}
}

// PermissionDetails names the permission that a refused caller lacks.
type PermissionDetails struct {
	Permission string `json:"permission"`
}

// Limited is the answer to a caller who has to wait.
func Limited(wait time.Duration) *Fault {
	return &Fault{Code: RateLimited, Message: "too many requests", RetryAfter: wait}
}

// Package fault contains the error type that callers of Bursar see. The table of its codes is [api.Codes].
package fault

import (
	"errors"
	"fmt"
	"time"

	"bursar/api"
)

// Fault is an error for the caller. Its message is sent unchanged.
type Fault struct {
	Code       api.Code
	Message    string
	Details    any
	RetryAfter time.Duration

	// Scope is the tenant in whose audit log a refusal is recorded. With NotMember, it is the
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

// Temporary reports whether the same request can succeed later.
func (f *Fault) Temporary() bool { return f.Passing || f.Code.Info().Temporary }

// Scope names a workspace or an organization.
type Scope struct{ WorkspaceID, OrganizationID string }

func (f *Fault) Error() string { return string(f.Code) + ": " + f.Message }

// New makes a fault with a formatted message.
func New(code api.Code, format string, args ...any) *Fault {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Missing returns the fault for a resource that does not exist or that the caller may not
// see. The caller must not be able to distinguish the two.
func Missing(what string) *Fault { return New(api.CodeNotFound, "%s not found", what) }

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
func Replace(err error, code api.Code, other *Fault) error {
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
		Code:    api.CodeForbidden,
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
	return &Fault{Code: api.CodeRateLimited, Message: "too many requests", RetryAfter: wait}
}

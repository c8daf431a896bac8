package access

import (
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/fault"
)

// recentLogin is how long after signing in a person may create credentials.
const recentLogin = 15 * time.Minute

// RequireRecentLogin returns an error if the caller is a person whose sign-in is too old for the operation. An unattended browser or a
// stolen token must not become permanent access. It accepts sessions of keys and machine clients. RequireAdministration protects operations
// of theirs that outlive them.
func RequireRecentLogin(by audit.Actor, now int64) error {
	if by.Type != audit.User || by.KeyID != "" || now-by.LoggedInAt < recentLogin.Milliseconds() {
		return nil
	}
	return fault.New(api.CodeRecentLoginRequired, "this needs a login of the last 15 minutes: log in again")
}

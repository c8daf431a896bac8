package access

import (
	"time"

	"bursar/internal/audit"
	"bursar/internal/fault"
)

// recentLogin is how long after signing in a person may make credentials.
const recentLogin = 15 * time.Minute

// RequireRecentLogin returns an error if the caller is a person who signed in too long ago
// for what they are about to do: an unattended browser or a stolen token must not become
// lasting access. It lets sessions of keys and machine clients pass; where what they make
// outlives them, RequireAdministration guards it.
func RequireRecentLogin(by audit.Actor, now int64) error {
	if by.Type != audit.User || by.KeyID != "" || now-by.LoggedInAt < recentLogin.Milliseconds() {
		return nil
	}
	return fault.New(fault.RecentLoginRequired, "this needs a login of the last 15 minutes: log in again")
}

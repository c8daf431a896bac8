package access

import (
	"time"

	"bursar/internal/audit"
	"bursar/internal/fault"
)

// recentLogin is how long after signing in a person may make credentials.
const recentLogin = 15 * time.Minute

// RequireRecentLogin returns an error if the caller is a person who signed in too long ago
// to make something that lets others in: whoever finds an unattended browser, or steals a
// token, must not be able to turn it into lasting access. A session that depends on a key
// needs no recent login, because what it makes depends on the key as well.
func RequireRecentLogin(by audit.Actor, now int64) error {
	if by.Type != audit.User || by.KeyID != "" || now-by.LoggedInAt < recentLogin.Milliseconds() {
		return nil
	}
	return fault.New(fault.RecentLoginRequired, "this needs a login of the last 15 minutes: log in again")
}

package access

import (
	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

var errSecondFactor = fault.New(api.CodeSecondFactorRequired,
	"your organization demands a second factor: sign in to the console with one, or set one up there, then log in again")

// RequireSecondFactor returns an error if the caller is a person whose organization requires a second factor and whose session has none. It
// protects changes of how they sign in, and of keys that are valid in that organization. There, the Authority refuses such a caller
// everything except leaving.
func RequireSecondFactor(by audit.Actor) error {
	if by.NeedsFactor {
		return errSecondFactor
	}
	return nil
}

// DemandsOn returns the names of a person's organizations that require a second factor.
func DemandsOn(q db.Q, userID string) ([]string, error) {
	return db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT name FROM organization
		WHERE require_second_factor = TRUE AND id IN (
			SELECT organization_id FROM organization_member WHERE account_id = $1
			UNION
			SELECT organization_id FROM live_member WHERE account_id = $1
			UNION
			SELECT home_org_id FROM account WHERE id = $1
		) ORDER BY name`, userID)
}

// HasFactor reports whether a person has a second factor: a passkey, an authenticator app or, if sso is set, a linked identity provider.
func HasFactor(q db.Q, userID string, sso bool) (bool, error) {
	sql := `SELECT account_id FROM passkey WHERE account_id = $1 UNION SELECT account_id FROM totp WHERE account_id = $1`
	if sso {
		sql += ` UNION SELECT account_id FROM sso_identity WHERE account_id = $1`
	}
	return q.Row(sql, userID).Scan(new(string))
}

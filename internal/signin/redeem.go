package signin

import (
	"context"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/mail"
	"bursar/internal/web"
)

var errSignInFirst = fault.New(api.CodeForbidden, "this account can already sign in: sign in to accept the invitation")

// opened returns a link that may set up a user.
func (s *Service) opened(ctx context.Context, link string) (opened identity.Opened, err error) {
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		opened, err = identity.FindLink(q, link, s.db.Now())
		return err
	})
	if err == nil && !opened.SetsUp {
		err = errSignInFirst
	}
	return opened, err
}

// setUp validates a link that is about to set up a user, and the user's new name.
func (s *Service) setUp(ctx context.Context, link, name string, more func(v *fault.Violations, email string)) (identity.Opened, error) {
	opened, err := s.opened(ctx, link)
	if err != nil {
		return opened, err
	}
	var v fault.Violations
	web.CheckText(&v, "name", name, 1, 100)
	more(&v, opened.Email)
	return opened, v.Err()
}

// redeem uses up a link and stores the new password or passkey. It ends every earlier session of the user. It notifies the owner if they
// could sign in before.
func (s *Service) redeem(ctx context.Context, by db.Caller, link, name string, opened identity.Opened, what mail.SecurityEvent,
	store func(tx *db.Tx, needsCode bool) error) (Proven, error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (Proven, audit.Event, error) {
		settled, err := tx.Row(`SELECT a.id FROM account a WHERE a.id = $1 AND (a.password_hash IS NOT NULL OR
			EXISTS (SELECT 1 FROM passkey p WHERE p.account_id = a.id) OR EXISTS (SELECT 1 FROM sso_identity i WHERE i.account_id = a.id))`,
			opened.UserID).Scan(new(string))
		if err != nil {
			return Proven{}, audit.Event{}, err
		}
		now, event, err := identity.RedeemLink(tx, link, name)
		if err == nil && (now.UserID != opened.UserID || !now.SetsUp) {
			err = errSignInFirst
		}
		if err != nil {
			return Proven{}, audit.Event{}, err
		}
		needsCode, err := tx.Row(`SELECT account_id FROM totp WHERE account_id = $1`, opened.UserID).Scan(new(string))
		if err == nil {
			err = store(tx, needsCode)
		}
		if err == nil {
			err = identity.RevokeSessions(tx, opened.UserID, "")
		}
		if err == nil && settled {
			err = s.notices.Notify(tx, by, opened.UserID, opened.Email, what, "")
		}
		proven := Proven{UserID: opened.UserID, Method: identity.ByLink, NeedsCode: needsCode}
		if err == nil {
			proven.Version, err = identity.CredentialVersion(tx.Q, opened.UserID)
		}
		return proven, event, err
	})
}

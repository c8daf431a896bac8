package identity

import (
	"errors"
	"time"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/mail"
)

// MailAccount creates the link with which a person sets up how they sign in, and mails it to them. No one else sees it.
func (l *Links) MailUser(tx *db.Tx, userID, email, madeBy string) (Link, error) {
	link, err := l.make(tx, newLink{userID: userID, madeBy: madeBy, mailed: true}, userLinkLife)
	if err != nil {
		return Link{}, err
	}
	err = l.mail.Queue(tx, mail.Accounts, mail.AccountLink{To: email, Link: link.URL, ExpiresAt: time.UnixMilli(link.ExpiresAt)}.Message())
	if errors.Is(err, mail.ErrFull) {
		err = &fault.Fault{Code: api.CodeRateLimited, Message: "the mail server is behind: try again in a moment", RetryAfter: mailPause}
	}
	return Link{ExpiresAt: link.ExpiresAt}, err
}

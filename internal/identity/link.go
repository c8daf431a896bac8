package identity

import (
	"context"
	"errors"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/budget"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity/credential"
	"bursar/internal/mail"
)

const (
	linkPrefix   = "bln_"
	userLinkLife = 24 * time.Hour
)

// Links creates links that work once: invitations, and account links that an operator gives to a person who cannot sign in.
type Links struct {
	publicURL string
	mail      *mail.Mailer
	budgets   *budget.Budgets
}

// NewLinks returns a Links for the server at publicURL. Without a mailer, links are only shown to the person who created them.
func NewLinks(publicURL string, m *mail.Mailer) *Links { return &Links{publicURL: publicURL, mail: m} }

// Limit sets the budgets of mailed invitations.
func (l *Links) Limit(b *budget.Budgets) *Links {
	l.budgets = b
	return l
}

// Limits of mailed invitations. An address can be invited to several workspaces at once, and a caller can invite a whole department. No
// organization or caller can use up all invitations that an address may receive, so they cannot prevent another organization from inviting
// it.
var (
	mailPair = budget.Kind{Name: "invitations mailed, by recipient and organization or caller", Burst: 10, Every: 6 * time.Minute}
	mailTo   = budget.Kind{Name: "invitations mailed, by recipient", Burst: 30, Every: 2 * time.Minute}
	mailBy   = budget.Kind{Name: "invitations mailed, by caller", Burst: 100, Every: 36 * time.Second}
)

// Mails reports whether invitations are sent by mail.
func (l *Links) Mails() bool { return l.mail.Configured() }

// Link is a new link. URL is shown to the person who created it. It is empty if the link is mailed, because a link that only the mailbox
// has seen proves access to the mailbox.
type Link struct {
	URL       string
	ExpiresAt int64
}

// mailPause is how long to wait before a full mail queue may have room again.
const mailPause = 30 * time.Second

// Invite creates the link with which a user accepts an invitation to a workspace. Earlier links for the same invitation stop working.
// If invitations are mailed, the link goes only to the mailbox. Invite then fails if the mail queue is full, or if the recipient or the
// caller has reached a limit.
func (l *Links) Invite(tx *db.Tx, by db.Caller, userID, email, workspaceID string) (Link, error) {
	n := newLink{userID: userID, workspaceID: workspaceID, madeBy: by.Name, madeByID: by.ID, madeByKeyID: by.KeyID, mailed: l.Mails()}
	link, err := l.make(tx, n, access.InvitationLifetime)
	if err != nil || !n.mailed {
		return link, err
	}
	var organizationID string
	message := mail.Invitation{To: email, Inviter: by.Name, Link: link.URL, ExpiresAt: time.UnixMilli(link.ExpiresAt)}
	if _, err := tx.Row(`SELECT w.name, o.name, o.id FROM workspace w JOIN organization o ON o.id = w.organization_id WHERE w.id = $1`, workspaceID).
		Scan(&message.Workspace, &message.Organization, &organizationID); err != nil {
		return Link{}, err
	}
	uses := []budget.Use{mailPair.Of(email + " " + organizationID), mailPair.Of(email + " " + by.ID), mailTo.Of(email), mailBy.Of(by.ID)}
	if err := l.budgets.Take(tx, uses...); err != nil {
		return Link{}, err
	}
	err = l.mail.Queue(tx, mail.Invitations, message.Message())
	if errors.Is(err, mail.ErrFull) {
		err = &fault.Fault{Code: api.CodeRateLimited, Message: "the mail server is behind: try again in a moment", RetryAfter: mailPause}
	}
	return Link{ExpiresAt: link.ExpiresAt}, err
}

// User creates the link with which a person sets up how they sign in. Using it revokes their API keys, because someone else may have
// created some, unless keepKeys is set.
func (l *Links) User(tx *db.Tx, userID, madeBy string, keepKeys bool) (Link, error) {
	return l.make(tx, newLink{userID: userID, madeBy: madeBy, keepKeys: keepKeys}, userLinkLife)
}

// madeByRecovery marks recovery links, which anyone can request for an address. They do not invalidate other links.
const madeByRecovery = "recovery"

// recoveryPause is the minimum time between two recovery links for a user. Otherwise a stranger could flood the mailbox, or invalidate
// the link that its owner is about to use.
const recoveryPause = 15 * time.Minute

// Recover creates a link and mails it to the user's address, unless a recent one is still unused. If the mail queue is full it creates
// none, because an unsent link would block the next one.
func (l *Links) Recover(tx *db.Tx, userID, email string) (made bool, err error) {
	now := tx.Now()
	young, err := tx.Row(`SELECT id FROM account_link WHERE account_id = $1 AND made_by = $2 AND used_at IS NULL AND created_at > $3
			AND credential_version = (SELECT credential_version FROM account WHERE id = $1)`,
		userID, madeByRecovery, now-recoveryPause.Milliseconds()).Scan(new(string))
	if err != nil || young {
		return false, err
	}
	if err := tx.Exec(`UPDATE account_link SET used_at = $3 WHERE account_id = $1 AND made_by = $2 AND used_at IS NULL`,
		userID, madeByRecovery, now); err != nil {
		return false, err
	}
	expires := now + userLinkLife.Milliseconds()
	url, err := l.store(tx, newLink{userID: userID, madeBy: madeByRecovery, mailed: true, expiresAt: expires})
	if err != nil {
		return false, err
	}
	return true, l.mail.Queue(tx, mail.Accounts, mail.AccountLink{To: email, Link: url, ExpiresAt: time.UnixMilli(expires)}.Message())
}

// newLink is a link to store.
type newLink struct {
	userID      string
	workspaceID string // empty for a link to set up a user
	madeBy      string
	madeByID    string // the person who invites
	madeByKeyID string // the key that the inviting session depends on
	mailed      bool
	keepKeys    bool
	expiresAt   int64
}

func (l *Links) make(tx *db.Tx, n newLink, life time.Duration) (Link, error) {
	if err := EndLinks(tx, n.userID, n.workspaceID); err != nil {
		return Link{}, err
	}
	n.expiresAt = tx.Now() + life.Milliseconds()
	link := Link{ExpiresAt: n.expiresAt}
	var err error
	link.URL, err = l.store(tx, n)
	return link, err
}

func (l *Links) store(tx *db.Tx, n newLink) (url string, err error) {
	secret := credential.New(linkPrefix)
	return l.publicURL + "/invite/" + secret, tx.Exec(`INSERT INTO account_link (id, account_id, workspace_id, hash, mailed, made_by, made_by_id, made_by_key_id, keep_keys, credential_version, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, (SELECT credential_version FROM account WHERE id = $2), $10, $11)`,
		tx.NewID("lnk"), n.userID, db.NullText(n.workspaceID), credential.Hash(secret), n.mailed, n.madeBy, db.NullText(n.madeByID), db.NullText(n.madeByKeyID), n.keepKeys, tx.Now(), n.expiresAt)
}

// EndLinks ends the links of a user's invitation to a workspace. If the workspace is empty, it ends the links that set up the user.
func EndLinks(tx *db.Tx, userID, workspaceID string) error {
	return tx.Exec(`UPDATE account_link SET used_at = $3 WHERE account_id = $1 AND COALESCE(workspace_id, '') = $2 AND used_at IS NULL`,
		userID, workspaceID, tx.Now())
}

// EndInvitationsBy ends what a user has sent: the invitations that it made and no one has accepted, and the links of others that it was
// shown or had mailed. The caller has locked the user. It returns the audit rows. because says why.
func EndInvitationsBy(tx *db.Tx, userID, because string) (events []audit.Event, err error) {
	if err := tx.Exec(`UPDATE account_link SET used_at = $2 WHERE made_by_id = $1 AND used_at IS NULL`, userID, tx.Now()); err != nil {
		return nil, err
	}
	return voidInvitationsBy(tx, userID, false, because)
}

func voidInvitationsBy(tx *db.Tx, userID string, withKeys bool, because string) (events []audit.Event, err error) {
	voided, err := access.VoidInvitationsBy(tx, userID, withKeys)
	for _, one := range voided {
		events = append(events, voidedEvent(one, because))
	}
	return events, err
}

// Opened describes the purpose of a link.
type Opened struct {
	UserID       string
	Email        string
	Name         string
	Workspace    string // empty for a link to set up a user
	Organization string
	Inviter      string
	ExpiresAt    int64
	// SetsUp means that the holder of the link chooses how the user signs in. A person who can already sign in does so to accept an
	// invitation.
	SetsUp bool
	// Replaces means that the user could already sign in, with credentials set up by someone who did not prove ownership of the address.
	// Setting it up again ends those credentials.
	Replaces bool
	// SecondFactor means that the user needs a code after the password.
	SecondFactor bool
	// Roles are the roles of an invitation. Only OpenLink sets them.
	Roles []access.Role

	workspaceID    string
	organizationID string
	status         string // of the user
	mailed         bool
	keepKeys       bool
}

var errDeadLink = fault.New(api.CodeNotFound, "this link has been used, has expired or does not exist")

// OpenLink returns the purpose of a link without using it up.
func (s *Service) OpenLink(ctx context.Context, secret string) (Opened, error) {
	var o Opened
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		if o, err = FindLink(q, secret, s.db.Now()); err == nil && o.workspaceID != "" {
			o.Roles, err = access.RolesOf(q, o.workspaceID, o.UserID)
		}
		return err
	})
	return o, err
}

// FindLink returns the purpose of a link, if it is still valid. A link that was shown to a session of a key ends with the key, like
// everything such a session creates.
func FindLink(q db.Q, secret string, now int64) (Opened, error) {
	var o Opened
	var proof, totp, maker string
	if !credential.WellFormed(linkPrefix, secret) {
		return o, errDeadLink
	}
	found, err := q.Row(`SELECT l.account_id, a.email, a.name, a.status, a.email_proof, l.mailed, l.keep_keys, l.expires_at, l.workspace_id, w.name, w.organization_id, o.name,
			l.made_by, l.made_by_id, t.account_id
		FROM account_link l JOIN account a ON a.id = l.account_id
		LEFT JOIN workspace_member m ON m.workspace_id = l.workspace_id AND m.account_id = l.account_id AND m.accepted = FALSE
		LEFT JOIN workspace w ON w.id = m.workspace_id LEFT JOIN organization o ON o.id = w.organization_id
		LEFT JOIN totp t ON t.account_id = l.account_id LEFT JOIN api_key k ON k.id = l.made_by_key_id
		WHERE l.hash = $1 AND l.used_at IS NULL AND l.expires_at > $2 AND a.status <> 'disabled'
			AND CASE WHEN l.workspace_id IS NULL THEN l.credential_version = a.credential_version ELSE m.workspace_id IS NOT NULL END
			AND (l.mailed = TRUE OR k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $2))`, credential.Hash(secret), now).
		Scan(&o.UserID, &o.Email, &o.Name, &o.status, &proof, &o.mailed, &o.keepKeys, &o.ExpiresAt, &o.workspaceID, &o.Workspace, &o.organizationID, &o.Organization,
			&o.Inviter, &maker, &totp)
	if err == nil && found && maker != "" && !o.mailed {
		found, err = mayStillInvite(q, maker, o)
	}
	if err == nil && !found {
		err = errDeadLink
	}
	// A mailed link takes the user from a person who set it up without proving ownership of the address.
	o.Replaces = o.workspaceID != "" && o.mailed && o.status == statusActive && proof != provenToAll
	o.SetsUp = o.workspaceID == "" || o.status == statusInvited || o.Replaces
	o.SecondFactor = totp != "" && !o.Replaces
	return o, err
}

// mayStillInvite reports whether the person who was shown the link of an invitation could still create it. Otherwise someone who was
// removed, or lost a role, could return through it as the invited person.
func mayStillInvite(q db.Q, makerID string, o Opened) (bool, error) {
	active, err := q.Row(`SELECT a.id FROM live_member l JOIN account a ON a.id = l.account_id
		WHERE l.workspace_id = $1 AND l.account_id = $2 AND a.status = 'active'`, o.workspaceID, makerID).Scan(new(string))
	if err != nil || !active {
		return false, err
	}
	held, err := access.HeldBy(q, o.workspaceID, makerID)
	if err != nil {
		return false, err
	}
	promised, err := access.HeldBy(q, o.workspaceID, o.UserID)
	_, lacks := held.Lacks(promised | access.SetOf(access.MembersWrite))
	return !lacks, err
}

// redeem marks a link as used, and all other links of the same purpose with it.
func redeem(tx *db.Tx, secret string) (Opened, error) {
	// Lock the workspace, then the user, in the usual order. So two links cannot be redeemed at the same time, nor a link while its
	// invitation ends.
	var workspaceID, userID string
	if _, err := tx.Row(`SELECT workspace_id, account_id FROM account_link WHERE hash = $1`, credential.Hash(secret)).Scan(&workspaceID, &userID); err != nil {
		return Opened{}, err
	}
	if workspaceID != "" {
		if _, _, err := access.LockMembers(tx, workspaceID); err != nil {
			return Opened{}, err
		}
	}
	if _, err := tx.Row(`UPDATE account SET name = name WHERE id = $1 RETURNING id`, userID).Scan(new(string)); err != nil {
		return Opened{}, err
	}
	o, err := FindLink(tx.Q, secret, tx.Now())
	if err != nil {
		return o, err
	}
	first, err := tx.Row(`UPDATE account_link SET used_at = $2 WHERE hash = $1 AND used_at IS NULL RETURNING id`,
		credential.Hash(secret), tx.Now()).Scan(new(string))
	if err == nil && !first {
		err = errDeadLink
	}
	if err != nil {
		return o, err
	}
	return o, EndLinks(tx, o.UserID, o.workspaceID)
}

// acceptMembership makes the invited person a member, and returns the audit event.
func (o Opened) acceptMembership(tx *db.Tx) (audit.Event, error) {
	if o.workspaceID != "" {
		if err := access.Accept(tx, o.workspaceID, o.UserID); err != nil {
			return audit.Event{}, err
		}
	}
	actor, err := findActor(tx.Q, o.UserID, "")
	if o.workspaceID != "" {
		return audit.Event{Action: audit.MemberAccepted, WorkspaceID: o.workspaceID, ResourceID: o.UserID, Actor: &actor,
			Description: o.Email + " accepted the invitation", Changes: access.Accepted()}, err
	}
	return audit.Event{Action: audit.UserRecovered, OrganizationID: actor.HomeOrgID, ResourceID: o.UserID, Actor: &actor,
		Description: o.Email + " used a link to set up how they sign in"}, err
}

// RedeemLink uses up a link that sets up a user. It completes the user, accepts the invitation, and returns the audit event. The
// caller stores the new password or passkey in the same transaction.
func RedeemLink(tx *db.Tx, secret, name string) (Opened, audit.Event, error) {
	o, err := redeem(tx, secret)
	if err != nil {
		return o, audit.Event{}, err
	}
	// A link from an operator or by mail verifies the address. A link that was shown to someone else does not: it opens only its workspace.
	var changed string
	var ended []audit.Event
	if o.mailed || o.workspaceID == "" {
		if changed, ended, err = markEmailVerified(tx, o.UserID); err != nil {
			return o, audit.Event{}, err
		}
	}
	if err := tx.Exec(`UPDATE account SET status = 'active', name = $2, email_proof = CASE WHEN email_proof = '' THEN $3 ELSE email_proof END
		WHERE id = $1 AND status <> 'disabled'`, o.UserID, name, o.organizationID); err != nil {
		return o, audit.Event{}, err
	}
	event, err := o.acceptMembership(tx)
	if err != nil {
		return o, event, err
	}
	if changed != "" {
		event.Description += ", which " + changed
	}
	if o.workspaceID == "" { // a workspace must not learn the earlier state of the account
		event.Changes.Add("name", o.Name, name)
		event.Changes.Add("status", o.status, statusActive)
		event.Changes.Add("email_verified", changed == "", true)
	}
	if o.workspaceID == "" && !o.keepKeys {
		revoked, more, err := RevokeKeys(tx, o.UserID)
		if err != nil {
			return o, event, err
		}
		if ended = append(ended, more...); revoked {
			event.Description += "; their API keys were revoked"
		}
	}
	return o, event.And(ended...), nil
}

// Accept accepts an invitation for the signed-in caller. It does not change how the
// user signs in.
func (s *Service) Accept(ctx context.Context, by db.Caller, secret string) (workspaceID string, err error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (string, audit.Event, error) {
		o, err := redeem(tx, secret)
		if err == nil && (o.UserID != by.ID || o.SetsUp) {
			err = errDeadLink
		}
		if err == nil {
			err = RequireSession(tx, by)
		}
		if err != nil {
			return "", audit.Event{}, err
		}
		event, err := o.acceptMembership(tx)
		return o.workspaceID, event, err
	})
}

// WorkspaceID returns the workspace that a link invites to.
func (o Opened) WorkspaceID() string { return o.workspaceID }

// CreateLink creates a link for an operator to hand to the person with an email address, who sets up how they sign in with it. Using it
// revokes their API keys, unless keepKeys is set.
func (s *Service) CreateLink(ctx context.Context, by db.Caller, links *Links, email string, keepKeys bool) (Link, error) {
	var link Link
	_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (string, audit.Event, error) {
		var id, org string
		found, err := tx.Row(`UPDATE account SET name = name WHERE email = $1 AND email <> '' AND status <> 'disabled' RETURNING id, home_org_id`,
			NormalizeEmail(email)).Scan(&id, &org)
		if err == nil && !found {
			err = fault.Missing("active user " + email)
		}
		if err == nil {
			link, err = links.User(tx, id, by.Name, keepKeys)
		}
		if err == nil {
			org, err = access.AuditOrganization(tx.Q, org)
		}
		return id, audit.Event{Action: audit.LinkCreated, OrganizationID: org, ResourceID: id,
			Description: "Made a link for " + NormalizeEmail(email) + " to set up how they sign in"}, err
	})
	return link, err
}

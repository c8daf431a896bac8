package signin

import (
	"context"
	"strings"

	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/web"
)

// Factors are the ways in which a person can sign in.
type Factors struct {
	HasPassword   bool
	Passkeys      []PasskeyInfo
	TOTPSince     int64    // 0 if it is off
	RecoveryCodes int      // unused codes
	Provider      bool     // the identity provider is linked to the person
	DemandedBy    []string // the person's organizations that require a second factor
}

// PasskeyInfo is a passkey as shown to its owner.
type PasskeyInfo struct {
	ID         string
	Name       string
	CreatedAt  int64
	LastUsedAt int64
}

// Factors returns the ways in which the caller can sign in.
func (s *Service) Factors(ctx context.Context, by db.Caller) (Factors, error) {
	var f Factors
	err := s.db.Read(ctx, func(q db.Q) error {
		if err := q.Snapshot(); err != nil {
			return err
		}
		var hash string
		if _, err := q.Row(`SELECT a.password_hash, t.created_at FROM account a LEFT JOIN totp t ON t.account_id = a.id WHERE a.id = $1`, by.ID).
			Scan(&hash, &f.TOTPSince); err != nil {
			return err
		}
		f.HasPassword = hash != ""
		var err error
		if f.Passkeys, err = db.Collect(q, func(r db.Rows) PasskeyInfo {
			return PasskeyInfo{ID: r.Text(0), Name: r.Text(1), CreatedAt: r.Int(2), LastUsedAt: r.Int(3)}
		}, `SELECT id, name, created_at, last_used_at FROM passkey WHERE account_id = $1 ORDER BY id`, by.ID); err != nil {
			return err
		}
		if _, err = q.Row(`SELECT count(*) FROM recovery_code WHERE account_id = $1 AND used_at IS NULL`, by.ID).Scan(&f.RecoveryCodes); err != nil {
			return err
		}
		if s.provider != nil {
			if f.Provider, err = q.Row(`SELECT account_id FROM sso_identity WHERE account_id = $1`, by.ID).Scan(new(string)); err != nil {
				return err
			}
		}
		f.DemandedBy, err = access.DemandsOn(q, by.ID)
		return err
	})
	return f, err
}

// Rename changes the caller's name.
func (s *Service) Rename(ctx context.Context, by db.Caller, name string) error {
	var v fault.Violations
	name = strings.TrimSpace(name)
	web.CheckText(&v, "name", name, 1, 100)
	if err := v.Err(); err != nil {
		return err
	}
	_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		var before string
		found, err := tx.Row(`UPDATE account SET name = name WHERE id = $1 RETURNING name`, by.ID).Scan(&before)
		if err != nil || !found || before == name {
			return struct{}{}, audit.None("nothing changed"), err
		}
		event := audit.Event{Action: audit.UserRenamed, ResourceID: by.ID, Description: "Changed their name to " + name}
		event.Changes.Add("name", before, name)
		return struct{}{}, event, identity.Rename(tx, by.ID, name)
	})
	return err
}

// Reset removes every way to sign in as a user and ends its sessions, and the invitations that it made, on an operator's behalf. It is for a person who has lost access
// or whose credentials were compromised. It revokes the user's API keys, unless keepKeys is set, and creates a link to set up the user
// again. The identity provider may then link a new person to the address.
func (s *Service) Reset(ctx context.Context, by db.Caller, email string, keepKeys bool) (identity.Link, error) {
	var link identity.Link
	_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (_ struct{}, event audit.Event, err error) {
		link, event, err = s.ResetIn(tx, email, keepKeys, func(tx *db.Tx, userID, _ string) (identity.Link, error) {
			return s.links.User(tx, userID, by.Name, keepKeys)
		})
		return struct{}{}, event, err
	})
	return link, err
}

// ResetIn is Reset in a transaction. send creates the link for the user with its address.
func (s *Service) ResetIn(tx *db.Tx, email string, keepKeys bool, send func(tx *db.Tx, userID, email string) (identity.Link, error)) (link identity.Link, event audit.Event, err error) {
	p, err := findPerson(tx.Row(personColumns+`a.email = $1 AND a.email <> ''`, identity.NormalizeEmail(email)))
	if err == nil && (p.status == "" || p.status == "disabled") {
		err = fault.Missing("active user " + email)
	}
	if err != nil {
		return link, event, err
	}
	event = audit.Event{Action: audit.FactorsReset, ResourceID: p.actor.ID, Description: "Removed every way to sign in from " + p.actor.Email}
	if err := lockPerson(tx, p.actor.ID); err != nil {
		return link, event, err
	}
	if err := identity.DeleteFactors(tx, p.actor.ID); err != nil {
		return link, event, err
	}
	if err := tx.Exec(`DELETE FROM sso_identity WHERE account_id = $1`, p.actor.ID); err != nil {
		return link, event, err
	}
	ended, err := identity.EndInvitationsBy(tx, p.actor.ID, "the sign-in methods of the person who made it were reset")
	if err != nil {
		return link, event, err
	}
	if keepKeys {
		event.Description += " except API keys"
	} else if _, _, err := identity.RevokeKeys(tx, p.actor.ID); err != nil {
		return link, event, err
	}
	if err := identity.RevokeSessions(tx, p.actor.ID, ""); err != nil {
		return link, event, err
	}
	if event.OrganizationID, err = access.AuditOrganization(tx.Q, p.actor.HomeOrgID); err != nil {
		return link, event, err
	}
	link, err = send(tx, p.actor.ID, p.actor.Email)
	return link, event.And(ended...), err
}

// Package signin lets people in at a browser: by passkey, by password with an
// optional second factor, by a company's identity provider, or by a link that
// somebody made for them. Machines and command lines are package identity's.
package signin

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"runtime"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/limit"
)

// Config is what an operator can set about signing in.
type Config struct {
	PublicURL string
	Provider  Provider
	LimitsOff bool
}

// Service lets people in.
type Service struct {
	db       *db.DB
	links    *identity.Links
	passkeys *webauthn.WebAuthn // nil where browsers allow none
	provider *provider          // nil where none is configured
	hasher   *hasher

	recoveries chan recovery

	accounts  *limit.Buckets // attempts, by the address that was typed
	addresses *limit.Buckets // attempts, by network address
	mailboxes *limit.Buckets // links that are mailed, by the address that was typed
}

// New makes the service.
func New(d *db.DB, links *identity.Links, c Config) (*Service, error) {
	s := &Service{db: d, links: links, hasher: newHasher(runtime.GOMAXPROCS(0)), provider: newProvider(c, d.Now),
		recoveries: make(chan recovery, maxRecoveries)}
	if !c.LimitsOff {
		s.accounts = limit.New(1.0/60, 10, time.Now)
		s.addresses = limit.New(30.0/60, 30, time.Now)
		s.mailboxes = limit.New(3.0/3600, 3, time.Now)
	}
	public, err := url.Parse(c.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("read the public URL: %w", err)
	}
	// Browsers make passkeys for names only, not for addresses.
	if _, err := netip.ParseAddr(public.Hostname()); err == nil || public.Hostname() == "" {
		return s, nil
	}
	s.passkeys, err = webauthn.New(&webauthn.Config{
		RPID:                  public.Hostname(),
		RPDisplayName:         "Bursar",
		RPOrigins:             []string{public.Scheme + "://" + public.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey:      protocol.ResidentKeyRequirementRequired,
			UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("prepare passkeys for %s: %w", c.PublicURL, err)
	}
	return s, nil
}

// TakesPasskeys says whether passkeys can be used at the server's address.
func (s *Service) TakesPasskeys() bool { return s.passkeys != nil }

// Proven is how somebody has shown who they are, and who they are.
type Proven struct {
	AccountID string
	Method    identity.Method
	// NeedsCode says that a second factor is to follow.
	NeedsCode bool
}

// person is an account as it signs in.
type person struct {
	actor        audit.Actor
	status       string
	passwordHash string
	hasTOTP      bool
}

const personColumns = `SELECT a.id, a.email, a.name, a.home_org_id, a.status, a.password_hash, t.account_id
	FROM account a LEFT JOIN totp t ON t.account_id = a.id WHERE a.kind = 'person' AND `

func findPerson(row db.Row) (p person, err error) {
	p.actor.Type = audit.User
	var totp string
	_, err = row.Scan(&p.actor.ID, &p.actor.Email, &p.actor.Name, &p.actor.HomeOrgID, &p.status, &p.passwordHash, &totp)
	p.hasTOTP = totp != ""
	return p, err
}

func (s *Service) byEmail(ctx context.Context, email string) (p person, err error) {
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		p, err = findPerson(q.Row(personColumns+`a.email = $1 AND a.email <> ''`, identity.NormalizeEmail(email)))
		return err
	})
	return p, err
}

func (s *Service) byID(ctx context.Context, id string) (p person, err error) {
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		p, err = findPerson(q.Row(personColumns+`a.id = $1`, id))
		return err
	})
	return p, err
}

// maxBucketKey bounds what is remembered of an address that somebody typed.
const maxBucketKey = 300

// attempt spends one of the tries that an account and an address have, whether
// it will succeed or not: guesses that run side by side count too. What cannot be
// guessed names no account.
func (s *Service) attempt(by db.Caller, account string) error {
	account = account[:min(len(account), maxBucketKey)]
	verdict := s.addresses.Take(limit.Address(by.IP))
	if verdict.OK && account != "" {
		verdict = s.accounts.Take(account)
	}
	if !verdict.OK {
		return fault.Limited(verdict.Wait)
	}
	return nil
}

// fail records an attempt that did not succeed and tells nothing about why.
func (s *Service) fail(ctx context.Context, by db.Caller, who audit.Actor, why string, refused *fault.Fault) error {
	who.Type = audit.User
	event := audit.Event{Action: audit.LoginFailed, Outcome: audit.Failure, Actor: &who, Description: "Sign-in failed: " + why}
	if err := db.Record(context.WithoutCancel(ctx), s.db, by, event, nil); err != nil {
		return err
	}
	return refused
}

// lockPerson keeps others from changing how somebody signs in until the end of
// the transaction.
func lockPerson(tx *db.Tx, id string) error {
	live, err := tx.Row(`UPDATE account SET name = name WHERE id = $1 AND status <> 'disabled' RETURNING id`, id).Scan(new(string))
	if err == nil && !live {
		err = fault.Missing("account")
	}
	return err
}

// Package signin signs people in at a browser: by passkey, by password with an optional
// second factor, by a company's identity provider, or by a link. Package identity
// authenticates machines and command lines.
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
	"bursar/internal/budget"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/limit"
	"bursar/internal/mail"
	"bursar/internal/vault"
)

// Config contains an operator's settings of sign-ins.
type Config struct {
	PublicURL string
	Provider  Provider
	LimitsOff bool
	Notices   *identity.Notices  // nil if people are not notified by mail of changes to their credentials
	Failures  *identity.Failures // nil if unrecorded failures are not counted
	// HashMemory is the memory of a password hash in KiB. No flag sets it: 0 is right for every server. Tests with hundreds of sign-ins use
	// less.
	HashMemory uint32
}

// Service signs people in.
type Service struct {
	db       *db.DB
	vault    *vault.Vault
	links    *identity.Links
	passkeys *webauthn.WebAuthn // nil if browsers do not allow passkeys at this address
	provider *provider          // nil if none is configured
	hasher   *hasher
	notices  *identity.Notices

	recoveries chan recovery

	budgets  *budget.Budgets
	failures *identity.Failures
}

// Limits of sign-in attempts.
var (
	byAddress = budget.Kind{Name: "sign-ins, by address", Burst: 30, Every: 2 * time.Second}
	// A network has more than enough addresses to evade byAddress.
	byNetwork = budget.Kind{Name: "sign-ins, by network", Burst: 300, Every: 200 * time.Millisecond}
	passwords = budget.Kind{Name: "passwords, by the address that was typed", Burst: 10, Every: time.Minute}
	codes     = budget.Kind{Name: "codes, by account", Burst: 10, Every: time.Minute}
	mailboxes = budget.Kind{Name: "recovery mail, by the address that was typed", Burst: 3, Every: 20 * time.Minute}
)

// New returns the service.
func New(d *db.DB, v *vault.Vault, links *identity.Links, c Config) (*Service, error) {
	s := &Service{db: d, vault: v, links: links, hasher: newHasher(runtime.GOMAXPROCS(0), c.HashMemory), provider: newProvider(c, d.Now), notices: c.Notices,
		recoveries: make(chan recovery, maxRecoveries)}
	if !c.LimitsOff {
		s.budgets = budget.New(d)
	}
	if s.failures = c.Failures; s.failures == nil {
		s.failures = identity.NewFailures(d, s.budgets)
	}
	public, err := url.Parse(c.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("read the public URL: %w", err)
	}
	// Browsers register passkeys for host names only, not for IP addresses.
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

// TakesPasskeys reports whether passkeys can be used at the server's address.
func (s *Service) TakesPasskeys() bool { return s.passkeys != nil }

// Proven is a person who has signed in, and how.
type Proven struct {
	UserID string
	Method identity.Method
	// SecondFactor means that they used one: a code, a passkey, or what the identity provider requires.
	SecondFactor bool
	// NeedsCode means that the second factor is still missing.
	NeedsCode bool
	// Version is that of the user's sign-in methods when they were used. A sign-in ends if they change before its session begins.
	Version int64
}

// person is a user during a sign-in.
type person struct {
	actor        audit.Actor
	status       string
	passwordHash string
	hasTOTP      bool
	version      int64 // of the sign-in methods
}

const personColumns = `SELECT a.id, a.email, a.name, a.home_org_id, a.status, a.password_hash, a.credential_version, t.account_id
	FROM account a LEFT JOIN totp t ON t.account_id = a.id WHERE a.kind = 'person' AND `

func findPerson(row db.Row) (p person, err error) {
	p.actor.Type = audit.User
	var totp string
	_, err = row.Scan(&p.actor.ID, &p.actor.Email, &p.actor.Name, &p.actor.HomeOrgID, &p.status, &p.passwordHash, &p.version, &totp)
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

// attempt uses up an attempt of a network address and of each guess. It does so before the result is known, so that parallel guesses count
// too. Credentials that cannot be guessed have no budget of their own.
func (s *Service) attempt(ctx context.Context, by db.Caller, guess ...budget.Use) error {
	return s.budgets.Spend(ctx, append(guess, byAddress.Of(limit.Address(by.IP)), byNetwork.Of(limit.Network(by.IP)))...)
}

// fail records a failed attempt. The caller does not learn why it failed.
func (s *Service) fail(ctx context.Context, by db.Caller, who audit.Actor, why string, refused *fault.Fault) error {
	who.Type = audit.User
	event := audit.Event{Action: audit.LoginFailed, Outcome: audit.Failure, Actor: &who, Description: "Sign-in failed: " + why}
	if err := s.failures.Record(ctx, by, event); err != nil {
		return err
	}
	return refused
}

// notify notifies the caller of a change to their credentials, unless the change fails.
func (s *Service) notify(tx *db.Tx, by db.Caller, err error, what mail.SecurityEvent, name string) error {
	if err != nil {
		return err
	}
	return s.notices.Notify(tx, by, by.ID, by.Email, what, name)
}

// lockPerson locks a person's sign-in methods until the end of the transaction.
func lockPerson(tx *db.Tx, id string) error {
	live, err := tx.Row(`UPDATE account SET name = name WHERE id = $1 AND status <> 'disabled' RETURNING id`, id).Scan(new(string))
	if err == nil && !live {
		err = fault.Missing("account")
	}
	return err
}

// lockCaller is lockPerson for a caller who changes their sign-in methods. Their session may have ended since it was authenticated.
func lockCaller(tx *db.Tx, by db.Caller) error {
	if err := lockPerson(tx, by.ID); err != nil {
		return err
	}
	return identity.RequireSession(tx, by)
}

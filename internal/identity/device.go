package identity

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity/credential"
	"bursar/internal/limit"
	"bursar/internal/token"
)

const (
	codeLength   = 6
	codeLifetime = 600 * time.Second
	// codeMemory is how long a finished code still returns its final status.
	codeMemory   = time.Hour
	pollInterval = 5

	codePending  = "pending"
	codeApproved = "approved"
	codeConsumed = "consumed"
	codeDenied   = "denied"
	codeExpired  = "expired"
)

// deviceCode is a login that a command line requested.
type deviceCode struct {
	code      string
	id        string // used in the audit log, because the code itself gives access to the token
	intent    string
	challenge string
	ip        string
	agent     string
	status    string
	accountID string
	keyID     string
	factor    bool   // the approver had used a second factor
	approved  int64  // time of the approval
	version   int64  // of the approver's sign-in methods
	outdated  bool   // they have changed since
	networks  string // networks of the key, if it is limited to some
	createdAt int64
	expiresAt int64
	finished  int64
}

// stateAt returns the status at a time. gone means that the code is so old that it is treated as unknown.
func (c deviceCode) stateAt(now int64) (status string, gone bool) {
	if status = c.status; status == codeApproved && c.outdated {
		status = codeDenied
	}
	end := c.finished
	if c.finished == 0 {
		end = c.expiresAt
		if now >= c.expiresAt {
			status = codeExpired
		}
	}
	return status, now >= end+codeMemory.Milliseconds()
}

// NewDeviceCode starts a device login.
func (s *Service) NewDeviceCode(ctx context.Context, by db.Caller, in DeviceInput) (api.DeviceCode, error) {
	if err := s.budgets.Spend(ctx, newCodes.Of(limit.Address(by.IP)), newCodesOfNetwork.Of(limit.Network(by.IP))); err != nil {
		return api.DeviceCode{}, err
	}
	c := deviceCode{intent: "login", ip: by.IP, status: codePending}
	if in.Intent != nil && *in.Intent != "" {
		c.intent = *in.Intent
	}
	if in.CodeChallenge != nil {
		c.challenge = *in.CodeChallenge
	}
	if in.Agent != nil {
		c.agent = shorten(*in.Agent, maxAgent)
	}
	c, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (deviceCode, audit.Event, error) {
		c.createdAt = tx.Now()
		c.expiresAt = (c.createdAt + codeLifetime.Milliseconds()) / 1000 * 1000
		made, err := insertCode(tx, c)
		return made, audit.None("a device code is not an action until somebody approves or denies it"), err
	})
	if err != nil {
		return api.DeviceCode{}, err
	}
	return api.DeviceCode{
		Code:            c.code,
		VerificationURL: s.config.PublicURL + "/device?code=" + url.QueryEscape(c.code),
		ExpiresAt:       c.expiresAt / 1000,
		Interval:        pollInterval,
	}, nil
}

// maxAgent is the maximum stored length of a User-Agent header.
const maxAgent = 200

func shorten(text string, most int) string {
	if len(text) > most {
		text = text[:most]
	}
	return strings.ToValidUTF8(text, "")
}

func insertCode(tx *db.Tx, c deviceCode) (deviceCode, error) {
	for range 10 {
		c.code = credential.NewCode(codeLength)
		fresh, err := tx.Row(`INSERT INTO device_code (code, id, intent, challenge, ip, agent, status, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (code) DO NOTHING RETURNING code`,
			c.code, tx.NewID("dev"), c.intent, c.challenge, c.ip, c.agent, c.status, c.createdAt, c.expiresAt).Scan(new(string))
		if err != nil || fresh {
			return c, err
		}
	}
	return c, errors.New("no free device code was found")
}

// Poll returns the status of a device login. The first poll after approval starts the session and returns its token. No other poll does.
func (s *Service) Poll(ctx context.Context, by db.Caller, in PollInput) (api.DeviceCodeStatus, error) {
	c, err := s.lookupCode(ctx, limit.Address(by.IP), in.Code)
	if err == nil {
		err = s.checkPollAddress(ctx, c, by.IP)
	}
	if err != nil {
		return api.DeviceCodeStatus{}, err
	}
	if v := s.polls.Take(c.code); !v.OK {
		return api.DeviceCodeStatus{}, fault.Limited(v.Wait)
	}
	status, _ := c.stateAt(s.db.Now())
	if status != codeApproved || !c.askedBy(by.IP, in.Verifier) {
		return api.DeviceCodeStatus{Status: status}, nil
	}
	return s.consume(ctx, by, c)
}

// askedBy reports whether the caller is the one who requested the code. Without a challenge, only the network address identifies them,
// because someone else may have seen the code. If the code was approved with a key, its session can begin only in the key's networks.
func (c deviceCode) askedBy(ip string, verifier *string) bool {
	if !allowedFrom(strings.Fields(c.networks), ip) {
		return false
	}
	if c.challenge == "" {
		return limit.Address(ip) == limit.Address(c.ip)
	}
	if verifier == nil {
		return false
	}
	sum := sha256.Sum256([]byte(*verifier))
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(c.challenge)) == 1
}

// lookupCode finds a code and counts failed guesses under guesser. It returns an empty code if there is none, or if it finished long ago.
func (s *Service) lookupCode(ctx context.Context, guesser, typed string) (deviceCode, error) {
	guess := unknownCodes.Of(guesser)
	var c deviceCode
	err := s.db.Read(ctx, func(q db.Q) error {
		err := s.budgets.Peek(q, guess)
		if code, ok := credential.ParseCode(typed, codeLength); ok && err == nil {
			c, err = findCode(q, code)
		}
		return err
	})
	if err != nil {
		return deviceCode{}, err
	}
	if _, gone := c.stateAt(s.db.Now()); gone {
		c = deviceCode{}
	}
	if c.code == "" {
		err = s.budgets.Spend(context.WithoutCancel(ctx), guess)
	}
	return c, err
}

// checkPollAddress decides whether an unauthenticated caller may learn the status of a code. Once the service's budget of wrong guesses is used up,
// only the address that requested a code may poll it. So a refusal does not reveal whether a guess was right.
func (s *Service) checkPollAddress(ctx context.Context, c deviceCode, ip string) error {
	if c.code != "" && c.ip == ip {
		return nil
	}
	if c.code != "" {
		return s.budgets.Check(ctx, allUnknown.Of(""))
	}
	if err := s.budgets.Spend(context.WithoutCancel(ctx), allUnknown.Of("")); err != nil {
		return err
	}
	return errNoCode
}

var errNoCode = fault.Missing("device code")

func findCode(q db.Q, code string) (c deviceCode, err error) {
	_, err = q.Row(`SELECT c.code, c.id, c.intent, c.challenge, c.ip, c.agent, c.status, c.account_id, c.api_key_id, k.allowed_cidrs, c.second_factor, c.credential_version,
			c.credential_version <> a.credential_version, c.approved_at, c.created_at, c.expires_at, c.finished_at
		FROM device_code c LEFT JOIN api_key k ON k.id = c.api_key_id LEFT JOIN account a ON a.id = c.account_id WHERE c.code = $1`, code).
		Scan(&c.code, &c.id, &c.intent, &c.challenge, &c.ip, &c.agent, &c.status, &c.accountID, &c.keyID, &c.networks, &c.factor, &c.version, &c.outdated, &c.approved, &c.createdAt, &c.expiresAt, &c.finished)
	return c, err
}

func (s *Service) consume(ctx context.Context, by db.Caller, c deviceCode) (api.DeviceCodeStatus, error) {
	started, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (token.Session, audit.Event, error) {
		same, err := lockVersion(tx, c.accountID, c.version)
		if err == nil && !same {
			err = errNotAuthenticated
		}
		if err != nil {
			return token.Session{}, audit.Event{}, err
		}
		now := tx.Now()
		first, err := tx.Row(`UPDATE device_code SET status = 'consumed', finished_at = $2
			WHERE code = $1 AND status = 'approved' AND expires_at > $2 RETURNING code`, c.code, now).Scan(new(string))
		if err != nil {
			return token.Session{}, audit.Event{}, err
		}
		if !first {
			return token.Session{}, audit.None("another poll has picked up the token"), nil
		}
		actor, err := findActor(tx.Q, c.accountID, c.keyID)
		if err != nil {
			return token.Session{}, audit.Event{}, err
		}
		new, err := startSession(tx, actor, opening{ttl: s.config.DeviceTTL, method: ByDevice, began: c.approved, factor: c.factor, ip: c.ip, agent: c.agent})
		return new, sessionEvent(new, actor, "Signed in "+ByDevice.words()), err
	})
	if err != nil {
		return api.DeviceCodeStatus{}, err
	}
	if started.ID == "" {
		return api.DeviceCodeStatus{Status: codeConsumed}, nil
	}
	token, err := s.tokens.Sign(ctx, started)
	return api.DeviceCodeStatus{Status: codeApproved, Token: token}, err
}

// DeviceLogin is a device code as shown to the person who is asked to approve it.
type DeviceLogin struct {
	Code      string
	Intent    string
	Agent     string
	IP        string
	Status    string
	CreatedAt int64
	ExpiresAt int64
	Mine      bool // the caller has approved or denied it
}

// Pending reports whether the code can still be approved or denied.
func (d DeviceLogin) Pending() bool { return d.Status == codePending }

// Device returns a code to the person who is asked to approve it.
func (s *Service) Device(ctx context.Context, by db.Caller, typed string) (DeviceLogin, error) {
	c, err := s.lookupCode(ctx, by.ID, typed)
	if err == nil && c.code == "" {
		err = errNoCode
	}
	if err != nil {
		return DeviceLogin{}, err
	}
	status, _ := c.stateAt(s.db.Now())
	return DeviceLogin{Code: c.code, Intent: c.intent, Agent: c.agent, IP: c.ip, Status: status, CreatedAt: c.createdAt, ExpiresAt: c.expiresAt,
		Mine: c.accountID == by.ID}, nil
}

// Approve signs in, as the caller, the command line that shows the code. A session that began with a device code cannot approve another
// one, because it could prolong itself indefinitely. A machine client cannot either, because its sessions are short.
func (s *Service) Approve(ctx context.Context, by db.Caller, in CodeInput) (api.DeviceDecision, error) {
	if by.ByDevice || by.Type == audit.Client {
		return api.DeviceDecision{}, fault.New(api.CodeForbidden, "a device login can be approved only in the console or with an API key")
	}
	if err := access.RequireRecentLogin(by.Actor, s.db.Now()); err != nil {
		return api.DeviceDecision{}, err
	}
	return s.decide(ctx, by, in.Code, codeApproved, audit.DeviceApproved)
}

// Deny denies the command line that shows the code.
func (s *Service) Deny(ctx context.Context, by db.Caller, in CodeInput) (api.DeviceDecision, error) {
	return s.decide(ctx, by, in.Code, codeDenied, audit.DeviceDenied)
}

// within returns an error if the code was requested from outside the networks of the key that approves it. Its session would have wider
// access than the key.
func (c deviceCode) within(q db.Q, keyID string) error {
	var networks string
	_, err := q.Row(`SELECT allowed_cidrs FROM api_key WHERE id = $1`, keyID).Scan(&networks)
	if err == nil && !allowedFrom(strings.Fields(networks), c.ip) {
		err = fault.New(api.CodeForbidden, "the device is outside of the networks of the API key that you are logged in with")
	}
	return err
}

func (s *Service) decide(ctx context.Context, by db.Caller, typed, status string, action audit.Action) (api.DeviceDecision, error) {
	c, err := s.lookupCode(ctx, by.ID, typed)
	if err == nil && c.code == "" {
		err = errNoCode
	}
	if err != nil {
		return api.DeviceDecision{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.DeviceDecision, audit.Event, error) {
		if err := LockCaller(tx, by); err != nil {
			return api.DeviceDecision{}, audit.Event{}, err
		}
		if status == codeApproved {
			if err := c.within(tx.Q, by.KeyID); err != nil {
				return api.DeviceDecision{}, audit.Event{}, err
			}
		}
		now := tx.Now()
		var approved, finished any = now, nil
		if status == codeDenied {
			approved, finished = nil, now
		}
		// The new session depends on the same key as the approver's session, so that revoking the key ends both. It has a second factor if
		// that session has one.
		first, err := tx.Row(`UPDATE device_code SET status = $2, account_id = $3, api_key_id = $4, finished_at = $5, second_factor = $7, approved_at = $8,
				credential_version = (SELECT credential_version FROM account WHERE id = $3)
			WHERE code = $1 AND status = 'pending' AND expires_at > $6 RETURNING code`,
			c.code, status, by.ID, db.NullText(by.KeyID), finished, now, !by.OneFactor, approved).Scan(new(string))
		if err == nil && !first {
			err = fault.New(api.CodeNotPending, "the device code is no longer pending")
		}
		return api.DeviceDecision{Code: c.code, Status: status}, audit.Event{
			Action:      action,
			ResourceID:  c.id,
			Description: strings.ToUpper(status[:1]) + status[1:] + " a device login (" + c.intent + ")",
		}, err
	})
}

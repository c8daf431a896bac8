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
	Code      string `db:"code"`
	ID        string `db:"id"` // used in the audit log, because the code itself gives access to the token
	Intent    string `db:"intent"`
	Challenge string `db:"challenge"`
	IP        string `db:"ip"`
	Agent     string `db:"agent"`
	Status    string `db:"status"`
	UserID    string `db:"account_id,null"`
	KeyID     string `db:"api_key_id,null"`
	Factor    bool   `db:"second_factor"`           // the approver had used a second factor
	Approved  int64  `db:"approved_at,null"`        // time of the approval
	Version   int64  `db:"credential_version,null"` // of the approver's sign-in methods
	Outdated  bool   `db:"outdated,computed"`       // they have changed since
	Networks  string `db:"networks,computed"`       // networks of the key, if it is limited to some
	CreatedAt int64  `db:"created_at"`
	ExpiresAt int64  `db:"expires_at"`
	Finished  int64  `db:"finished_at,null"`
}

var (
	deviceCodes = db.Select[deviceCode]("c", map[string]string{
		"outdated": "c.credential_version <> a.credential_version", "networks": "k.allowed_cidrs",
	})
	newDeviceCode = db.InsertInto[deviceCode]("device_code")
)

// stateAt returns the status at a time. gone means that the code is so old that it is treated as unknown.
func (c deviceCode) stateAt(now int64) (status string, gone bool) {
	if status = c.Status; status == codeApproved && c.Outdated {
		status = codeDenied
	}
	end := c.Finished
	if c.Finished == 0 {
		end = c.ExpiresAt
		if now >= c.ExpiresAt {
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
	c := deviceCode{Intent: "login", IP: by.IP, Status: codePending}
	if in.Intent != nil && *in.Intent != "" {
		c.Intent = *in.Intent
	}
	if in.CodeChallenge != nil {
		c.Challenge = *in.CodeChallenge
	}
	if in.Agent != nil {
		c.Agent = shorten(*in.Agent, maxAgent)
	}
	c, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (deviceCode, audit.Event, error) {
		c.CreatedAt = tx.Now()
		c.ExpiresAt = (c.CreatedAt + codeLifetime.Milliseconds()) / 1000 * 1000
		made, err := insertCode(tx, c)
		return made, audit.None("a device code is not an action until somebody approves or denies it"), err
	})
	if err != nil {
		return api.DeviceCode{}, err
	}
	return api.DeviceCode{
		Code:            c.Code,
		VerificationURL: s.config.PublicURL + "/device?code=" + url.QueryEscape(c.Code),
		ExpiresAt:       c.ExpiresAt / 1000,
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
		c.Code = credential.NewCode(codeLength)
		c.ID = tx.NewID("dev")
		fresh, err := newDeviceCode.InsertNew(tx, "(code)", &c)
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
	if v := s.polls.Take(c.Code); !v.OK {
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
	if !allowedFrom(strings.Fields(c.Networks), ip) {
		return false
	}
	if c.Challenge == "" {
		return limit.Address(ip) == limit.Address(c.IP)
	}
	if verifier == nil {
		return false
	}
	sum := sha256.Sum256([]byte(*verifier))
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(c.Challenge)) == 1
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
	if c.Code == "" {
		err = s.budgets.Spend(context.WithoutCancel(ctx), guess)
	}
	return c, err
}

// checkPollAddress decides whether an unauthenticated caller may learn the status of a code. Once the service's budget of wrong guesses is used up,
// only the address that requested a code may poll it. So a refusal does not reveal whether a guess was right.
func (s *Service) checkPollAddress(ctx context.Context, c deviceCode, ip string) error {
	if c.Code != "" && c.IP == ip {
		return nil
	}
	if c.Code != "" {
		return s.budgets.Check(ctx, allUnknown.Of(""))
	}
	if err := s.budgets.Spend(context.WithoutCancel(ctx), allUnknown.Of("")); err != nil {
		return err
	}
	return errNoCode
}

var errNoCode = fault.Missing("device code")

func findCode(q db.Q, code string) (c deviceCode, err error) {
	err = q.Each(func(r db.Rows) error {
		c = deviceCodes.Read(r)
		return nil
	}, `SELECT `+deviceCodes.Columns+`
		FROM device_code c LEFT JOIN api_key k ON k.id = c.api_key_id LEFT JOIN account a ON a.id = c.account_id WHERE c.code = $1`, code)
	return c, err
}

func (s *Service) consume(ctx context.Context, by db.Caller, c deviceCode) (api.DeviceCodeStatus, error) {
	started, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (token.Session, audit.Event, error) {
		same, err := lockVersion(tx, c.UserID, c.Version)
		if err == nil && !same {
			err = errNotAuthenticated
		}
		if err != nil {
			return token.Session{}, audit.Event{}, err
		}
		now := tx.Now()
		first, err := tx.Row(`UPDATE device_code SET status = 'consumed', finished_at = $2
			WHERE code = $1 AND status = 'approved' AND expires_at > $2 RETURNING code`, c.Code, now).Scan(new(string))
		if err != nil {
			return token.Session{}, audit.Event{}, err
		}
		if !first {
			return token.Session{}, audit.None("another poll has picked up the token"), nil
		}
		actor, err := findActor(tx.Q, c.UserID, c.KeyID)
		if err != nil {
			return token.Session{}, audit.Event{}, err
		}
		new, err := startSession(tx, actor, opening{ttl: s.config.DeviceTTL, method: ByDevice, began: c.Approved, factor: c.Factor, ip: c.IP, agent: c.Agent})
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
	if err == nil && c.Code == "" {
		err = errNoCode
	}
	if err != nil {
		return DeviceLogin{}, err
	}
	status, _ := c.stateAt(s.db.Now())
	return DeviceLogin{Code: c.Code, Intent: c.Intent, Agent: c.Agent, IP: c.IP, Status: status, CreatedAt: c.CreatedAt, ExpiresAt: c.ExpiresAt,
		Mine: c.UserID == by.ID}, nil
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
	if err == nil && !allowedFrom(strings.Fields(networks), c.IP) {
		err = fault.New(api.CodeForbidden, "the device is outside of the networks of the API key that you are logged in with")
	}
	return err
}

func (s *Service) decide(ctx context.Context, by db.Caller, typed, status string, action audit.Action) (api.DeviceDecision, error) {
	c, err := s.lookupCode(ctx, by.ID, typed)
	if err == nil && c.Code == "" {
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
			c.Code, status, by.ID, db.NullText(by.KeyID), finished, now, !by.OneFactor, approved).Scan(new(string))
		if err == nil && !first {
			err = fault.New(api.CodeNotPending, "the device code is no longer pending")
		}
		return api.DeviceDecision{Code: c.Code, Status: status}, audit.Event{
			Action:      action,
			ResourceID:  c.ID,
			Description: strings.ToUpper(status[:1]) + status[1:] + " a device login (" + c.Intent + ")",
		}, err
	})
}

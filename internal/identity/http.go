package identity

import (
	"net/netip"
	"regexp"

	"bursar/api"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// ExchangeInput contains the credential that is exchanged for a session.
type ExchangeInput struct {
	Authorization string  `header:"Authorization"`
	Agent         *string `header:"User-Agent"`
}

// DeviceInput requests a device code.
type DeviceInput struct {
	api.DeviceCodeCreate
	Agent *string `header:"User-Agent"`
}

var challengeForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// Validate checks the texts without reading the database.
func (in *DeviceInput) Validate(v *fault.Violations) {
	web.CheckOptionalText(v, "intent", in.Intent, 0, 64)
	web.CheckMatch(v, "code_challenge", in.CodeChallenge, challengeForm, "must be the base64url SHA-256 of the verifier, 43 characters")
}

// PollInput requests the status of a device login.
type PollInput struct {
	Code     string  `path:"code"`
	Verifier *string `header:"X-Code-Verifier"`
}

// CodeInput identifies a device code.
type CodeInput struct {
	Code string `path:"code"`
}

// SessionsInput selects the sessions of the caller.
type SessionsInput struct{ web.PageParams }

// KeysInput selects the API keys of the caller.
type KeysInput struct{ web.PageParams }

// NewKeyInput describes a new API key.
type NewKeyInput struct{ api.APIKeyCreate }

const maxCIDRs = 32

// ValidateAt checks the key. Whether it expires in the future depends on the time.
func (in *NewKeyInput) ValidateAt(v *fault.Violations, now int64) {
	web.CheckText(v, "name", in.Name, 1, 100)
	if in.ExpiresAt != nil && (*in.ExpiresAt <= now || *in.ExpiresAt > web.LastMillisecond) {
		v.Add("expires_at", "must be a time in the future, in Unix milliseconds")
	}
	if len(in.AllowedCIDRs) > maxCIDRs {
		v.Add("allowed_cidrs", "must have at most 32 elements")
	}
	for _, text := range in.AllowedCIDRs {
		if _, err := netip.ParsePrefix(text); err != nil {
			v.Add("allowed_cidrs", "must be networks such as 192.0.2.0/24 or 2001:db8::/32")
		}
	}
	checkScope(v, in.ScopeRequest)
}

// KeyInput identifies an API key.
type KeyInput struct {
	ID string `path:"id"`
}

// RotateInput identifies an API key and sets how it is replaced.
type RotateInput struct {
	ID string `path:"id"`
	api.APIKeyRotate
}

const (
	defaultGrace = 24 * 60 * 60
	maxGrace     = 30 * defaultGrace
)

// Validate checks the grace period.
func (in *RotateInput) Validate(v *fault.Violations) {
	if in.GraceSeconds != nil && (*in.GraceSeconds < 0 || *in.GraceSeconds > maxGrace) {
		v.Add("grace_seconds", "must be an integer from 0 to 2592000")
	}
}

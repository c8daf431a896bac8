package identity

import (
	"net/netip"
	"regexp"

	"bursar/internal/fault"
	"bursar/internal/web"
)

type exchangeInput struct {
	Authorization string  `header:"Authorization"`
	Agent         *string `header:"User-Agent"`
}

type deviceInput struct {
	Intent        *string `json:"intent"`
	CodeChallenge *string `json:"code_challenge"`
	Agent         *string `header:"User-Agent"`
}

var challengeForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

func (in *deviceInput) Validate(v *fault.Violations) {
	web.CheckOptionalText(v, "intent", in.Intent, 0, 64)
	web.CheckMatch(v, "code_challenge", in.CodeChallenge, challengeForm, "must be the base64url SHA-256 of the verifier, 43 characters")
}

type pollInput struct {
	Code     string  `path:"code"`
	Verifier *string `header:"X-Code-Verifier"`
}

type codeInput struct {
	Code string `path:"code"`
}

type newKeyInput struct {
	Name         string   `json:"name" required:"true"`
	ExpiresAt    *int64   `json:"expires_at"`
	AllowedCIDRs []string `json:"allowed_cidrs"`
}

const maxCIDRs = 32

func (in *newKeyInput) ValidateAt(v *fault.Violations, now int64) {
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
}

type keyInput struct {
	ID string `path:"id"`
}

type rotateInput struct {
	ID           string `path:"id"`
	GraceSeconds *int64 `json:"grace_seconds"`
}

const (
	defaultGrace = 24 * 60 * 60
	maxGrace     = 30 * defaultGrace
)

func (in *rotateInput) Validate(v *fault.Violations) {
	if in.GraceSeconds != nil && (*in.GraceSeconds < 0 || *in.GraceSeconds > maxGrace) {
		v.Add("grace_seconds", "must be an integer from 0 to 2592000")
	}
}

package client

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"

	"bursar/api"
)

// The states of a device login.
const (
	DevicePending  = "pending"  // waits for approval; poll again after the interval
	DeviceApproved = "approved" // has the token, unless the verifier is missing
	DeviceConsumed = "consumed" // the token has been issued
	DeviceDenied   = "denied"   // denied
	DeviceExpired  = "expired"  // expired before approval
)

// NewCodeVerifier returns a secret that binds a device login to this process, and the challenge of that secret. Pass the challenge to
// [AuthService.DeviceCode] and the verifier to [AuthService.PollDeviceCode].
func NewCodeVerifier() (verifier, challenge string) {
	verifier = rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(verifier))
	return verifier, base64.RawURLEncoding.EncodeToString(sum[:])
}

// DeviceCode starts a sign-in that a person completes in a browser. Show them the code and the address, then poll. The person who approves
// sees the intent. Intent and challenge may be empty. No credential is needed.
func (s *AuthService) DeviceCode(ctx context.Context, intent, challenge string) (*DeviceCode, error) {
	var ask api.DeviceCodeCreate
	if intent != "" {
		ask.Intent = &intent
	}
	if challenge != "" {
		ask.CodeChallenge = &challenge
	}
	body, err := encode(ask)
	if err != nil {
		return nil, err
	}
	op := &call{method: api.CreateDeviceCode.Method(), path: api.CreateDeviceCode.Path(), body: body, open: true, once: true}
	return fetch[DeviceCode](ctx, s.c, op)
}

// PollDeviceCode returns the status of a device login. Only the first poll after the
// approval returns the token; use it with [WithToken]. No credential is needed.
func (s *AuthService) PollDeviceCode(ctx context.Context, code, verifier string) (*DeviceCodeStatus, error) {
	op, err := callOf(api.PollDeviceCode, code)
	if err != nil {
		return nil, err
	}
	op.open = true
	if verifier != "" {
		if err := checkSecret("verifier", verifier); err != nil {
			return nil, err
		}
		op.header = http.Header{"X-Code-Verifier": {verifier}}
	}
	return fetch[DeviceCodeStatus](ctx, s.c, op)
}

// ApproveDevice lets the device with the code sign in as the caller.
func (s *AuthService) ApproveDevice(ctx context.Context, code string) (*DeviceDecision, error) {
	return run(ctx, s.c, api.ApproveDeviceCode, code)
}

// DenyDevice denies the device with the code.
func (s *AuthService) DenyDevice(ctx context.Context, code string) (*DeviceDecision, error) {
	return run(ctx, s.c, api.DenyDeviceCode, code)
}

package browsertest

import (
	"context"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
)

// Authenticator is a virtual device with passkeys. It is always unlocked and confirms
// every request. Browsers allow passkeys at http://localhost, but not at http://127.0.0.1.
type Authenticator struct {
	page *Page
	id   webauthn.AuthenticatorID
}

// Credential is a passkey.
type Credential struct {
	ID         []byte
	RPID       string // the site that it is for
	UserHandle []byte
	SignCount  int
	Resident   bool // it can be found without a user name
}

// AddAuthenticator connects a new device to the browser.
func (p *Page) AddAuthenticator() *Authenticator {
	p.t.Helper()
	a := &Authenticator{page: p}
	err := p.within(func(ctx context.Context) error {
		if err := call(ctx, webauthn.Enable, webauthn.EnableParams{}); err != nil {
			return err
		}
		added, err := chromedp.Call(ctx, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{
			Options: &webauthn.VirtualAuthenticatorOptions{
				Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
				HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
			},
		})
		a.id = added.AuthenticatorID
		return err
	})
	if err != nil {
		p.fail("add an authenticator", err)
	}
	return a
}

// Credentials returns the passkeys on the device.
func (a *Authenticator) Credentials() []Credential {
	a.page.t.Helper()
	var list []Credential
	err := a.page.within(func(ctx context.Context) error {
		got, err := chromedp.Call(ctx, webauthn.GetCredentials, webauthn.GetCredentialsParams{AuthenticatorID: a.id})
		for _, c := range got.Credentials {
			list = append(list, Credential{
				ID: c.CredentialID, RPID: c.RpID, UserHandle: c.UserHandle, SignCount: int(c.SignCount), Resident: c.IsResidentCredential,
			})
		}
		return err
	})
	if err != nil {
		a.page.fail("read the passkeys", err)
	}
	return list
}

// Remove disconnects the device.
func (a *Authenticator) Remove() {
	a.page.t.Helper()
	err := a.page.within(func(ctx context.Context) error {
		return call(ctx, webauthn.RemoveVirtualAuthenticator, webauthn.RemoveVirtualAuthenticatorParams{AuthenticatorID: a.id})
	})
	if err != nil {
		a.page.fail("remove the authenticator", err)
	}
}

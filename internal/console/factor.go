package console

import (
	"net/http"
	"net/url"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/signin"
	"bursar/internal/workspace"
)

const factorPath = "/account/second-factor"

// withFactor redirects a visitor without a second factor, if an organization requires one for the page. They set one up and then return to
// the page. Pages of other organizations are shown.
func (c *Console) withFactor(page func(v *visit) error) func(v *visit) error {
	return func(v *visit) error {
		err := page(v)
		switch {
		case !v.Caller.NeedsFactor || !lacksFactor(err):
			return err
		case v.R.Header.Get("X-Fragment") != "":
			v.W.WriteHeader(http.StatusUnauthorized)
			return nil
		case v.R.Method == http.MethodGet:
			return v.redirect(factorPath + "?next=" + url.QueryEscape(inner(v.R.URL.RequestURI())))
		}
		return v.redirect(factorPath)
	}
}

// lacksFactor reports whether a service refused because the second factor is missing.
func lacksFactor(err error) bool { return hasCode(err, api.CodeSecondFactorRequired) }

// withOwnFactor protects a page that changes how the visitor signs in. If any of their organizations requires a second factor, so does the
// page.
func (c *Console) withOwnFactor(page func(v *visit) error) func(v *visit) error {
	return func(v *visit) error {
		if err := access.RequireSecondFactor(v.Caller.Actor); err != nil {
			return err
		}
		return page(v)
	}
}

// leaveHeld leaves a workspace whose organization requires a second factor that the visitor does not have.
func (c *Console) leaveHeld(v *visit) error {
	if _, err := change(v, c.Workspaces.RemoveMember, workspace.MemberInput{ID: v.R.PathValue("ws"), UserID: v.Caller.ID}); err != nil {
		return err
	}
	return v.done("You left the workspace.", "/")
}

// heldWorkspaces returns the workspaces that the visitor cannot enter without a second factor.
func (v *visit) heldWorkspaces() (held []api.Workspace, err error) {
	if err := v.listWorkspaces(); err != nil {
		return nil, err
	}
	for _, one := range v.workspaces {
		if _, err := v.console.Authority.Permissions(v.R.Context(), v.Caller.Actor, one.ID); lacksFactor(err) {
			held = append(held, one)
		} else if err != nil {
			return nil, err
		}
	}
	return held, nil
}

// factorPage explains the second factor that an organization requires.
type factorPage struct {
	Organizations string
	Factors       signin.Factors
	Passkeys      bool   // the server supports them
	Provider      string // the name of the identity provider
	Next          string
	Workspaces    []api.Workspace // workspaces that the visitor can leave instead
}

// Has reports whether the visitor has a second factor, and only has to sign in with it.
func (p factorPage) Has() bool {
	return len(p.Factors.Passkeys) > 0 || p.Factors.TOTPSince != 0 || p.Factors.Provider
}

func (c *Console) factorPage(v *visit) error {
	next := inner(v.R.URL.Query().Get("next"))
	if !v.Caller.NeedsFactor {
		return v.redirect(next)
	}
	factors, err := c.SignIn.Factors(v.R.Context(), v.Caller)
	if err != nil {
		return err
	}
	held, err := v.heldWorkspaces()
	if err != nil {
		return err
	}
	return v.show("profile_factor", "Second factor", factorPage{
		Organizations: strings.Join(factors.DemandedBy, ", "), Factors: factors,
		Passkeys: c.SignIn.TakesPasskeys(), Provider: c.SignIn.ProviderName(), Next: next, Workspaces: held,
	})
}

// afterFactor returns the next page of a person who has set up a factor: the one that required it, or else their account.
func (v *visit) afterFactor() string {
	if next := v.R.FormValue("next"); next != "" {
		return inner(next)
	}
	return "/account"
}

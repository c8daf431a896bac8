package console

import (
	"net/http"
	"net/url"
	"strings"

	"bursar/internal/signin"
)

const factorPath = "/account/second-factor"

// withFactor guards a page from somebody who signed in without the second factor that one
// of their organizations demands. They set one up first, which leads back.
func (c *Console) withFactor(page func(v *visit) error) func(v *visit) error {
	return func(v *visit) error {
		switch {
		case !v.Caller.NeedsFactor:
			return page(v)
		case v.R.Header.Get("X-Fragment") != "":
			v.W.WriteHeader(http.StatusUnauthorized)
			return nil
		case v.R.Method == http.MethodGet:
			return v.redirect(factorPath + "?next=" + url.QueryEscape(inner(v.R.URL.RequestURI())))
		}
		return v.redirect(factorPath)
	}
}

// factorPage leads somebody to the second factor that an organization demands.
type factorPage struct {
	Organizations string
	Factors       signin.Factors
	Passkeys      bool   // the server supports them
	Provider      string // the name of the identity provider
	Next          string
}

// Has says whether the visitor has a second factor, and only has to sign in with it.
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
	return v.show("account_factor", "Second factor", factorPage{
		Organizations: strings.Join(factors.DemandedBy, ", "), Factors: factors,
		Passkeys: c.SignIn.TakesPasskeys(), Provider: c.SignIn.ProviderName(), Next: next,
	})
}

// afterFactor is where somebody goes who has set up a factor: to where they were going
// when the factor was demanded, or else back to their account.
func (v *visit) afterFactor() string {
	if next := v.R.FormValue("next"); next != "" {
		return inner(next)
	}
	return "/account"
}

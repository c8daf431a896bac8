package console

import (
	"net/http"
	"strings"

	"bursar/api"
	"bursar/internal/identity"
)

// invitedRole is a role of an invitation.
type invitedRole struct{ Name, Summary string }

// invitePage is the page of an invitation or account link.
type invitePage struct {
	Link     identity.Opened
	Roles    []invitedRole
	Secret   string
	Mine     bool // the visitor is signed in as the invited account
	Passkeys bool
	Provider string
}

func (v *visit) openLink() (invitePage, error) {
	secret := v.R.PathValue("link")
	link, err := v.console.Identity.OpenLink(v.R.Context(), secret)
	data := invitePage{Link: link, Secret: secret, Mine: link.UserID == v.Caller.ID,
		Passkeys: v.console.SignIn.TakesPasskeys(), Provider: v.console.SignIn.ProviderName()}
	for _, r := range link.Roles {
		data.Roles = append(data.Roles, invitedRole{r.Name, roleSummary(r.Key, r.BuiltIn, r.Permissions)})
	}
	return data, err
}

func (c *Console) invitePage(v *visit) error {
	data, err := v.openLink()
	if gone(err) {
		return v.showStatus(http.StatusNotFound, "error", "This link no longer works", problems{}, errorPage{
			Status: http.StatusNotFound, Heading: "This link no longer works", Home: "/",
			Text: "It has been used, has expired, or was replaced by a newer one. Ask the person who sent it for a new one."})
	}
	if err != nil {
		return err
	}
	v.preset("name", data.Link.Name)
	return v.show("invite", "Welcome", data)
}

func gone(err error) bool { return hasCode(err, api.CodeNotFound) }

func (c *Console) redeem(v *visit) error {
	data, err := v.openLink()
	if err != nil {
		return c.invitePage(v)
	}
	proven, err := c.SignIn.RedeemWithPassword(v.R.Context(), v.Caller, data.Secret, v.field("name"), v.form.Get("password"))
	if err != nil {
		return v.again(err, c.invitePage)
	}
	path, err := v.admit(proven, v.afterLink(data))
	if err != nil {
		return err
	}
	return v.redirect(path)
}

func (v *visit) afterLink(data invitePage) string {
	if id := data.Link.WorkspaceID(); id != "" {
		return workspacePath(id)
	}
	return "/"
}

func (c *Console) offerLinkPasskey(v *visit) error {
	data, err := v.openLink()
	if err != nil {
		return v.answerError(err)
	}
	ceremony, err := c.SignIn.OfferLinkPasskey(v.R.Context(), data.Secret)
	if err != nil {
		return v.answerError(err)
	}
	return v.begin(purposePasskeyLink, ceremony, underway{Who: data.Secret})
}

func (c *Console) redeemByPasskey(v *visit) error {
	data, err := v.openLink()
	if err != nil {
		return v.answerError(err)
	}
	u, answer, err := v.ended(purposePasskeyLink)
	if err == nil && u.Who != data.Secret {
		err = errCeremonyOver
	}
	if err != nil {
		return v.answerError(err)
	}
	proven, err := c.SignIn.RedeemWithPasskey(v.R.Context(), v.Caller, data.Secret, strings.TrimSpace(v.R.URL.Query().Get("name")), u.State, answer)
	if err != nil {
		return v.answerError(err)
	}
	return v.admitAndAnswer(proven, v.afterLink(data))
}

func (c *Console) accept(v *visit) error {
	workspaceID, err := c.Identity.Accept(v.R.Context(), v.Caller, v.R.PathValue("link"))
	if gone(err) {
		return c.invitePage(v)
	}
	if err != nil {
		return err
	}
	return v.redirect(workspacePath(workspaceID))
}

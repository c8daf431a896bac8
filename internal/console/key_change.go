package console

import (
	"strconv"
	"time"

	"bursar/api"
	"bursar/internal/identity"
)

func (c *Console) newKeyPage(v *visit) error {
	v.refill()
	v.preset("expires", "90")
	return v.show("keys_new", "New API key", credentialPage{Scope: v.scopeForm(v.workspaces, v.held)})
}

func (c *Console) createKey(v *visit) error {
	in := identity.NewKeyInput{}
	if at, ends := v.keyEnd(); ends {
		in.ExpiresAt = &at
	}
	v.addNeeds()
	key, err := submit(v, c.Identity.CreateKey, in)
	if wrong(err, "expires_at") {
		p, status, _ := formProblems(err)
		p.Fields["expires_at"] = "Choose a date in the future."
		return v.againWith(status, p, c.newKeyPage)
	}
	if err != nil {
		return v.again(err, c.newKeyPage)
	}
	return v.tellKey(key, `API key "`+key.Name+`" created.`)
}

// keyEnd returns when the new key expires, in Unix milliseconds: at the end of the chosen day. A date that cannot be parsed counts as long
// past, which the service refuses.
func (v *visit) keyEnd() (at int64, ends bool) {
	if v.field("expires") == "never" {
		return 0, false
	}
	if days, err := strconv.Atoi(v.field("expires")); err == nil {
		return v.console.endpoints.DB.Now() + int64(days)*(24*time.Hour).Milliseconds(), true
	}
	day, err := time.ParseInLocation(time.DateOnly, v.field("until"), v.zone)
	if err != nil {
		return 0, true
	}
	return day.AddDate(0, 0, 1).UnixMilli(), true
}

// tellKey shows the secret of an API key, once.
func (v *visit) tellKey(key api.NewAPIKey, text string) error {
	return v.redirectWith(flash{Kind: "good", Text: text, Secret: &secret{
		Label: "Your new key", Value: key.APIKey, Note: "Copy it now. It won't be shown again.",
	}}, v.path("keys")+"?made="+key.ID)
}

// rotateKeyPage asks how long the old key stays valid.
func (c *Console) rotateKeyPage(v *visit) error {
	v.refill()
	v.preset("grace_seconds", "86400")
	key, err := v.liveKey(v.R.PathValue("id"))
	if err != nil {
		return err
	}
	return v.show("keys_rotate", "Rotate "+key.Name, key)
}

func (c *Console) rotateKey(v *visit) error {
	next, err := submit(v, c.Identity.RotateKey, identity.RotateInput{ID: v.R.PathValue("id")})
	if err != nil {
		return v.again(err, c.rotateKeyPage)
	}
	text := `API key "` + next.Name + `" rotated. The old key has stopped working.`
	if left := time.Duration(next.Previous.ExpiresAt-v.console.endpoints.DB.Now()) * time.Millisecond; left > 0 {
		text = `API key "` + next.Name + `" rotated. The old key works for another ` + roughly(left.Round(time.Minute)) + "."
	}
	return v.tellKey(next, text)
}

func (c *Console) revokeKey(v *visit) error {
	if _, err := change(v, c.Identity.RevokeKey, identity.KeyInput{ID: v.R.PathValue("id")}); err != nil {
		return err
	}
	return v.done("API key revoked. Its sessions have ended.", v.path("keys"))
}

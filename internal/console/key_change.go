package console

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/identity"
)

// newKeyPage is the form for an API key, with the typed values.
type newKeyPage struct {
	Name     string
	Expires  string // a number of days, "date" or "never"
	Until    string
	Networks string
	Scope    scopeForm
}

func (c *Console) newKeyPage(v *visit) error {
	typed := v.R.URL.Query() // values of a form that needed a new sign-in
	return v.show("keys_new", "New API key", newKeyPage{
		Name: typed.Get("name"), Expires: cmp.Or(typed.Get("expires"), "90"), Until: typed.Get("until"), Networks: typed.Get("allowed_cidrs"),
		Scope: v.scopeForm(typed, v.workspaces, v.held),
	})
}

func (c *Console) createKey(v *visit) error {
	typed := newKeyPage{v.field("name"), v.field("expires"), v.field("until"), v.form.Get("allowed_cidrs"), v.scopeForm(v.form, v.workspaces, v.held)}
	in := api.APIKeyCreate{Name: typed.Name, AllowedCIDRs: strings.Fields(typed.Networks), ScopeRequest: typed.Scope.request()}
	if at, ends := typed.end(v); ends {
		in.ExpiresAt = &at
	}
	key, err := change(v, c.Identity.CreateKey, identity.NewKeyInput{APIKeyCreate: in})
	if p, status, ok := formProblems(err, append([]string{"name", "expires_at", "allowed_cidrs"}, scopeFields()...)...); ok {
		if p.Of("expires_at") != "" {
			p.Fields["expires_at"] = "Choose a date in the future."
		}
		return v.showAgain(status, "keys_new", "New API key", p, typed)
	}
	if err != nil {
		return err
	}
	return v.tellKey(key, `API key "`+key.Name+`" created.`)
}

// end returns when the key expires, in Unix milliseconds: at the end of the chosen day. A date that cannot be parsed counts as long past,
// which the service refuses.
func (p newKeyPage) end(v *visit) (at int64, ends bool) {
	if p.Expires == "never" {
		return 0, false
	}
	if days, err := strconv.Atoi(p.Expires); err == nil {
		return v.console.endpoints.DB.Now() + int64(days)*(24*time.Hour).Milliseconds(), true
	}
	day, err := time.ParseInLocation(time.DateOnly, p.Until, v.zone)
	if err != nil {
		return 0, true
	}
	return day.AddDate(0, 0, 1).UnixMilli(), true
}

// tellKey shows the secret of an API key, once.
func (v *visit) tellKey(key api.NewAPIKey, text string) error {
	if err := v.setFlash(flash{Kind: "good", Text: text, Secret: &secret{
		Label: "Your new key", Value: key.APIKey, Note: "Copy it now. It won't be shown again.",
	}}); err != nil {
		return err
	}
	return v.redirect(v.path("keys") + "?made=" + key.ID)
}

// rotateKeyPage asks how long the old key stays valid.
type rotateKeyPage struct {
	Key   api.APIKey
	Grace string // in seconds
}

func (c *Console) rotateKeyPage(v *visit) error {
	key, err := v.liveKey(v.R.PathValue("id"))
	if err != nil {
		return err
	}
	return v.show("keys_rotate", "Rotate "+key.Name, rotateKeyPage{key, cmp.Or(v.R.URL.Query().Get("grace_seconds"), "86400")})
}

func (c *Console) rotateKey(v *visit) error {
	grace, err := strconv.ParseInt(v.field("grace_seconds"), 10, 64)
	if err != nil {
		grace = -1 // the service refuses it
	}
	next, err := change(v, c.Identity.RotateKey, identity.RotateInput{
		ID: v.R.PathValue("id"), APIKeyRotate: api.APIKeyRotate{GraceSeconds: &grace},
	})
	if p, status, ok := formProblems(err, "grace_seconds"); ok {
		key, err := v.liveKey(v.R.PathValue("id"))
		if err != nil {
			return err
		}
		return v.showAgain(status, "keys_rotate", "Rotate "+key.Name, p, rotateKeyPage{key, v.field("grace_seconds")})
	}
	if err != nil {
		return err
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

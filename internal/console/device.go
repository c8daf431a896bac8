package console

import (
	"net/url"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/fault"
	"bursar/internal/identity"
)

func (c *Console) deviceRoutes() []Route {
	return []Route{
		c.get("/device", c.devicePage),
		c.post("/device", audit.DeviceApproved, c.decideDevice),
	}
}

// devicePage asks whether an app may sign in as the visitor.
type devicePage struct {
	Login *identity.DeviceLogin // nil until a code is entered
}

func (c *Console) devicePage(v *visit) error {
	typed := v.R.URL.Query().Get("code")
	if typed == "" {
		return v.show("device", "Approve a device", devicePage{})
	}
	if !v.fresh() {
		return v.signInFirst("")
	}
	return v.showDevice(typed)
}

func (v *visit) showDevice(typed string) error {
	login, err := v.console.Identity.Device(v.R.Context(), v.Caller, typed)
	if gone(err) {
		err = fault.New(api.CodeValidation, "code not found. Check the code that the app shows, or start again there")
	}
	if err != nil {
		v.values.Set("code", typed)
		return v.again(err, func(v *visit) error { return v.show("device", "Approve a device", devicePage{}) })
	}
	return v.show("device", "Approve this device?", devicePage{Login: &login})
}

type deviceDone struct{ Approved bool }

func (c *Console) decideDevice(v *visit) error {
	in := identity.CodeInput{Code: v.field("code")}
	var err error
	var decision api.DeviceDecision
	switch v.field("decision") {
	case "approve":
		if !v.fresh() {
			return v.signInFirst("/device?code=" + url.QueryEscape(v.field("code")))
		}
		decision, err = change(v, c.Identity.Approve, in)
	case "deny":
		v.action = audit.DeviceDenied
		decision, err = change(v, c.Identity.Deny, in)
	default:
		return v.showDevice(v.field("code"))
	}
	if hasCode(err, api.CodeNotPending, api.CodeNotFound) {
		return v.showDevice(v.field("code")) // the page shows the result
	}
	if err != nil {
		return err
	}
	return v.show("device_done", "Device", deviceDone{Approved: decision.Status == "approved"})
}

package auditlog

import (
	"strconv"

	"bursar/internal/fault"
	"bursar/internal/web"
)

type listInput struct {
	WorkspaceID    *string `query:"workspace_id"`
	OrganizationID *string `query:"organization_id"`
	Actor          *string `query:"actor"`
	Action         *string `query:"action"`
	ResourceType   *string `query:"resource_type"`
	ResourceID     *string `query:"resource_id"`
	Outcome        *string `query:"outcome"`
	From           *string `query:"from"`
	To             *string `query:"to"`
	web.Page

	from, to int64
}

func (in *listInput) Validate(v *fault.Violations) {
	in.Page.Validate(v)
	workspace := in.WorkspaceID != nil && *in.WorkspaceID != ""
	organization := in.OrganizationID != nil && *in.OrganizationID != ""
	switch {
	case !workspace && !organization:
		v.Add("workspace_id", "is required")
	case workspace && organization:
		v.Add("organization_id", "cannot be given together with workspace_id")
	}
	in.from = checkTime(v, "from", in.From, 0)
	in.to = checkTime(v, "to", in.To, web.LastMillisecond)
}

func checkTime(v *fault.Violations, field string, text *string, absent int64) int64 {
	if text == nil {
		return absent
	}
	at, err := strconv.ParseInt(*text, 10, 64)
	if err != nil || at < 0 || at > web.LastMillisecond {
		v.Add(field, "must be a time in Unix milliseconds")
	}
	return at
}

type activityInput struct{ web.Page }

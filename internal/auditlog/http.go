package auditlog

import (
	"strconv"

	"bursar/internal/fault"
	"bursar/internal/web"
)

// Filters are the parameters that select a log and its rows.
type Filters struct {
	WorkspaceID    *string `query:"workspace_id"`
	OrganizationID *string `query:"organization_id"`
	Actor          *string `query:"actor"`
	Action         *string `query:"action"`
	ResourceType   *string `query:"resource_type"`
	ResourceID     *string `query:"resource_id"`
	EntryID        *string `query:"entry_id"`
	KeyID          *string `query:"key_id"`
	Outcome        *string `query:"outcome"`
	From           *string `query:"from"`
	To             *string `query:"to"`

	from, to int64
}

func (in *Filters) check(v *fault.Violations) {
	workspace := in.WorkspaceID != nil && *in.WorkspaceID != ""
	organization := in.OrganizationID != nil && *in.OrganizationID != ""
	switch {
	case !workspace && !organization:
		v.Add("workspace_id", "is required")
	case workspace && organization:
		v.Add("organization_id", "cannot be given together with workspace_id")
	case organization && in.EntryID != nil:
		v.Add("entry_id", "can only be given together with workspace_id")
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

// ListInput selects a page of the log.
type ListInput struct {
	Filters
	web.PageParams
}

// Validate checks the page and the filters.
func (in *ListInput) Validate(v *fault.Violations) {
	in.PageParams.Validate(v)
	in.check(v)
}

// GetInput selects one row of the log. Of the filters only the workspace or the organization
// is used.
type GetInput struct {
	Filters
	ID string `path:"id"`
}

// Validate checks the workspace or organization.
func (in *GetInput) Validate(v *fault.Violations) { in.check(v) }

const (
	formatCSV    = "csv"
	formatNDJSON = "ndjson"
	formatRaw    = "csv-raw" // CSV for machines, without the escapes that make it safe in a spreadsheet

	// maxFilter is the longest filter of an export, whose own audit row repeats it.
	maxFilter = 200
)

// ExportInput selects all rows that the filters match, as a file.
type ExportInput struct {
	Filters
	Format *string `query:"format"`
}

// format is the requested format, or CSV.
func (in ExportInput) format() string {
	if in.Format == nil {
		return formatCSV
	}
	return *in.Format
}

// Validate checks the format and the filters.
func (in *ExportInput) Validate(v *fault.Violations) {
	in.check(v)
	web.CheckOneOf(v, "format", in.Format, formatCSV, formatRaw, formatNDJSON)
	web.CheckOptionalReference(v, "actor", in.Actor, 0, maxFilter)
	web.CheckOptionalReference(v, "action", in.Action, 0, maxFilter)
	web.CheckOptionalReference(v, "resource_type", in.ResourceType, 0, maxFilter)
	web.CheckOptionalReference(v, "resource_id", in.ResourceID, 0, maxFilter)
	web.CheckOptionalReference(v, "entry_id", in.EntryID, 0, maxFilter)
	web.CheckOptionalReference(v, "key_id", in.KeyID, 0, maxFilter)
	web.CheckOptionalReference(v, "outcome", in.Outcome, 0, maxFilter)
}

// ActivityInput selects a page of the caller's own activity.
type ActivityInput struct{ web.PageParams }

package console

import (
	"slices"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/auditlog"
)

// auditRow is an audit entry, for display.
type auditRow struct {
	homeRow
	Email   string       // email address of the actor, unless Who contains it
	Did     string       // the action in words
	Path    string       // its own page, "" if it has none
	Facts   []auditField // details that are not in the list
	IDs     []auditField
	Related []relatedLink
}

// auditField is a labelled value of an audit entry.
type auditField struct {
	Label string
	Text  string
	Path  string // the page of the named object
}

// relatedLink links to entries with the same actor, action or resource.
type relatedLink struct{ Text, Path string }

func newAuditRow(v *visit, f auditFilter, row api.AuditEntry) auditRow {
	out := auditRow{homeRow: newHomeRow(v, row), Did: audit.Action(row.Action).Title()}
	if !strings.Contains(out.Who, row.ActorEmail) {
		out.Email = row.ActorEmail
	}
	switch f.Scope {
	case scopeWorkspace:
		out.Path = v.path("audit", row.ID)
	case scopeOrganization:
		out.Path = v.path("audit", row.ID) + "?scope=" + scopeOrganization
	}
	out.Facts = given([]auditField{
		{Label: "Exact time (UTC)", Text: time.UnixMilli(row.Timestamp).UTC().Format("2006-01-02 15:04:05.000")},
		{Label: "Actor type", Text: actorTypeText(row.ActorType)},
		{Label: "Resource", Text: resourceWords(row.ResourceType), Path: resourcePath(v, row)},
		{Label: "IP address", Text: row.IP},
	})
	out.IDs = given([]auditField{
		{Label: "Entry ID", Text: row.ID},
		{Label: "Resource ID", Text: row.ResourceID},
		{Label: "Actor ID", Text: row.ActorID},
		{Label: "Request ID", Text: row.RequestID},
	})
	out.Related = relatedRows(v, f, row)
	return out
}

// given omits the fields without a value.
func given(fields []auditField) []auditField {
	return slices.DeleteFunc(fields, func(f auditField) bool { return f.Text == "" })
}

// relatedRows returns links to the entries that share a value with this one. One's own activity cannot be filtered.
func relatedRows(v *visit, f auditFilter, row api.AuditEntry) []relatedLink {
	if f.Scope == scopeOwn {
		return nil
	}
	var list []relatedLink
	add := func(text, value string, narrow func(*auditFilter)) {
		if value != "" {
			g := f
			narrow(&g)
			list = append(list, relatedLink{text, g.address(v.path("audit"))})
		}
	}
	add("Only this actor", row.ActorID, func(g *auditFilter) { g.Actor = row.ActorID })
	add("Only this action", row.Action, func(g *auditFilter) { g.Action = row.Action })
	add("Only this resource", row.ResourceID, func(g *auditFilter) { g.ResourceType, g.ResourceID = row.ResourceType, row.ResourceID })
	return list
}

// resourcePath returns the page of the entry's resource, or "" if there is none that the visitor may see.
func resourcePath(v *visit, row api.AuditEntry) string {
	if row.ResourceID == "" {
		return ""
	}
	page, found := map[audit.ResourceType]struct {
		needs access.Permission
		path  string
	}{
		audit.DirectoryEntry: {access.DirectoryRead, v.path("directory", row.ResourceID)},
		audit.DirectoryTag:   {access.DirectoryRead, v.path("directory", "tags")},
		audit.Member:         {access.MembersRead, v.path("members")},
		audit.Role:           {access.MembersRead, v.path("roles")},
		audit.ClientResource: {access.KeysRead, v.path("keys")},
		audit.LedgerAccount:  {access.AccountsRead, v.path("accounts", row.ResourceID)},
		audit.PayoutRequest:  {access.PayoutsRead, v.path("payouts", row.ResourceID)},
		audit.PayoutBatch:    {access.PayoutsRead, v.path("payouts", "batches", row.ResourceID)},
		audit.Organization:   {"", v.path("organization")},
	}[audit.ResourceType(row.ResourceType)]
	if !found || page.needs != "" && !v.can(page.needs) {
		return ""
	}
	return page.path
}

// auditRowPage is the page of a single audit entry.
type auditRowPage struct {
	Scope    string
	Row      auditRow
	Verified *verification // nil until the visitor requests it
}

func (c *Console) auditRowPage(v *visit) error {
	query := v.R.URL.Query()
	filter := auditFilter{}
	if query.Get("scope") == scopeOrganization {
		filter.Scope = scopeOrganization
	} else if err := v.need(access.AuditRead); err != nil {
		return err
	}
	in := filter.filters(v)
	row, err := read(v, c.Audit.Get, auditlog.GetInput{Filters: in, ID: v.R.PathValue("id")})
	if err != nil {
		return err
	}
	page := auditRowPage{Scope: filter.Scope, Row: newAuditRow(v, filter, row)}
	if query.Has("verify") {
		if page.Verified, err = c.verify(v, in, row); err != nil {
			return err
		}
	}
	return v.show("audit_row", auditTitle, page)
}

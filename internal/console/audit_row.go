package console

import (
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
)

// auditRow is an audit entry as the page shows it.
type auditRow struct {
	api.AuditEntry
	Who    string
	Kind   string   // the style of the outcome's badge
	Parts  []string // of the action's dotted name, so that a line can break after a dot
	Fields []auditField
	Alike  []alike
}

// auditField is a labelled value of an audit entry.
type auditField struct {
	Label string
	Text  string
	Code  bool   // an identifier, shown in a fixed-width font
	Path  string // the page of what it names
	At    int64  // a time, instead of Text
}

// alike links to entries with the same actor, action or resource.
type alike struct{ Text, Path string }

func newAuditRow(v *visit, f auditFilter, row api.AuditEntry) auditRow {
	out := auditRow{AuditEntry: row, Who: actorName(row), Kind: outcomeKind(row.Outcome), Parts: strings.SplitAfter(row.Action, ".")}
	id := auditField{Label: "Id", Text: row.ID, Code: true}
	if f.Scope == scopeWorkspace {
		id.Path = v.path("audit", row.ID)
	}
	out.Fields = []auditField{
		{Label: "Time", At: row.Timestamp},
		{Label: "Exact time", Text: time.UnixMilli(row.Timestamp).UTC().Format("2006-01-02T15:04:05.000Z"), Code: true},
		{Label: "Description", Text: row.Description},
		{Label: "Action", Text: row.Action, Code: true},
		{Label: "Outcome", Text: row.Outcome},
		{Label: "Actor", Text: row.ActorName},
		{Label: "Actor email", Text: row.ActorEmail},
		{Label: "Actor id", Text: row.ActorID, Code: true},
		{Label: "Actor type", Text: row.ActorType},
		{Label: "Resource type", Text: row.ResourceType},
		{Label: "Resource id", Text: row.ResourceID, Code: true, Path: resourcePath(v, row)},
		{Label: "Request id", Text: row.RequestID, Code: true},
		{Label: "Address", Text: row.IP, Code: true},
		id,
	}
	out.Alike = alikeRows(v, f, row)
	return out
}

// alikeRows links to the entries that share a value with this one. One's own
// activity cannot be filtered.
func alikeRows(v *visit, f auditFilter, row api.AuditEntry) []alike {
	if f.Scope == scopeOwn {
		return nil
	}
	var list []alike
	add := func(text, value string, narrow func(*auditFilter)) {
		if value != "" {
			g := f
			narrow(&g)
			list = append(list, alike{text, g.address(v.path("audit"))})
		}
	}
	add("Only this actor", row.ActorID, func(g *auditFilter) { g.Actor = row.ActorID })
	add("Only this action", row.Action, func(g *auditFilter) { g.Action = row.Action })
	add("Only this resource", row.ResourceID, func(g *auditFilter) { g.ResourceType, g.ResourceID = row.ResourceType, row.ResourceID })
	return list
}

// resourcePath is the page of the entry's resource, or "" if there is none that the
// visitor may see.
func resourcePath(v *visit, row api.AuditEntry) string {
	if row.ResourceID == "" {
		return ""
	}
	switch audit.ResourceType(row.ResourceType) {
	case audit.DirectoryEntry:
		if v.can(access.DirectoryRead) {
			return v.path("directory", row.ResourceID)
		}
	case audit.DirectoryTag:
		if v.can(access.DirectoryRead) {
			return v.path("directory", "tags")
		}
	case audit.Member:
		if v.can(access.MembersRead) {
			return v.path("members")
		}
	case audit.Role:
		if v.can(access.MembersRead) {
			return v.path("roles")
		}
	case audit.ClientAccount:
		if v.can(access.KeysRead) {
			return v.path("keys")
		}
	case audit.Organization:
		return v.path("organization")
	}
	return ""
}

// auditRowPage is the page of a single audit entry.
type auditRowPage struct{ Row auditRow }

func (c *Console) auditRowPage(v *visit) error {
	if err := v.need(access.AuditRead); err != nil {
		return err
	}
	row, err := c.Audit.Get(v.R.Context(), v.Caller, v.workspace.ID, v.R.PathValue("id"))
	if err != nil {
		return err
	}
	return v.show("audit_row", auditTitle, auditRowPage{newAuditRow(v, auditFilter{}, row)})
}

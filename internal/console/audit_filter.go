package console

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"bursar/internal/web"
)

// The scopes of the audit log: whose rows are shown.
const (
	scopeWorkspace    = ""
	scopeOrganization = "organization"
	scopeOwn          = "own"
)

// auditFilter is which rows are asked for, as it stands in the address.
type auditFilter struct {
	Scope                                            string
	Actor, Action, ResourceType, ResourceID, Outcome string
	From, To                                         string // as typed
	Cursor                                           string
	since                                            int64 // the rows that arrived after those on the page

	from, to int64 // 0 where not given
	problems problems
}

const (
	fieldMinute = "2006-01-02T15:04"
	fieldSecond = "2006-01-02T15:04:05"
)

// readFilter reads a filter from an address or a form. Times without a zone are
// the reader's.
func readFilter(values url.Values, zone *time.Location) auditFilter {
	get := func(name string) string { return strings.TrimSpace(values.Get(name)) }
	f := auditFilter{
		Scope: get("scope"), Actor: get("actor"), Action: get("action"), ResourceType: get("resource_type"),
		ResourceID: get("resource_id"), Outcome: get("outcome"), From: get("from"), To: get("to"), Cursor: get("cursor"),
	}
	if id := get("actor_id"); id != "" {
		f.Actor = id
	}
	switch f.Scope {
	case scopeOrganization:
	case scopeOwn: // which the service does not narrow
		return auditFilter{Scope: scopeOwn, Cursor: f.Cursor}
	default:
		f.Scope = scopeWorkspace
	}
	f.since, _ = strconv.ParseInt(get("since"), 10, 64)
	f.readSpan(zone)
	return f
}

func (f *auditFilter) readSpan(zone *time.Location) {
	f.problems = problems{Fields: map[string]string{}}
	var ok bool
	if f.From, f.from, _, ok = readMoment(f.From, zone); !ok {
		f.problems.Fields["from"] = "“From” is no time: write it as 2025-11-12T09:30."
	}
	if f.To, _, f.to, ok = readMoment(f.To, zone); !ok {
		f.problems.Fields["to"] = "“To” is no time: write it as 2025-11-12T09:30."
	}
	if f.from > 0 && f.to > 0 && f.from > f.to {
		f.problems.Fields["to"] = "“To” lies before “From”."
	}
}

// readMoment reads a time as a form has it, or in Unix milliseconds. It gives the
// text for the form again, and the first and the last millisecond that are meant:
// who asks for rows up to 9:30 wants those of that minute too.
func readMoment(text string, zone *time.Location) (shown string, first, last int64, ok bool) {
	if text == "" {
		return "", 0, 0, true
	}
	if at, err := strconv.ParseInt(text, 10, 64); err == nil && at > 0 && at <= web.LastMillisecond {
		return time.UnixMilli(at).In(zone).Format(fieldSecond), at, at, true
	}
	for _, form := range []struct {
		layout string
		span   func(time.Time) time.Time
	}{
		{fieldMinute, func(t time.Time) time.Time { return t.Add(time.Minute) }},
		{fieldSecond, func(t time.Time) time.Time { return t.Add(time.Second) }},
		{time.DateOnly, func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }},
	} {
		at, err := time.ParseInLocation(form.layout, text, zone)
		if err != nil || at.UnixMilli() <= 0 {
			continue
		}
		if form.layout == time.DateOnly {
			text = at.Format(fieldMinute)
		}
		return text, at.UnixMilli(), form.span(at).UnixMilli() - 1, true
	}
	return text, 0, 0, false
}

// Narrow says whether the filter leaves rows of its scope out.
func (f auditFilter) Narrow() bool {
	return f.Actor+f.Action+f.ResourceType+f.ResourceID+f.Outcome+f.From+f.To != ""
}

// Fields are the filter as an address or a form has it, without the place in
// the list.
func (f auditFilter) Fields() []nameValue {
	var list []nameValue
	for _, one := range []nameValue{
		{"scope", f.Scope}, {"actor", f.Actor}, {"action", f.Action}, {"resource_type", f.ResourceType}, {"resource_id", f.ResourceID},
		{"outcome", f.Outcome}, {"from", f.From}, {"to", f.To},
	} {
		if one.Value != "" {
			list = append(list, one)
		}
	}
	return list
}

type nameValue struct{ Name, Value string }

// address is where the filter is shown, with further pairs.
func (f auditFilter) address(path string, more ...string) string {
	var parts []string
	for _, one := range f.Fields() {
		parts = append(parts, one.Name+"="+url.QueryEscape(one.Value))
	}
	for i := 0; i+1 < len(more); i += 2 {
		parts = append(parts, more[i]+"="+url.QueryEscape(more[i+1]))
	}
	if len(parts) == 0 {
		return path
	}
	return path + "?" + strings.Join(parts, "&")
}

// ask is the filter as the service takes it.
func (f auditFilter) ask(v *visit) url.Values {
	query := url.Values{}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	switch f.Scope {
	case scopeOrganization:
		set("organization_id", v.workspace.OrganizationID)
	case scopeWorkspace:
		set("workspace_id", v.workspace.ID)
	}
	set("actor", f.Actor)
	set("action", f.Action)
	set("resource_type", f.ResourceType)
	set("resource_id", f.ResourceID)
	set("outcome", f.Outcome)
	if from := max(f.from, f.since); from > 0 {
		set("from", strconv.FormatInt(from, 10))
	}
	if f.to > 0 {
		set("to", strconv.FormatInt(f.to, 10))
	}
	return query
}

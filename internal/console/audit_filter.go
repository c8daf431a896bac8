package console

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"bursar/internal/auditlog"
	"bursar/internal/web"
)

// The scopes of the audit page: which log it shows.
const (
	scopeWorkspace    = ""
	scopeOrganization = "organization"
	scopeOwn          = "own"
)

// auditFilter is the filter of the audit page, as in the URL.
type auditFilter struct {
	Scope                                            string
	Actor, Action, ResourceType, ResourceID, Outcome string
	KeyID                                            string // an API key
	Period                                           string // one of the periods below, "" for all time
	From, To                                         string // as typed, for periodCustom
	Cursor                                           string
	after                                            string // only rows after this position in the log, oldest first, for polling

	from, to int64 // 0 if not given
	problems problems
}

// The periods to choose from.
const (
	periodToday  = "today"
	periodWeek   = "7d"
	periodMonth  = "30d"
	periodCustom = "custom"
)

const (
	fieldMinute = "2006-01-02T15:04"
	fieldSecond = "2006-01-02T15:04:05"
)

// readFilter reads the filter from a URL or a form. now is in the reader's zone, in which times without a zone are parsed.
func readFilter(values url.Values, now time.Time) auditFilter {
	get := func(name string) string { return strings.TrimSpace(values.Get(name)) }
	f := auditFilter{
		Scope: get("scope"), Actor: get("actor"), Action: get("action"), ResourceType: get("resource_type"),
		ResourceID: get("resource_id"), Outcome: get("outcome"), KeyID: get("key_id"), Period: get("period"), From: get("from"), To: get("to"), Cursor: get("cursor"),
	}
	if id := get("actor_id"); id != "" {
		f.Actor = id
	}
	switch f.Scope {
	case scopeOrganization:
	case scopeOwn: // the service has no filters for it
		return auditFilter{Scope: scopeOwn, Cursor: f.Cursor}
	default:
		f.Scope = scopeWorkspace
	}
	f.after = get("after")
	f.readSpan(now)
	return f
}

// readSpan sets the first and the last millisecond of the filter.
func (f *auditFilter) readSpan(now time.Time) {
	zone := now.Location()
	f.problems = problems{Fields: map[string]string{}}
	if days := daysOf(f.Period); days > 0 {
		f.From, f.To = "", ""
		f.from = time.Date(now.Year(), now.Month(), now.Day()-days+1, 0, 0, 0, 0, zone).UnixMilli()
		return
	}
	if f.Period != periodCustom {
		f.Period = ""
	}
	if f.From+f.To != "" { // a link may give times without a period
		f.Period = periodCustom
	}
	var ok bool
	if f.From, f.from, _, ok = readMoment(f.From, zone); !ok {
		f.problems.Fields["from"] = "“From” must be a date and time, such as 2025-11-12T09:30."
	}
	if f.To, _, f.to, ok = readMoment(f.To, zone); !ok {
		f.problems.Fields["to"] = "“To” must be a date and time, such as 2025-11-12T09:30."
	}
	if f.from > 0 && f.to > 0 && f.from > f.to {
		f.problems.Fields["to"] = "“To” must be later than “From”."
	}
}

// daysOf returns the number of days in a period, including the current one. It returns 0 if the period is not one of the fixed ones.
func daysOf(period string) int {
	switch period {
	case periodToday:
		return 1
	case periodWeek:
		return 7
	case periodMonth:
		return 30
	}
	return 0
}

// readMoment parses a time from a form, or in Unix milliseconds. It returns the text to show in the form, and the first and last
// millisecond that the text covers. A filter up to 9:30 includes that whole minute.
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

// Narrow reports whether the filter restricts the rows of its scope.
func (f auditFilter) Narrow() bool {
	return f.Actor+f.Action+f.ResourceType+f.ResourceID+f.Outcome+f.KeyID != "" || f.from > 0 || f.to > 0
}

// Fields returns the filter as query parameters, without the cursor.
func (f auditFilter) Fields() []nameValue {
	var list []nameValue
	for _, one := range []nameValue{
		{"scope", f.Scope}, {"actor", f.Actor}, {"action", f.Action}, {"resource_type", f.ResourceType}, {"resource_id", f.ResourceID},
		{"outcome", f.Outcome}, {"key_id", f.KeyID}, {"period", f.Period}, {"from", f.From}, {"to", f.To},
	} {
		if one.Value != "" {
			list = append(list, one)
		}
	}
	return list
}

type nameValue struct{ Name, Value string }

// address returns the URL of the filtered page. more are additional names and values.
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

// filters returns the filter in the form of the service.
func (f auditFilter) filters(v *visit) auditlog.Filters {
	out := auditlog.Filters{
		Actor: optional(f.Actor), Action: optional(f.Action), ResourceType: optional(f.ResourceType),
		ResourceID: optional(f.ResourceID), Outcome: optional(f.Outcome), KeyID: optional(f.KeyID),
	}
	switch f.Scope {
	case scopeOrganization:
		out.OrganizationID = &v.workspace.OrganizationID
	case scopeWorkspace:
		out.WorkspaceID = &v.workspace.ID
	}
	if f.from > 0 {
		out.From = new(strconv.FormatInt(f.from, 10))
	}
	if f.to > 0 {
		out.To = new(strconv.FormatInt(f.to, 10))
	}
	return out
}

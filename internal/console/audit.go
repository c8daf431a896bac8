package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/fault"
	"bursar/internal/web"
)

func (c *Console) auditRoutes() []Route {
	return []Route{
		c.getIn("/audit", c.auditPage),
		c.getIn("/audit/{id}", c.auditRowPage),
		c.postIn("/audit/export", audit.AuditExported, c.exportAudit),
	}
}

// auditPage is a page of the audit log with its filters.
type auditPage struct {
	Filter    auditFilter
	Scopes    []scopeLink
	Members   []choice // the people to choose from as the actor
	Actions   []choice
	Resources []choice
	Zone      string

	Rows   []auditRow
	Now    int64
	Poll   string // the URL of new rows; empty if none can arrive
	Older  string
	Newest string // the first page, if this is an older one
	Clear  string

	Exportable bool
	Proof      *auditProof // nil on pages that show only rows
}

// Prefix returns the text before the number of rows. If there are older rows, it states that these are the newest.
func (p auditPage) Prefix() string {
	if p.Older != "" && p.Newest == "" {
		return "Newest "
	}
	return ""
}

type scopeLink struct {
	Text, Path string
	Current    bool
}

const (
	auditTitle = "Audit"
	// nextPoll is the response header with the address to poll for the next rows.
	nextPoll = "X-Next-Poll"
)

func (c *Console) auditPage(v *visit) error {
	filter := readFilter(v.R.URL.Query(), v.localTime())
	for _, one := range filter.Fields() {
		v.preset(one.Name, one.Value)
	}
	page := auditPage{Filter: filter, Zone: v.zone.String(), Clear: auditFilter{Scope: filter.Scope}.address(v.path("audit"))}
	if len(filter.problems.Fields) > 0 {
		if err := c.addFilters(v, &page); err != nil {
			return err
		}
		return v.showAgain(http.StatusUnprocessableEntity, "audit", auditTitle, filter.problems, page)
	}
	if filter.after != "" {
		return c.auditArrivals(v, page)
	}
	end, err := c.auditEnd(v, filter)
	if err != nil {
		return err
	}
	list, err := c.auditRows(v, filter)
	if stale(err, filter.Cursor) {
		return v.redirect(filter.address(v.path("audit")))
	}
	if err != nil {
		return err
	}
	page.fill(v, list, end)
	if v.R.Header.Get("X-Fragment") == "rows" {
		return v.show("audit", auditTitle, page)
	}
	if err := c.addFilters(v, &page); err != nil {
		return err
	}
	return v.show("audit", auditTitle, page)
}

// auditEnd returns the last position in the log of the page. It is read before the rows, so that a row that arrives in between is polled
// for.
func (c *Console) auditEnd(v *visit, f auditFilter) (int64, error) {
	if f.Scope == scopeOwn {
		return 0, nil
	}
	return read(v, c.Audit.End, auditlog.EndInput{Filters: f.filters(v)})
}

// auditArrivals shows the rows after a position, newest first.
func (c *Console) auditArrivals(v *visit, page auditPage) error {
	feed, err := read(v, c.Audit.Feed, auditlog.FeedInput{Filters: page.Filter.filters(v), After: &page.Filter.after})
	if err != nil {
		return err
	}
	slices.Reverse(feed.Entries)
	page.fill(v, auditlog.Page{Rows: feed.Entries}, feed.After)
	v.W.Header().Set(nextPoll, page.Poll)
	return v.show("audit", auditTitle, page)
}

// localTime returns the current time in the visitor's zone.
func (v *visit) localTime() time.Time { return time.UnixMilli(v.console.endpoints.DB.Now()).In(v.zone) }

// auditRows reads a page of the entries that match the filter.
func (c *Console) auditRows(v *visit, f auditFilter) (auditlog.Page, error) {
	page := web.PageParams{Cursor: optional(f.Cursor)}
	if f.Scope != scopeOwn {
		return read(v, c.Audit.Page, auditlog.ListInput{Filters: f.filters(v), PageParams: page})
	}
	encoded, err := read(v, c.Audit.Activity, auditlog.ActivityInput{PageParams: page})
	if err != nil {
		return auditlog.Page{}, err
	}
	var own auditlog.Page
	if err := json.Unmarshal(encoded.Rows(), &own.Rows); err != nil {
		return own, fmt.Errorf("read the rows of a page: %w", err)
	}
	own.Cursor, own.More = encoded.Next()
	return own, nil
}

// stale reports whether the request's cursor belongs to another list.
func stale(err error, cursor string) bool {
	var fa *fault.Fault
	if cursor == "" || !errors.As(err, &fa) {
		return false
	}
	details, ok := fa.Details.(fault.ViolationDetails)
	return ok && len(details.Fields) == 1 && details.Fields[0].Field == "cursor"
}

// fill adds the rows, and the address to poll for rows after the end of the log.
func (p *auditPage) fill(v *visit, list auditlog.Page, end int64) {
	f, path, now := p.Filter, v.path("audit"), v.console.endpoints.DB.Now()
	p.Now = now
	for _, row := range list.Rows {
		p.Rows = append(p.Rows, newAuditRow(v, f, row))
	}
	if list.More {
		p.Older = f.address(path, "cursor", list.Cursor)
	}
	if f.Cursor != "" {
		p.Newest = f.address(path)
	}
	if f.Cursor == "" && f.Scope != scopeOwn && (f.to == 0 || f.to > now) {
		p.Poll = f.address(path, "after", strconv.FormatInt(end, 10))
	}
}

// addFilters adds the scopes and filters around the rows.
func (c *Console) addFilters(v *visit, p *auditPage) error {
	owner, err := c.ownsOrganization(v)
	if err != nil {
		return err
	}
	scope := p.Filter.Scope
	if v.can(access.AuditRead) {
		p.Scopes = append(p.Scopes, scopeLink{"This workspace", v.path("audit"), scope == scopeWorkspace})
	}
	if owner {
		p.Scopes = append(p.Scopes, scopeLink{"Organization", v.path("audit") + "?scope=" + scopeOrganization, scope == scopeOrganization})
	}
	p.Scopes = append(p.Scopes, scopeLink{"Your activity", v.path("audit") + "?scope=" + scopeOwn, scope == scopeOwn})
	if scope == scopeOwn {
		return nil
	}
	proof, err := c.auditProof(v)
	if err != nil {
		return err
	}
	p.Proof = &proof
	p.Exportable = scope == scopeOrganization && owner || scope == scopeWorkspace && v.can(access.AuditExport)
	members, err := c.homeMembers(v)
	p.Members, p.Actions, p.Resources = memberChoices(members), actionChoices(), resourceChoices()
	return err
}

// ownsOrganization reports whether the visitor may read the organization's own audit log.
func (c *Console) ownsOrganization(v *visit) (bool, error) {
	err := c.Authority.RequireInOrganization(v.R.Context(), v.Caller.Actor, v.workspace.OrganizationID, access.OrgSettingsWrite)
	var f *fault.Fault
	if errors.As(err, &f) {
		return false, nil
	}
	return err == nil, err
}

// memberChoices lists members to choose from.
func memberChoices(members []api.Member) (list []choice) {
	for _, m := range members {
		text := cmp.Or(m.Name, m.Email)
		if m.Name != "" && m.Email != "" && !strings.EqualFold(m.Name, m.Email) {
			text += " (" + m.Email + ")"
		}
		list = append(list, choice{Value: m.ID, Text: text})
	}
	return list
}

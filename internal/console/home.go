package console

import (
	"cmp"
	"net/url"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/directory"
	"bursar/internal/workspace"
)

func (c *Console) homeRoutes() []Route {
	return []Route{
		c.get("/", c.enterLast),
		c.getIn("", c.home),
		c.postIn("/steps/dismiss", audit.AccessDenied, c.dismissSteps),
	}
}

// enterLast redirects to the visitor's last workspace, or else to the first one in their list. A visitor without workspaces answers their
// invitations first.
func (c *Console) enterLast(v *visit) error {
	if err := v.listWorkspaces(); err != nil {
		return err
	}
	last := lastWorkspace(v.workspaces, v.cookie(workspaceCookie))
	switch {
	case last == nil && v.invitations > 0:
		return v.redirect(invitationsPath)
	case last == nil:
		return v.redirect("/workspaces/new")
	}
	if err := v.enterLast(v.R.Context()); err != nil {
		return err
	}
	last = v.workspace
	return v.redirect(workspacePath(last.ID))
}

// recentRows is the number of recent audit entries on the home page.
const recentRows = 10

// homePage is the data of a workspace's home page. Parts that the visitor may not
// see stay empty.
type homePage struct {
	Stats     []stat
	Vacancies []approval.Vacancy // the visitor can extend them
	Steps     []step             // until all are done or the visitor dismisses them
	Attention []attentionItem
	Recent    []homeRow
	Chart     *chart // nil if the visitor may not read the audit log
	Roleless  bool   // the visitor is a member without any permission
}

// stat is a count with a link to the list of the counted items.
type stat struct {
	Label, Number, Path string
}

// homeRow is an audit entry in a short list.
type homeRow struct {
	api.AuditEntry
	Who    string
	Result string // the outcome in words
	Kind   string // the style of the outcome's badge

	Changes []shownChange
}

func newHomeRow(v *visit, row api.AuditEntry) homeRow {
	if row.Erased {
		row.Description = audit.Action(row.Action).Title() // nothing else is left after erasure
	}
	return homeRow{AuditEntry: row, Who: actorName(row), Result: outcomeText(row.Outcome), Kind: outcomeKind(row.Outcome), Changes: shownChanges(row.Changes, v.zone)}
}

func (c *Console) home(v *visit) error {
	page := homePage{Roleless: v.held == 0}
	vacancies, err := v.vacancies()
	if err != nil {
		return err
	}
	page.Vacancies = slices.DeleteFunc(vacancies, func(one approval.Vacancy) bool { return !one.Extendable })
	members, err := c.homeMembers(v)
	if err != nil {
		return err
	}
	keys, err := c.homeKeys(v)
	if err != nil {
		return err
	}
	payees := 0
	if v.can(access.DirectoryRead) {
		counts, err := c.Directory.Counts(v.R.Context(), v.Caller, v.workspace.ID)
		if err != nil {
			return err
		}
		page.Stats = directoryStats(v, counts)
		payees = counts.People.N + counts.Organizations.N
	}
	page.Steps = v.firstSteps(payees, len(members), keys.own)
	if v.can(access.MembersRead) {
		page.Stats = append(page.Stats, stat{nounFor(len(members), "Member", "Members"), amount(len(members), false), v.path("members")})
	}
	if page.Attention, err = c.troubles(v); err != nil {
		return err
	}
	unsafe, err := c.backupTrouble(v)
	if err != nil {
		return err
	}
	page.Attention = append(unsafe, page.Attention...)
	page.Attention = append(append(page.Attention, invitations(v, members)...), keys.unused(v)...)
	if v.can(access.AuditRead) {
		if err := c.homeActivity(v, &page); err != nil {
			return err
		}
	}
	return v.show("home", v.workspace.Name, page)
}

func (c *Console) homeMembers(v *visit) ([]api.Member, error) {
	if !v.can(access.MembersRead) {
		return nil, nil
	}
	list, err := read(v, c.Workspaces.Members, workspace.MembersInput{ID: v.workspace.ID})
	return list.Rows(), err
}

func (c *Console) homeActivity(v *visit, page *homePage) error {
	recent, err := c.Audit.Recent(v.R.Context(), v.Caller, v.workspace.ID, recentRows)
	if err != nil {
		return err
	}
	for _, row := range recent {
		page.Recent = append(page.Recent, newHomeRow(v, row))
	}
	days, err := c.Audit.Activity30(v.R.Context(), v.Caller, v.workspace.ID, v.zone)
	if err != nil {
		return err
	}
	drawn := newChart(days, v.zone)
	page.Chart = &drawn
	return nil
}

func directoryStats(v *visit, counts directory.Counts) []stat {
	entries := func(name, value string) string {
		return v.path("directory") + "?" + url.Values{name: {value}}.Encode()
	}
	number := func(c directory.Count) string { return amount(c.N, c.More) }
	return []stat{
		{nounFor(counts.People.N, "Person", "People"), number(counts.People), entries("type", "person")},
		{nounFor(counts.Organizations.N, "Organization", "Organizations"), number(counts.Organizations), entries("type", "organization")},
		{"Inactive", number(counts.Inactive), entries("status", "inactive")},
		{nounFor(counts.Tags.N, "Tag", "Tags"), number(counts.Tags), v.path("directory", "tags")},
	}
}

// actorName returns the shortest readable name of an entry's actor.
func actorName(row api.AuditEntry) string {
	return cmp.Or(row.ActorName, row.ActorEmail, row.ActorID, "Bursar")
}

// outcomeKind returns the style of an outcome's badge.
func outcomeKind(outcome string) string {
	switch outcome {
	case "success":
		return "good"
	case "denied":
		return "bad"
	}
	return "warn"
}

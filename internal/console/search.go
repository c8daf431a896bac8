package console

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/directory"
	"bursar/internal/web"
)

func (c *Console) searchRoutes() []Route {
	return []Route{c.getIn("/search", c.searchPage)}
}

const (
	// searchShown is the number of search results of each kind.
	searchShown = 5

	// maxSearch is the maximum length of the search text, in bytes.
	maxSearch = 200
)

// searchPage finds payees, members and pages of a workspace. The search dialog shows
// the same results.
type searchPage struct {
	Query  string
	Groups []searchGroup // groups with results
	Count  int
}

// searchGroup contains the results of one kind.
type searchGroup struct {
	Name string
	Hits []searchHit
	More string // address of all results, empty if these are all
}

// searchHit is one result.
type searchHit struct{ Label, Detail, Path string }

func (c *Console) searchPage(v *visit) error {
	data := searchPage{Query: strings.TrimSpace(v.R.URL.Query().Get("q"))}
	if len(data.Query) > maxSearch {
		data.Query = strings.ToValidUTF8(data.Query[:maxSearch], "")
	}
	payees, err := v.searchPayees(data.Query)
	if err != nil {
		return err
	}
	members, err := v.searchMembers(data.Query)
	if err != nil {
		return err
	}
	for _, group := range []searchGroup{payees, members, v.searchPages(data.Query)} {
		if len(group.Hits) > 0 {
			data.Groups = append(data.Groups, group)
			data.Count += len(group.Hits)
		}
	}
	v.preset("q", data.Query)
	return v.show("search", "Search", data)
}

// searchPayees finds entries of the directory, if the visitor may see it.
func (v *visit) searchPayees(text string) (searchGroup, error) {
	group := searchGroup{Name: "Payees"}
	if text == "" || !v.can(access.DirectoryRead) {
		return group, nil
	}
	list, err := read(v, v.console.Directory.List, directory.ListInput{
		WorkspaceID: v.workspace.ID, Q: &text, PageParams: web.PageParams{Limit: new(fmt.Sprint(searchShown))},
	})
	if wrong(err, "q") {
		return group, nil // more words than a directory search accepts
	}
	if err != nil {
		return group, err
	}
	var entries []entryRow
	if err := json.Unmarshal(list.Rows(), &entries); err != nil {
		return group, fmt.Errorf("read the entries that a search found: %w", err)
	}
	for _, e := range entries {
		detail := "Person"
		if e.Type == api.TypeOrganization {
			detail = "Organization"
		}
		if email := e.Text("email"); email != "" {
			detail += " · " + email
		}
		group.Hits = append(group.Hits, searchHit{e.Label, detail, v.path("directory", e.ID)})
	}
	if _, more := list.Next(); more {
		group.More = withQuery(v.path("directory"), url.Values{"q": {text}})
	}
	return group, nil
}

// searchMembers finds members of the workspace, if the visitor may see them.
func (v *visit) searchMembers(text string) (searchGroup, error) {
	group := searchGroup{Name: "Members"}
	if text == "" || !v.can(access.MembersRead) {
		return group, nil
	}
	members, err := v.members()
	if err != nil {
		return group, err
	}
	filter := memberFilter{Text: text}
	for _, m := range members {
		if !filter.keeps(m) {
			continue
		}
		if len(group.Hits) == searchShown {
			group.More = withQuery(v.path("members"), url.Values{"q": {text}})
			break
		}
		group.Hits = append(group.Hits, v.memberHit(m))
	}
	return group, nil
}

// memberHit links to the list of members, filtered to one.
func (v *visit) memberHit(m api.Member) searchHit {
	label, detail := memberRow{Member: m}.Called(), m.Email
	if detail == label {
		detail = ""
	}
	if isMachine(m) {
		detail = "Machine client"
	}
	find := m.Email
	if find == "" {
		find = m.Name
	}
	return searchHit{label, detail, withQuery(v.path("members"), url.Values{"q": {find}})}
}

// searchPages finds pages by their name: every word of the text must occur in it.
// Without a text it lists all pages.
func (v *visit) searchPages(text string) searchGroup {
	group := searchGroup{Name: "Pages"}
	words := strings.Fields(strings.ToLower(text))
	for _, page := range v.destinations() {
		name := strings.ToLower(page.Label)
		found := true
		for _, word := range words {
			found = found && strings.Contains(name, word)
		}
		if found {
			group.Hits = append(group.Hits, page)
		}
	}
	return group
}

// destinations returns the pages that the visitor may open.
func (v *visit) destinations() []searchHit {
	all := []struct {
		needs access.Permission
		searchHit
	}{
		{"", searchHit{Label: "Home", Path: v.path()}},
		{access.DirectoryRead, searchHit{Label: "Directory", Path: v.path("directory")}},
		{access.DirectoryWrite, searchHit{Label: "New person", Path: v.path("directory", "new") + "?type=" + api.TypePerson}},
		{access.DirectoryWrite, searchHit{Label: "New organization", Path: v.path("directory", "new") + "?type=" + api.TypeOrganization}},
		{access.DirectoryRead, searchHit{Label: "Tags", Path: v.path("directory", "tags")}},
		{access.DirectoryDelete, searchHit{Label: "Deleted entries", Path: v.path("directory", "deleted")}},
		{access.MembersRead, searchHit{Label: "Members", Path: v.path("members")}},
		{access.MembersRead, searchHit{Label: "Roles", Path: v.path("roles")}},
		{access.RolesWrite, searchHit{Label: "New role", Path: v.path("roles", "new")}},
		{"", searchHit{Label: "API keys", Path: v.path("keys")}},
		{"", searchHit{Label: "New API key", Path: v.path("keys", "new")}},
		{access.KeysWrite, searchHit{Label: "New machine client", Path: v.path("clients", "new")}},
		{access.AuditRead, searchHit{Label: "Audit log", Path: v.path("audit")}},
		{"", searchHit{Label: "Organization and workspace settings", Path: v.path("organization")}},
		{"", searchHit{Label: "New workspace", Path: "/workspaces/new"}},
		{"", searchHit{Label: "Your account: name, password, passkeys, sessions", Path: "/account"}},
		{"", searchHit{Label: "Approve a device", Path: "/device"}},
		{"", searchHit{Label: "API reference", Path: "/docs"}},
	}
	var open []searchHit
	for _, page := range all {
		if page.needs == "" || v.can(page.needs) {
			open = append(open, page.searchHit)
		}
	}
	return open
}

package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/directory"
	"bursar/internal/fault"
)

func (c *Console) directoryRoutes() []Route {
	return append(c.bulkRoutes(), []Route{
		c.getIn("/directory", c.directoryPage),
		c.postIn("/directory", audit.EntryCreated, c.createEntry),
		c.getIn("/directory/new", c.newEntryPage),
		c.getIn("/directory/deleted", c.deletedPage),

		c.getIn("/directory/tags", c.tagsPage),
		c.postIn("/directory/tags", audit.TagCreated, c.createTag),
		c.getIn("/directory/tags/{id}", c.tagPage),
		c.postIn("/directory/tags/{id}", audit.TagUpdated, c.updateTag),
		c.postIn("/directory/tags/{id}/delete", audit.TagDeleted, c.deleteTag),

		c.postIn("/directory/merges/{id}/undo", audit.EntryUnmerged, c.undoMerge),
		c.getIn("/directory/{id}/merge", c.mergePage),
		c.postIn("/directory/{id}/merge", audit.EntryMerged, c.mergeEntries),

		c.getIn("/directory/{id}", c.entryPage),
		c.postIn("/directory/{id}", audit.EntryUpdated, c.updateEntry),
		c.getIn("/directory/{id}/edit", c.editEntryPage),
		c.postIn("/directory/{id}/status", audit.EntryUpdated, c.setEntryStatus),
		c.postIn("/directory/{id}/tags", audit.EntryUpdated, c.retagEntry),
		c.postIn("/directory/{id}/delete", audit.EntryDeleted, c.deleteEntry),
		c.postIn("/directory/{id}/restore", audit.EntryRestored, c.restoreEntry),

		c.getIn("/directory/{id}/receiving/new", c.newMethodPage),
		c.postIn("/directory/{id}/receiving", audit.ReceivingMethodAdded, c.addMethod),
		c.getIn("/directory/{id}/receiving/{method_id}", c.methodPage),
		c.postIn("/directory/{id}/receiving/{method_id}", audit.ReceivingMethodUpdated, c.updateMethod),
		c.postIn("/directory/{id}/receiving/{method_id}/default", audit.ReceivingMethodUpdated, c.makeMethodDefault),
		c.postIn("/directory/{id}/receiving/{method_id}/remove", audit.ReceivingMethodRemoved, c.removeMethod),
	}...)
}

// directoryFilters are the filters of the list, as in its URL.
type directoryFilters struct{ Q, Type, Status, Tag, Sort string }

// filterNames returns the query parameters that filter and sort the list.
func filterNames() []string { return []string{"q", "type", "status", "tag", "sort"} }

// Any reports whether a filter is set.
func (f directoryFilters) Any() bool {
	f.Sort = ""
	return f != directoryFilters{}
}

// Sorts returns the possible orders of the list. Search results are always newest first.
func (f directoryFilters) Sorts() []choice {
	if f.Q != "" {
		return options("", "Newest first")
	}
	return options("", "Newest first", "created", "Oldest first", "label", "Name, A to Z", "-label", "Name, Z to A",
		"-updated", "Last changed first", "updated", "Unchanged longest first")
}

// Sorted returns the order of the list in words.
func (f directoryFilters) Sorted() string {
	return cmp.Or(map[string]string{
		"created": "oldest first", "label": "by name", "-label": "by name from the end",
		"-updated": "last changed first", "updated": "unchanged longest first",
	}[f.Sort], "newest first")
}

// ByName returns the address of the list with the same filters, sorted by name. If it is already sorted by name, the order is reversed.
func (f directoryFilters) ByName() string {
	query := url.Values{"sort": {"label"}}
	if f.Sort == "label" {
		query.Set("sort", "-label")
	}
	for name, value := range map[string]string{"type": f.Type, "status": f.Status, "tag": f.Tag} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return "?" + query.Encode()
}

// Chosen reports whether the list is filtered by a tag.
func (f directoryFilters) Chosen(t api.Tag) bool {
	return t.ID == f.Tag || strings.EqualFold(t.Name, f.Tag)
}

// entryRow is an entry in the list.
type entryRow struct {
	api.EntrySummary
	Tags []string
}

// Text returns the value of a field, or "" if the entry does not have it.
func (r entryRow) Text(key string) string { return r.Fields.Display(key) }

// Contact returns the email address or else the phone number.
func (r entryRow) Contact() string { return cmp.Or(r.Text(api.FieldEmail), r.Text(api.FieldPhone)) }

// directoryPage is the list of entries.
type directoryPage struct {
	Filters directoryFilters
	Entries []entryRow
	Tags    []choice
	Pages   pageLinks
	Here    string // the query of the list's address
}

func (c *Console) directoryPage(v *visit) error {
	query := v.filters(filterNames()...)
	if query.Get("q") != "" {
		query.Del("sort")
	}
	data := directoryPage{Filters: directoryFilters{query.Get("q"), query.Get("type"), query.Get("status"), query.Get("tag"), query.Get("sort")}}
	tags, err := v.tags()
	if err != nil {
		return err
	}
	v.values, data.Here = maps.Clone(query), v.hereQuery(query)
	for _, t := range tags {
		data.Tags = append(data.Tags, choice{Value: t.Name, Text: t.Name})
		if data.Filters.Chosen(t) {
			v.values.Set("tag", t.Name)
		}
	}
	next, err := v.entries(query, &data)
	if wrong(err, "cursor") {
		return v.redirect(withQuery(v.path("directory"), query)) // the cursor belongs to other filters
	}
	if p, _, ok := formProblems(err); ok {
		return v.showAgain(http.StatusUnprocessableEntity, "directory", "Directory", p, data)
	}
	if err != nil {
		return err
	}
	data.Pages = v.pageLinks(v.path("directory"), query, next)
	return v.show("directory", "Directory", data)
}

// entries reads a page of the list into data and returns the cursor of the next
// page.
func (v *visit) entries(query url.Values, data *directoryPage) (next string, err error) {
	c := v.console
	in := v.listInput(query)
	in.PageParams = v.pageParams()
	list, err := read(v, c.Directory.List, in)
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(list.Rows(), &data.Entries); err != nil {
		return "", fmt.Errorf("read the entries of a page: %w", err)
	}
	var ids []string
	for _, row := range data.Entries {
		ids = append(ids, row.ID)
	}
	names, err := c.Directory.TagNames(v.R.Context(), v.Caller, v.workspace.ID, ids)
	for i := range data.Entries {
		data.Entries[i].Tags = names[data.Entries[i].ID]
	}
	next, _ = list.Next()
	return next, err
}

// listInput returns the request for the entries that the filters select.
func (v *visit) listInput(query url.Values) directory.ListInput {
	return directory.ListInput{
		WorkspaceID: v.workspace.ID, Q: optional(query.Get("q")), Type: optional(query.Get("type")), Status: optional(query.Get("status")),
		Tag: optional(query.Get("tag")), Sort: optional(query.Get("sort")),
	}
}

// tags lists the workspace's tags, sorted by name.
func (v *visit) tags() ([]api.Tag, error) {
	list, err := read(v, v.console.Directory.Tags, directory.TagsInput{WorkspaceID: v.workspace.ID})
	if err != nil {
		return nil, err
	}
	tags := slices.Clone(list.Rows())
	slices.SortStableFunc(tags, func(a, b api.Tag) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return tags, nil
}

// wrong reports whether an error is about the given field.
func wrong(err error, field string) bool {
	var f *fault.Fault
	if !errors.As(err, &f) {
		return false
	}
	details, ok := f.Details.(fault.ViolationDetails)
	return ok && slices.ContainsFunc(details.Fields, func(one fault.Violation) bool { return one.Field == field })
}

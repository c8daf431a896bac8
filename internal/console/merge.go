package console

import (
	"errors"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/directory"
	"bursar/internal/directory/entryfile"
	"bursar/internal/fault"
)

// duplicate is a possible duplicate of an entry, for display.
type duplicate struct {
	api.Duplicate
	Because string // what both have in common, in words
}

// doubles are the possible duplicates of an entry. Entries that only share an account are separate, because a shared account is no reason
// to merge them.
type doubles struct{ Same, SharedAccount []duplicate }

// doublesOf finds the possible duplicates of an entry.
func (v *visit) doublesOf(e api.Entry) (found doubles, err error) {
	list, err := read(v, v.console.Directory.Duplicates, directory.EntryInput{ID: e.ID})
	for _, d := range list.Duplicates {
		one := duplicate{d, because(d.Reasons)}
		if slices.Equal(d.Reasons, []string{"account"}) {
			found.SharedAccount = append(found.SharedAccount, one)
		} else {
			found.Same = append(found.Same, one)
		}
	}
	return found, err
}

// because describes what two entries have in common.
func because(reasons []string) string {
	words := map[string]string{"external_id": "external ID", "email": "email", "phone": "phone number", "account": "bank account", "name": "name"}
	var all []string
	for _, reason := range reasons {
		all = append(all, words[reason])
	}
	return "same " + strings.Join(all, " and ")
}

// called lists the names of duplicates in a sentence.
func called(list []api.Duplicate) string {
	var all []string
	for _, d := range list {
		all = append(all, d.Label+" ("+because(d.Reasons)+")")
	}
	return strings.Join(all, ", ")
}

// asDouble converts an error for a person. It names the entries for which a new one is refused.
func asDouble(err error) error {
	var no *fault.Fault
	if !errors.As(err, &no) || no.Code != api.CodeDuplicateEntry {
		return err
	}
	told := "this workspace does not take doubles, and the entry may be one"
	if details, ok := no.Details.(api.Duplicates); ok && len(details.Duplicates) > 0 {
		told += ": of " + called(details.Duplicates)
	}
	return fault.New(no.Code, "%s", told)
}

// mergePage shows an entry and its possible duplicates side by side.
type mergePage struct {
	Target  api.Entry
	Parties []mergeParty // the target is the first
	Rows    []mergeRow
}

// mergeParty is a column of the page.
type mergeParty struct {
	api.Entry
	Because string
	Chosen  bool // it is merged
}

// Sources returns the entries that can be merged into the target.
func (p mergePage) Sources() []mergeParty { return p.Parties[1:] }

// mergeRow is a value of the entries, and the entry from which it is taken.
type mergeRow struct {
	Field, Caption string
	Cells          []mergeCell
	Same           bool // all have the same value
}

type mergeCell struct {
	ID, Label, Value string
	Chosen           bool
}

// takePrefix is the prefix of the inputs that choose whose value is taken.
const takePrefix = "take:"

// mergeParties reads the entry of the page, its possible duplicates, and the entries named in the URL. All have the same type.
func (c *Console) mergeParties(v *visit) ([]mergeParty, error) {
	e, err := v.entry()
	if err != nil {
		return nil, err
	}
	if err := v.need(access.DirectoryWrite); err != nil {
		return nil, err
	}
	found, err := v.doublesOf(e)
	if err != nil {
		return nil, err
	}
	named := v.R.URL.Query()["source"]
	why := map[string]string{}
	var ids []string
	for _, d := range found.Same {
		ids, why[d.ID] = append(ids, d.ID), d.Because
	}
	for _, id := range named[:min(len(named), api.MaxMergeSources)] {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	parties := []mergeParty{{Entry: e}}
	for _, id := range ids {
		other, err := read(v, c.Directory.Show, directory.ShowInput{ID: id})
		if err != nil {
			return nil, err
		}
		if other.WorkspaceID == e.WorkspaceID && other.Type == e.Type && other.ID != e.ID && other.MergedInto == "" {
			parties = append(parties, mergeParty{other, why[id], len(named) == 0 || slices.Contains(named, id)})
		}
	}
	return parties, nil
}

func (c *Console) mergePage(v *visit) error {
	parties, err := c.mergeParties(v)
	if err != nil {
		return err
	}
	return v.show("directory_merge", "Merge into "+parties[0].Label, newMergePage(parties, nil))
}

// newMergePage returns the page with its rows. taken contains whose values were chosen before. Without it, the values of the target are
// chosen, or else those of the first entry that has one.
func newMergePage(parties []mergeParty, taken map[string]string) mergePage {
	page := mergePage{Target: parties[0].Entry, Parties: parties}
	add := func(field, caption string, value func(e api.Entry) string) {
		row := mergeRow{Field: field, Caption: caption, Same: true}
		chosen := -1
		for i, p := range parties {
			text := value(p.Entry)
			row.Cells = append(row.Cells, mergeCell{ID: p.ID, Label: p.Label, Value: text})
			row.Same = row.Same && text == row.Cells[0].Value
			if p.ID == taken[field] || taken[field] == "" && chosen < 0 && text != "" {
				chosen = i
			}
		}
		if chosen < 0 {
			return // no entry has it
		}
		row.Cells[chosen].Chosen = true
		page.Rows = append(page.Rows, row)
	}
	for _, p := range entryfile.Properties() {
		add(p.Name, p.Caption, func(e api.Entry) string {
			if p.Values != nil {
				return capitalized(*p.Of(&e))
			}
			return *p.Of(&e)
		})
	}
	var keys []string
	for _, p := range parties {
		for _, f := range p.Fields {
			if !slices.Contains(keys, f.Key) {
				keys = append(keys, f.Key)
			}
		}
	}
	for _, key := range keys {
		add("fields."+key, caption(key), func(e api.Entry) string { return e.Fields.Display(key) })
	}
	return page
}

func (c *Console) mergeEntries(v *visit) error {
	e, err := v.entry()
	if err != nil {
		return err
	}
	in := directory.MergeInput{ID: e.ID, MergeRequest: api.MergeRequest{Sources: v.form["source"], Fields: map[string]string{}}}
	taken := map[string]string{}
	for name, values := range v.form {
		field, ok := strings.CutPrefix(name, takePrefix)
		if !ok {
			continue
		}
		taken[field] = values[0]
		if values[0] == e.ID || slices.Contains(in.Sources, values[0]) { // otherwise it belongs to an entry that is left out
			in.Fields[field] = values[0]
		}
	}
	made, err := change(v, c.Directory.Merge, in)
	if err != nil {
		p, status, ok := formProblems(err)
		if !ok {
			return err
		}
		if len(in.Sources) == 0 {
			p = problems{Text: "Choose at least one entry to merge."}
		}
		parties, failed := c.mergeParties(v)
		if failed != nil {
			return err
		}
		for i := range parties {
			parties[i].Chosen = slices.Contains(in.Sources, parties[i].ID)
		}
		return v.showAgain(status, "directory_merge", "Merge into "+e.Label, p, newMergePage(parties, taken))
	}
	if made.ApprovalID != "" {
		return v.done("The merge needs approval from another person.", v.path("directory", e.ID))
	}
	told := flash{Kind: "good", Text: "Merged. You can undo it within 30 days.", Undo: v.path("directory", "merges", made.ID, "undo")}
	return v.redirectWith(told, v.path("directory", e.ID))
}

func (c *Console) undoMerge(v *visit) error {
	in := directory.OneMergeInput{ID: v.R.PathValue("id")}
	m, err := read(v, c.Directory.GetMerge, in)
	if err = v.here(m.WorkspaceID, err); err != nil {
		return err
	}
	undone, err := change(v, c.Directory.UndoMerge, in)
	if err != nil {
		p, _, ok := formProblems(err)
		if !ok {
			return err
		}
		return v.redirectWith(flash{Kind: "bad", Text: p.Text}, v.path("directory", m.TargetID))
	}
	if undone.ApprovalID != "" {
		return v.done("Undoing the merge needs approval from another person.", v.path("directory", m.TargetID))
	}
	return v.done("The merge was undone.", v.path("directory", m.TargetID))
}

// mergedBy returns the address of the form that undoes the merge of an entry, or "" if it cannot be
// undone.
func (c *Console) mergedBy(v *visit, e api.Entry) (string, error) {
	page, err := read(v, c.Directory.Merges, directory.MergesInput{WorkspaceID: v.workspace.ID, EntryID: &e.MergedInto})
	if err != nil {
		return "", err
	}
	for _, m := range page.Rows() {
		if m.UndoneAt == 0 && slices.Contains(m.Sources, e.ID) {
			return v.path("directory", "merges", m.ID, "undo"), nil
		}
	}
	return "", nil
}

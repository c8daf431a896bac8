package directory

import (
	"context"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// Tags lists the tags of a workspace, oldest first.
func (s *Service) Tags(ctx context.Context, by db.Caller, in TagsInput) (web.Page[api.Tag], error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, in.WorkspaceID, access.DirectoryRead); err != nil {
		return web.Page[api.Tag]{}, err
	}
	return web.ReadUnpaged(ctx, s.db, s.cursors, in.PageParams, func(t api.Tag) string { return t.ID },
		func(q db.Q, after string, take int) ([]api.Tag, error) { return tagsOf(q, in.WorkspaceID, after, take) }, "tags", in.WorkspaceID)
}

func tagsOf(q db.Q, workspaceID, after string, take int) ([]api.Tag, error) {
	return db.Collect(q, func(r db.Rows) api.Tag {
		return api.Tag{ID: r.Text(0), Name: r.Text(1), AppliesTo: r.Text(2)}
	}, `SELECT id, name, applies_to FROM directory_tag WHERE workspace_id = $1 AND id > $2 ORDER BY id LIMIT $3`, workspaceID, after, take)
}

// maxTagged is the largest number of entries that TagNames accepts.
const maxTagged = 100

// TagNames returns the names of the tags of entries, by the id of the entry. Ids that are
// not entries of the workspace have none.
func (s *Service) TagNames(ctx context.Context, by db.Caller, workspaceID string, entryIDs []string) (map[string][]string, error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, workspaceID, access.DirectoryRead); err != nil {
		return nil, err
	}
	if len(entryIDs) > maxTagged {
		return nil, fault.Invalid("entries", "must be at most 100")
	}
	if len(entryIDs) == 0 {
		return map[string][]string{}, nil
	}
	var names map[string][]string
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		names, err = tagNamesOf(q, workspaceID, entryIDs)
		return err
	})
	return names, err
}

// CreateTag creates a tag.
func (s *Service) CreateTag(ctx context.Context, by db.Caller, in CreateTagInput) (api.Tag, error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, in.WorkspaceID, access.TagsWrite); err != nil {
		return api.Tag{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Tag, audit.Event, error) {
		t := api.Tag{Name: in.Name, AppliesTo: api.AppliesToAll}
		if in.AppliesTo != nil {
			t.AppliesTo = *in.AppliesTo
		}
		made, err := insertTag(tx, in.WorkspaceID, &t)
		if err == nil && !made {
			err = tagExists(in.Name)
		}
		return t, tagEvent(audit.TagCreated, in.WorkspaceID, t, "Created"), err
	})
}

func tagExists(name string) error {
	return fault.New(api.CodeTagExists, "there is a tag %q already", name)
}

func tagEvent(action audit.Action, workspaceID string, t api.Tag, verb string) audit.Event {
	return audit.Event{Action: action, WorkspaceID: workspaceID, ResourceID: t.ID, Description: verb + " tag " + t.Name}
}

// tagChanges returns what differs between two versions of a tag; an empty version means no tag.
func tagChanges(before, after api.Tag) audit.Changes {
	var c audit.Changes
	c.Add("name", before.Name, after.Name)
	c.Add("applies_to", before.AppliesTo, after.AppliesTo)
	return c
}

// mayTag requires the permission to change tags in the workspace of a tag.
func (s *Service) mayTag(ctx context.Context, by db.Caller, tagID string) (workspaceID string, err error) {
	err = s.db.Read(ctx, func(q db.Q) error {
		_, err := q.Row(`SELECT workspace_id FROM directory_tag WHERE id = $1`, tagID).Scan(&workspaceID)
		return err
	})
	if err != nil {
		return "", err
	}
	err = s.authority.RequireInWorkspace(ctx, by.Actor, workspaceID, access.TagsWrite)
	return workspaceID, fault.Replace(err, api.CodeNotFound, fault.Missing("tag"))
}

// UpdateTag renames a tag or changes what it applies to.
func (s *Service) UpdateTag(ctx context.Context, by db.Caller, in UpdateTagInput) (api.Tag, error) {
	workspaceID, err := s.mayTag(ctx, by, in.ID)
	if err != nil {
		return api.Tag{}, err
	}
	tag, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Tag, audit.Event, error) {
		before, err := lockTag(tx, in.ID)
		if err != nil {
			return before, audit.Event{}, err
		}
		after := before
		if in.Name != nil {
			after.Name = *in.Name
		}
		if in.AppliesTo != nil {
			after.AppliesTo = *in.AppliesTo
		}
		if after == before {
			return after, audit.None("nothing changed"), nil
		}
		if err := stillApplies(tx.Q, after); err != nil {
			return after, audit.Event{}, err
		}
		event := tagEvent(audit.TagUpdated, workspaceID, after, "Updated")
		event.Changes = tagChanges(before, after)
		return after, event, tx.Exec(
			`UPDATE directory_tag SET name = $2, name_key = $3, applies_to = $4 WHERE id = $1`, in.ID, after.Name, nameKey(after.Name), after.AppliesTo)
	})
	if db.IsUnique(err) {
		return api.Tag{}, tagExists(*in.Name)
	}
	return tag, err
}

// DeleteTag deletes a tag and removes it from every entry.
func (s *Service) DeleteTag(ctx context.Context, by db.Caller, in TagInput) (api.Deleted, error) {
	workspaceID, err := s.mayTag(ctx, by, in.ID)
	if err != nil {
		return api.Deleted{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Deleted, audit.Event, error) {
		t, err := lockTag(tx, in.ID)
		if err == nil {
			err = tx.Exec(`DELETE FROM directory_tag WHERE id = $1`, in.ID)
		}
		event := tagEvent(audit.TagDeleted, workspaceID, t, "Deleted")
		event.Changes = tagChanges(t, api.Tag{})
		return api.Deleted{ID: in.ID, Deleted: true}, event, err
	})
}

func lockTag(tx *db.Tx, id string) (api.Tag, error) {
	var t api.Tag
	found, err := tx.Row(`UPDATE directory_tag SET name = name WHERE id = $1 RETURNING id, name, applies_to`, id).
		Scan(&t.ID, &t.Name, &t.AppliesTo)
	if err == nil && !found {
		err = fault.Missing("tag")
	}
	return t, err
}

// stillApplies returns an error if an entry has the tag but not the type that the tag
// now applies to.
func stillApplies(q db.Q, t api.Tag) error {
	if t.AppliesTo == api.AppliesToAll {
		return nil
	}
	other, err := q.Row(`SELECT e.type FROM directory_entry_tag t JOIN directory_entry e ON e.id = t.entry_id
		WHERE t.tag_id = $1 AND e.type <> $2 LIMIT 1`, t.ID, t.AppliesTo).Scan(new(string))
	if err == nil && other {
		err = fault.New(api.CodeTagInUse, "entries that are not of type %s have the tag", t.AppliesTo)
	}
	return err
}

// nameKey returns the part of the name of a tag that must be unique: case does not matter.
func nameKey(name string) string { return strings.ToLower(name) }

func insertTag(tx *db.Tx, workspaceID string, t *api.Tag) (made bool, err error) {
	t.ID = tx.NewID("tag")
	return tx.Row(`INSERT INTO directory_tag (id, workspace_id, name, name_key, applies_to, created_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (workspace_id, name_key) DO NOTHING RETURNING id`,
		t.ID, workspaceID, t.Name, nameKey(t.Name), t.AppliesTo, tx.Now()).Scan(new(string))
}

// tagIDLength is the length of "tag_" and 26 characters.
const tagIDLength = 30

func looksLikeTagID(text string) bool {
	return len(text) == tagIDLength && strings.HasPrefix(text, "tag_")
}

// byIDOrName returns the query for a tag of a workspace, and its parameter.
func byIDOrName(text string) (sql, value string) {
	column, value := "name_key", nameKey(text)
	if looksLikeTagID(text) {
		column, value = "id", text
	}
	return `SELECT id, name, applies_to FROM directory_tag WHERE workspace_id = $1 AND ` + column + ` = $2`, value
}

// findTag reads a tag and locks it until the end of the transaction.
func findTag(tx *db.Tx, workspaceID, text string) (t api.Tag, found bool, err error) {
	sql, value := byIDOrName(text)
	found, err = tx.Row(tx.ForShare(sql), workspaceID, value).Scan(&t.ID, &t.Name, &t.AppliesTo)
	return t, found, err
}

func findTagID(q db.Q, workspaceID, text string) (id string, found bool, err error) {
	sql, value := byIDOrName(strings.TrimSpace(text))
	found, err = q.Row(sql, workspaceID, value).Scan(&id, new(string), new(string))
	return id, found, err
}

// resolveTags turns ids and names into tags. It creates a tag for a new name, if the caller may do so, and adds it to the known ones.
func resolveTags(tx *db.Tx, known map[string]api.Tag, e entry, given []string, held access.Set) ([]api.Tag, error) {
	var tags []api.Tag
	for _, text := range given {
		if err := canTag(known, e, text, held); err != nil {
			return nil, err
		}
		t, found := known[nameKey(text)]
		if !found {
			var err error
			if t, err = makeTag(tx, e.WorkspaceID, text); err != nil {
				return nil, err
			}
			known[nameKey(text)] = t
		}
		if !hasTag(tags, t.ID) {
			tags = append(tags, t)
		}
	}
	return tags, nil
}

// knownTags returns the tags that exist, by nameKey. It locks them in sorted order, so
// that two transactions with the same tags cannot deadlock.
func knownTags(tx *db.Tx, workspaceID string, given []string) (map[string]api.Tag, error) {
	known := map[string]api.Tag{}
	sorted := slices.Clone(given)
	slices.SortFunc(sorted, func(a, b string) int { return strings.Compare(nameKey(a), nameKey(b)) })
	for _, text := range sorted {
		t, found, err := findTag(tx, workspaceID, text)
		if err != nil {
			return nil, err
		}
		if found {
			known[nameKey(text)] = t
		}
	}
	return known, nil
}

// canTag returns an error unless an entry can have a tag: one that applies to it, or one that the caller may create.
func canTag(known map[string]api.Tag, e entry, text string, held access.Set) error {
	t, found := known[nameKey(text)]
	switch {
	case found && t.AppliesTo != api.AppliesToAll && t.AppliesTo != e.Type:
		return fault.Invalid("tags", "has the tag "+t.Name+", which applies to "+t.AppliesTo+" only")
	case !found && looksLikeTagID(text):
		return fault.Invalid("tags", "has an id that no tag has")
	case !found && api.HasHidden(text):
		return fault.Invalid("tags", api.HiddenRule)
	case !found && !held.Has(access.TagsWrite):
		denied := fault.Denied(string(access.TagsWrite), fault.Scope{WorkspaceID: e.WorkspaceID})
		denied.Message += " to create the tag " + text
		return denied
	}
	return nil
}

func makeTag(tx *db.Tx, workspaceID, name string) (api.Tag, error) {
	for range 3 {
		t := api.Tag{Name: name, AppliesTo: api.AppliesToAll}
		if made, err := insertTag(tx, workspaceID, &t); err != nil || made {
			return t, err
		}
		// Another transaction has just created it, and may delete it again.
		if t, found, err := findTag(tx, workspaceID, name); err != nil || found {
			return t, err
		}
	}
	return api.Tag{}, fault.Invalid("tags", "has the tag "+name+", which is being deleted")
}

func attach(tx *db.Tx, entryID string, tags []api.Tag) error {
	for _, t := range tags {
		if err := tx.Exec(`INSERT INTO directory_entry_tag (entry_id, tag_id, live) VALUES ($1, $2, TRUE)`, stored(entryID), t.ID); err != nil {
			return err
		}
	}
	return nil
}

// replaceTags gives an entry these tags and no others. It returns the names of the removed and added ones.
func replaceTags(tx *db.Tx, known map[string]api.Tag, e entry, given []string, held access.Set) (gone, added []string, err error) {
	wanted, err := resolveTags(tx, known, e, given, held)
	if err != nil {
		return nil, nil, err
	}
	current, err := tagsOfEntry(tx.Q, e.ID)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range current {
		if hasTag(wanted, t.ID) {
			continue
		}
		gone = append(gone, t.Name)
		if err := tx.Exec(`DELETE FROM directory_entry_tag WHERE entry_id = $1 AND tag_id = $2`, stored(e.ID), t.ID); err != nil {
			return nil, nil, err
		}
	}
	missing := slices.DeleteFunc(wanted, func(t api.Tag) bool { return hasTag(current, t.ID) })
	for _, t := range missing {
		added = append(added, t.Name)
	}
	return gone, added, attach(tx, e.ID, missing)
}

func hasTag(tags []api.Tag, id string) bool {
	return slices.ContainsFunc(tags, func(t api.Tag) bool { return t.ID == id })
}

func tagsOfEntry(q db.Q, entryID string) ([]api.Tag, error) {
	return db.Collect(q, func(r db.Rows) api.Tag { return api.Tag{ID: r.Text(0), Name: r.Text(1)} },
		`SELECT t.id, t.name FROM directory_entry_tag x JOIN directory_tag t ON t.id = x.tag_id WHERE x.entry_id = $1 ORDER BY t.name_key`, stored(entryID))
}

func tagNames(q db.Q, entryID string) ([]string, error) {
	tags, err := tagsOfEntry(q, entryID)
	names := make([]string, 0, len(tags))
	for _, t := range tags {
		names = append(names, t.Name)
	}
	return names, err
}

// tagNamesOf returns the tags of several entries, each in the order of tagNames.
func tagNamesOf(q db.Q, workspaceID string, entryIDs []string) (map[string][]string, error) {
	sql := db.NewStatement(``)
	sql.AddList(`SELECT x.entry_id, t.name, t.workspace_id FROM directory_entry_tag x CROSS JOIN directory_tag t
		WHERE t.id = x.tag_id AND x.entry_id IN (`, storedAll(entryIDs))
	sql.Add(` AND x.live = TRUE ORDER BY x.entry_id, t.name_key`)
	names := map[string][]string{}
	// If the query had the workspace, the planners would start with all its tags and all entries that have them.
	err := q.EachOf(sql, func(r db.Rows) error {
		if r.Text(2) == workspaceID {
			id := db.UnpackID("entry", r, 0)
			names[id] = append(names[id], r.Text(1))
		}
		return nil
	})
	return names, err
}

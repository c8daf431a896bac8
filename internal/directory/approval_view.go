package directory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"regexp"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/db"
)

// completePayee adds how to reach the payee, and other recent changes of the payee. Only those who may read receiving methods see that; others
// see the approval, for example the requester of a change of the name. If it contains account numbers, the audit log records that.
func (s *Service) completePayee(ctx context.Context, by db.Caller, held access.Set, a approval.Approval, shown *api.Approval) error {
	if !held.Has(access.ReceivingRead) {
		return nil
	}
	var e entry
	var untold bool
	err := s.db.Read(ctx, func(q db.Q) error {
		at, err := locate(q, a.AboutID)
		if err != nil {
			return err
		}
		if e, err = read(q, `SELECT `+columns+` FROM directory_entry WHERE id = $1`, at); err != nil || e.ID == "" {
			return err
		}
		recent, err := recentChanges(q, e, a.SubjectID, s.db.Now())
		if err != nil {
			return err
		}
		shown.RecentChanges, shown.ChangedFields = recent.list, recent.changedFields()
		shown.Contacts = contacts(e.Fields, recent.earlierContacts())
		if a.Kind != methodKind {
			return nil
		}
		untold, err = revealing(by, e).Left(q, s.db.Now())
		return err
	})
	if err == nil && untold && e.ID != "" {
		err = s.reveal(ctx, by, e)
	}
	return err
}

// recentLog is the recent content of the audit log about an entry.
type recentLog struct {
	list   []api.ApprovalChange // of the entry and its other methods, newest first
	fields map[string]*api.ApprovalFieldChange
}

// recentChanges reads recent changes of an entry and of its other receiving methods, current and former. Approvers see them without the
// permission to read the whole log. Each current method has its own kinds of changes. The former ones share theirs, so adding and removing
// many methods does not make the list long. The changes of a field are collected from all rows. Fields of an entry that was merged into this
// one are left out. Otherwise a person could make their own number the one to call back, by merging an entry that once had it.
func recentChanges(q db.Q, e entry, subjectID string, now int64) (found recentLog, err error) {
	text := func(r db.Rows) string { return r.Text(0) }
	present, err := db.Collect(q, text, `SELECT id FROM receiving_method WHERE entry_id = $1`, stored(e.ID))
	if err != nil {
		return found, err
	}
	about, err := db.Collect(q, text, `SELECT method_id FROM entry_method_log WHERE entry_id = $1`, stored(e.ID))
	if err != nil {
		return found, err
	}
	type change struct {
		group string
		row   api.ApprovalChange
	}
	var list []change
	found.fields = map[string]*api.ApprovalFieldChange{}
	about = slices.DeleteFunc(about, func(id string) bool { return id == subjectID || id == e.ID })
	for _, resource := range append(about, e.ID) {
		group := ""
		if resource == e.ID || slices.Contains(present, resource) {
			group = resource
		}
		var newest approval.Newest
		err := approval.EachRecent(q, e.WorkspaceID, e.workspace, resource, now, func(row api.ApprovalChange) {
			if newest.Keep("", row) {
				list = append(list, change{group, row})
			}
			if resource == e.ID {
				found.addFields(row)
			}
		})
		if err != nil {
			return found, err
		}
	}
	slices.SortStableFunc(list, func(a, b change) int { return cmp.Compare(b.row.Timestamp, a.row.Timestamp) })
	var newest approval.Newest
	for _, c := range list {
		if newest.Keep(c.group, c.row) {
			found.list = append(found.list, c.row)
		}
	}
	return found, nil
}

// addFields adds what a row contains about each field. The row is older than those added before.
func (l recentLog) addFields(row api.ApprovalChange) {
	for _, c := range row.Changes {
		if !isOfEntry(c.Field) {
			continue
		}
		if l.fields[c.Field] == nil {
			l.fields[c.Field] = &api.ApprovalFieldChange{Field: c.Field, After: plain(c.After), ActorName: row.ActorName, Timestamp: row.Timestamp}
		}
		one := l.fields[c.Field]
		one.Before = plain(c.Before) // newest first, so the oldest value stays
		one.Times++
	}
}

// isOfEntry reports whether a change in the log is of a value of an entry, and not of a request or an approval.
func isOfEntry(field string) bool {
	return isIdentity(field) || strings.HasPrefix(field, fieldPrefix)
}

// isIdentity reports whether a change in the log is of the identity of a payee.
func isIdentity(field string) bool {
	key, isField := strings.CutPrefix(field, fieldPrefix)
	if isField {
		return slices.Contains([]string{api.FieldName, api.FieldFirstName, api.FieldLastName}, key)
	}
	return slices.Contains([]string{"label", "name", "external_id", "status"}, field)
}

// changedFields lists the fields of an entry whose values differ from before, and those of its identity that changed at all. The identity
// comes first, then how to reach the payee, then the rest.
func (l recentLog) changedFields() []api.ApprovalFieldChange {
	list := []api.ApprovalFieldChange{}
	for _, one := range l.fields {
		if one.Before != one.After || isIdentity(one.Field) {
			list = append(list, *one)
		}
	}
	rank := func(c api.ApprovalFieldChange) int {
		key, isField := strings.CutPrefix(c.Field, fieldPrefix)
		switch {
		case isIdentity(c.Field):
			return 0
		case isField && isContact(key, c.Before, c.After):
			return 1
		}
		return 2
	}
	slices.SortFunc(list, func(a, b api.ApprovalFieldChange) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Field, b.Field))
	})
	return list
}

// earlierContacts returns the values of the contact fields before the changes.
func (l recentLog) earlierContacts() map[string]string {
	earlier := map[string]string{}
	for field, one := range l.fields {
		if key, isField := strings.CutPrefix(field, fieldPrefix); isField && isContact(key, one.Before, one.After) {
			earlier[key] = one.Before
		}
	}
	return earlier
}

// payeeView contains how to reach a payee, and which fields of the payee changed recently.
type payeeView struct {
	contacts []api.ApprovalContact
	changed  []api.ApprovalFieldChange
}

// viewPayee returns what an approver sees of a payee, if the payee still exists.
func viewPayee(q db.Q, entryID string, now int64) (payeeView, error) {
	none := payeeView{[]api.ApprovalContact{}, []api.ApprovalFieldChange{}}
	at, err := locate(q, entryID)
	if err != nil || at.workspaceID == "" {
		return none, err
	}
	e, err := read(q, `SELECT `+columns+` FROM directory_entry WHERE id = $1`, at)
	if err != nil || e.ID == "" {
		return none, err
	}
	recent := recentLog{fields: map[string]*api.ApprovalFieldChange{}}
	err = approval.EachRecent(q, e.WorkspaceID, e.workspace, e.ID, now, recent.addFields)
	return payeeView{contacts(e.Fields, recent.earlierContacts()), recent.changedFields()}, err
}

// contacts returns the contact fields of an entry, with their values before the recent changes. A person who entered another account may
// also have entered their own phone number.
func contacts(fields api.Fields, earlier map[string]string) []api.ApprovalContact {
	list := []api.ApprovalContact{}
	for _, f := range fields {
		one := api.ApprovalContact{Field: f.Key, Now: plain(f.Value)}
		before, changed := earlier[f.Key]
		if !changed && !isContact(f.Key, one.Now) {
			continue
		}
		if before != one.Now {
			one.Earlier = before
		}
		list = append(list, one)
		delete(earlier, f.Key)
	}
	for _, key := range slices.Sorted(maps.Keys(earlier)) { // contacts that the entry no longer has
		if earlier[key] != "" {
			list = append(list, api.ApprovalContact{Field: key, Earlier: earlier[key]})
		}
	}
	return list
}

// phoneLike matches a text that consists only of a phone number.
var phoneLike = regexp.MustCompile(`^\+?[0-9 ()./-]+$`)

// isContact reports whether a field is a way to reach a payee, by its name or by one of its values.
func isContact(key string, values ...string) bool {
	key = strings.ToLower(key)
	for _, part := range []string{"phone", "mobile", "mail", "whatsapp", "viber", "telegram", "messenger", "fax", "tel", "cell", "contact", "gsm"} {
		if strings.Contains(key, part) {
			return true
		}
	}
	return slices.ContainsFunc(values, func(text string) bool {
		digits := strings.Count(strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return '0'
			}
			return r
		}, text), "0")
		return api.IsEmail(text) || phoneLike.MatchString(text) && digits >= 7 && digits <= 15
	})
}

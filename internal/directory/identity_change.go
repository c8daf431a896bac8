package directory

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// payeeIdentity contains the values by which people and systems identify a payee, and whether it is active.
type payeeIdentity struct {
	Label      string     `json:"label"`
	LabelSent  bool       `json:"label_sent"`
	Name       string     `json:"name"`
	ExternalID string     `json:"external_id"`
	Status     string     `json:"status"`
	Fields     api.Fields `json:"fields"` // of labelFields, those that change
}

// labelFields returns the fields that a label is derived from.
func labelFields() []string {
	return []string{api.FieldName, api.FieldFirstName, api.FieldLastName, api.FieldEmail, api.FieldPhone}
}

// identityChange is a change of the identity of one entry that a second person approves. It is a part of the payload of an
// approval, because Methods have account numbers: see splitIdentity, holdIdentity, applyIdentity and dropIdentity.
type identityChange struct {
	EntryID string        `json:"entry_id"`
	Before  payeeIdentity `json:"before"`
	After   payeeIdentity `json:"after"`
	// Operation is merge or undo_merge if the change is that of an entry into which others are merged.
	Operation string `json:"operation,omitempty"`
	// Methods are those that are or may become payable: the accounts that are paid under the new identity.
	Methods []api.ReceivingMethod `json:"methods,omitempty"`
}

func (c identityChange) isEmpty() bool { return c.EntryID == "" }

func (c identityChange) activates() bool {
	return c.Before.Status == api.StatusInactive && c.After.Status == api.StatusActive
}

// equal reports whether two changes lead from the same identity to the same one.
func (c identityChange) equal(other identityChange) bool {
	return c.EntryID == other.EntryID && c.Operation == other.Operation && c.Before.equal(other.Before) && c.After.equal(other.After)
}

func (i payeeIdentity) equal(other payeeIdentity) bool {
	return i.Label == other.Label && i.LabelSent == other.LabelSent && i.Name == other.Name && i.ExternalID == other.ExternalID &&
		i.Status == other.Status && !slices.ContainsFunc(labelFields(), func(key string) bool { return !sameField(i.Fields, other.Fields, key) })
}

// identityOf returns the identity of an entry, with some of its fields.
func identityOf(e entry, keys []string) payeeIdentity {
	i := payeeIdentity{Label: e.Label, LabelSent: e.labelSent, Name: e.Name, ExternalID: e.ExternalID, Status: e.Status}
	for _, key := range keys {
		if one, ok := e.Fields.Get(key); ok {
			i.Fields = append(i.Fields, one)
		}
	}
	return i
}

// fieldKeys returns the fields of a change.
func (c identityChange) fieldKeys() (keys []string) {
	for _, one := range slices.Concat(c.Before.Fields, c.After.Fields) {
		if !slices.Contains(keys, one.Key) {
			keys = append(keys, one.Key)
		}
	}
	return keys
}

// of returns an entry with the change applied to it.
func (c identityChange) of(e entry) entry {
	e.Fields = withFields(e.Fields, c.After.Fields, c.fieldKeys())
	if c.activates() {
		e.Status = api.StatusActive
	}
	e.Name, e.ExternalID, e.labelSent = c.After.Name, c.After.ExternalID, c.After.LabelSent
	if e.labelSent {
		e.Label = c.After.Label
	}
	e.setLabel(nil)
	return e
}

// appliesTo reports whether an entry still has the values that the change replaces. A payee that was deactivated meanwhile stays inactive.
func (c identityChange) appliesTo(e entry) bool {
	now := identityOf(e, c.fieldKeys())
	if !c.activates() {
		now.Status = c.Before.Status
	}
	return now.equal(c.Before) && c.of(e).Label == c.After.Label
}

// changes returns the changes for the audit log, under a prefix.
func (c identityChange) changes(prefix string) audit.Changes {
	var all, renamed audit.Changes
	all.Add("label", c.Before.Label, c.After.Label)
	all.Add("label_sent", c.Before.LabelSent, c.After.LabelSent)
	all.Add("name", c.Before.Name, c.After.Name)
	if c.activates() {
		all.Add("status", c.Before.Status, c.After.Status)
	}
	all.Add("external_id", c.Before.ExternalID, c.After.ExternalID)
	all.AddFields(c.Before.Fields, c.After.Fields)
	for _, one := range all {
		one.Field = prefix + one.Field
		renamed = append(renamed, one)
	}
	return renamed
}

// sameName reports whether two names differ only in case, accents, punctuation and spacing. Vowel signs of other scripts are not accents.
// Names of nothing else have no such form, so any change of one counts.
func sameName(a, b string) bool {
	normal := normalName(a)
	return a == b || normal != "" && normal == normalName(b)
}

func normalName(name string) string {
	return cases.Fold().String(strings.Map(func(r rune) rune {
		if r >= 0x300 && r <= 0x36f || unicode.IsPunct(r) || unicode.IsSpace(r) || unicode.IsControl(r) {
			return -1
		}
		return r
	}, norm.NFKD.String(name)))
}

// divide separates a change of an entry: now is the entry without the change of its identity, and c is that change. If there is none, c is
// empty, and now contains the whole change.
func divide(before, after entry) (now entry, c identityChange) {
	renamed := !sameName(before.Label, after.Label) || !sameName(before.Name, after.Name)
	activated := before.Status == api.StatusInactive && after.Status == api.StatusActive
	if !renamed && !activated && before.ExternalID == after.ExternalID {
		return after, c
	}
	now = after
	now.ExternalID = before.ExternalID
	if activated {
		now.Status = before.Status
	}
	var keys []string
	if renamed {
		now.Name, now.Label, now.labelSent = before.Name, before.Label, before.labelSent
		if !before.labelSent || !after.labelSent {
			keys = slices.DeleteFunc(labelFields(), func(key string) bool { return sameField(before.Fields, after.Fields, key) })
			now.Fields = withFields(after.Fields, before.Fields, keys)
		}
	}
	now.setLabel(nil)
	c = identityChange{EntryID: before.ID, Before: identityOf(now, keys), After: identityOf(now, keys)}
	wanted := identityOf(after, keys)
	if renamed {
		c.After = wanted
	}
	c.After.Status, c.After.ExternalID = after.Status, after.ExternalID
	return now, c
}

// withFields returns fields in which some keys have the values of others.
func withFields(fields, others api.Fields, keys []string) api.Fields {
	fields = slices.Clone(fields)
	for _, key := range keys {
		if one, ok := others.Get(key); ok {
			fields.Set(one)
		} else {
			fields = slices.DeleteFunc(fields, func(f api.Field) bool { return f.Key == key })
		}
	}
	return fields
}

func sameField(a, b api.Fields, key string) bool {
	was, had := a.Get(key)
	is, has := b.Get(key)
	return had == has && plain(was.Value) == plain(is.Value)
}

// splitIdentity decides which parts of a change of an entry apply immediately. In a workspace that demands a second person, a change of the
// identity of an entry with a payable method is held. So is the activation of an entry with any method. It returns the entry with the rest
// of the change, and the held part, which is empty if everything applies immediately. It also returns notes for the audit log: that one
// person sufficed, and which approval has ended. Every change of an identity passes through it, or through splitMerge if a merge makes it.
//
// A change that applies immediately ends the one that waits for the same values. Otherwise its approval could overwrite the newer values.
// status is the one that the caller sends, if any: deactivating an entry that is inactive ends its waiting activation.
//
// The entry is locked and the vault is ready for its workspace. A caller that gets a held part creates an approval of it and stores it with
// holdIdentity, as requestIdentity does.
func (s *Service) splitIdentity(tx *db.Tx, by db.Caller, before, after entry, status *string) (now entry, held identityChange, noted audit.Changes, err error) {
	now, held, noted, err = s.splitGuarded(tx, before, after)
	if err == nil && held.isEmpty() {
		var ended audit.Changes
		ended, err = s.endOutdated(tx, by, before, now, status)
		noted = append(noted, ended...)
	}
	return now, held, noted, err
}

// splitGuarded is splitIdentity without what it ends.
func (s *Service) splitGuarded(tx *db.Tx, before, after entry) (now entry, held identityChange, noted audit.Changes, err error) {
	now, c := divide(before, after)
	if c.isEmpty() {
		return after, identityChange{}, nil, nil
	}
	guarded, err := isGuarded(tx.Q, c)
	if err != nil || !guarded {
		return after, identityChange{}, nil, err
	}
	people, err := access.ObserveSecondPerson(tx, access.Receiving, before.WorkspaceID)
	if err != nil {
		return after, identityChange{}, nil, err
	}
	if !people.Demanded() {
		noted.Add("approval", nil, access.OnePerson)
		return after, identityChange{}, noted, nil
	}
	methods, err := s.allMethods(tx.Q, before)
	c.Methods = live(methods)
	return now, c, nil, err
}

// isGuarded reports whether a change could redirect money. It does if it renames an entry with a method that is payable or cooling, or
// activates one with any method.
func isGuarded(q db.Q, c identityChange) (bool, error) {
	also := api.MethodActive
	if c.activates() {
		also = api.MethodPending
	}
	return q.Row(`SELECT id FROM receiving_method WHERE entry_id = $1 AND status IN ('active', $2) LIMIT 1`, stored(c.EntryID), also).Scan(new(string))
}

// holdIdentity stores a change as waiting for an approval, in place of one that waited for the entry. From then on no other entry gets its
// external id. The caller has created the approval; the earlier one is no longer about the entry.
func holdIdentity(tx *db.Tx, e entry, c identityChange, approvalID string) error {
	if err := dropIdentity(tx, e.ID, ""); err != nil {
		return err
	}
	var external any
	if c.After.ExternalID != c.Before.ExternalID {
		free := freeExternalID
		if c.Operation != "" { // a merge takes over that of a source
			free = notHeld
		}
		if err := free(tx.Q, e.workspace, c.After.ExternalID, e.ID); err != nil {
			return err
		}
		if c.Operation == "" {
			if err := claimExternalID(tx, e, c.After.ExternalID); err != nil {
				return err
			}
		}
		external = db.NullText(c.After.ExternalID)
	}
	c.Methods = nil // only the approval has their numbers, sealed
	text, err := api.EncodeJSON(c)
	if err != nil {
		return err
	}
	return tx.Exec(`INSERT INTO pending_identity (entry_id, workspace_number, approval_id, external_id, change) VALUES ($1, $2, $3, $4, $5)`,
		stored(e.ID), e.workspace, approvalID, external, string(text))
}

// claimExternalID waits for transactions that give another entry an external id, and lets later ones wait for this one: the index of entries
// gets the id for a moment. If another entry got it, the index refuses it. Anyone who gives an entry an external id calls notHeld after that,
// which then finds what was held meanwhile.
func claimExternalID(tx *db.Tx, e entry, externalID string) error {
	const set = `UPDATE directory_entry SET external_id = $2 WHERE id = $1`
	if err := tx.Exec(set, stored(e.ID), db.NullText(externalID)); err != nil {
		return err
	}
	return tx.Exec(set, stored(e.ID), db.NullText(e.ExternalID))
}

// dropIdentity deletes what waits for an entry and an approval; an empty approval id means any.
func dropIdentity(tx *db.Tx, entryID, approvalID string) error {
	return tx.Exec(`DELETE FROM pending_identity WHERE entry_id = $1 AND ($2 = '' OR approval_id = $2)`, stored(entryID), approvalID)
}

// applyIdentity carries out the change of an entry that an approval allows, and returns the changes. It fails with APPROVAL_CHANGED if the
// entry has changed since the request, or another change replaced it. The caller has locked the entry, which is live.
func (s *Service) applyIdentity(tx *db.Tx, e entry, c identityChange, approvalID string) (audit.Changes, error) {
	after, err := s.checkIdentity(tx, e, c, approvalID)
	if err != nil {
		return nil, err
	}
	if err := dropIdentity(tx, e.ID, approvalID); err != nil {
		return nil, err
	}
	return e.changesTo(after), update(tx, e, after)
}

// checkIdentity returns an entry with a held change applied, or APPROVAL_CHANGED.
func (s *Service) checkIdentity(tx *db.Tx, e entry, c identityChange, approvalID string) (after entry, err error) {
	changed := func(what string) error {
		return fault.New(api.CodeApprovalChanged, "%s since this was asked for: withdraw it and ask again", what)
	}
	waiting, err := pendingIdentity(tx.Q, e.ID)
	if err != nil {
		return e, err
	}
	after = c.of(e)
	if waiting.approvalID != approvalID || !c.appliesTo(e) {
		return e, changed("the payee has changed")
	}
	all, err := s.allMethods(tx.Q, e)
	if err != nil {
		return e, err
	}
	for _, m := range onlyActive(all) {
		if !slices.ContainsFunc(c.Methods, func(was api.ReceivingMethod) bool { return was.ID == m.ID }) {
			return e, changed("the receiving methods of the payee have changed")
		}
	}
	var v fault.Violations
	after.Fields.Check(v.Add)
	if v.Err() != nil {
		return e, changed("the fields of the payee have changed")
	}
	if c.After.ExternalID == c.Before.ExternalID {
		return after, nil
	}
	err = freeExternalID(tx.Q, e.workspace, c.After.ExternalID, e.ID)
	if errors.Is(err, errTaken) || errors.Is(err, errWaiting) {
		err = changed("another entry got the external_id")
	}
	return after, err
}

// heldIdentity is a change that waits for an approval.
type heldIdentity struct {
	approvalID string // or the id of the line of a job, "" if none waits
	shownID    string // of the approval, "" while a job is running
	change     identityChange
}

// pendingIdentity returns the change that waits for an entry.
func pendingIdentity(q db.Q, entryID string) (held heldIdentity, err error) {
	var text string
	found, err := q.Row(`SELECT approval_id, change FROM pending_identity WHERE entry_id = $1`, stored(entryID)).Scan(&held.approvalID, &text)
	if err == nil && found {
		err = json.Unmarshal([]byte(text), &held.change)
	}
	held.shownID = held.approvalID
	if err == nil && isLine(held.approvalID) {
		_, err = q.Row(`SELECT COALESCE((SELECT max(a.id) FROM approval a WHERE a.subject_id = l.import_id), '') FROM directory_import_line l WHERE l.id = $1`,
			held.approvalID).Scan(&held.shownID)
	}
	return held, err
}

// heldExternalIDs returns the ids of the entries that wait for approval to have some external ids.
func heldExternalIDs(q db.Q, workspace int64, given []string) (map[string]string, error) {
	return matchExternalIDs(q, `SELECT external_id, entry_id FROM pending_identity WHERE workspace_number = `, ` AND external_id IN (`, workspace, given)
}

// errWaiting is errTaken for an external id that waits for approval as that of another entry.
var errWaiting = fault.New(api.CodeExternalIDTaken, "this external_id waits for approval as that of another entry of the workspace")

// notHeld returns errWaiting if another entry waits for approval to have an external id.
func notHeld(q db.Q, workspace int64, externalID, entryID string) error {
	if externalID == "" {
		return nil
	}
	held, err := heldExternalIDs(q, workspace, []string{externalID})
	if err == nil && cmp.Or(held[externalID], entryID) != entryID {
		err = errWaiting
	}
	return err
}

// freeExternalID returns a fault if another entry has an external id, or waits for approval to have it. The indexes refuse it, too,
// but their error ends the transaction.
func freeExternalID(q db.Q, workspace int64, externalID, entryID string) error {
	if externalID == "" {
		return nil
	}
	taken, err := withExternalIDs(q, workspace, []string{externalID})
	if err == nil && cmp.Or(taken[externalID], entryID) != entryID {
		err = errTaken
	}
	if err == nil {
		err = notHeld(q, workspace, externalID, entryID)
	}
	return err
}

// wire returns the change as in the API.
func (h heldIdentity) wire() *api.PendingChange {
	if h.approvalID == "" {
		return nil
	}
	c := h.change
	out := &api.PendingChange{ApprovalID: h.shownID, Operation: c.Operation}
	differs := func(to **string, before, after string) {
		if before != after {
			*to = &after
		}
	}
	differs(&out.Label, c.Before.Label, c.After.Label)
	differs(&out.Name, c.Before.Name, c.After.Name)
	differs(&out.ExternalID, c.Before.ExternalID, c.After.ExternalID)
	differs(&out.Status, c.Before.Status, c.After.Status)
	for _, key := range c.fieldKeys() {
		one, ok := c.After.Fields.Get(key)
		if !ok {
			one = api.Field{Key: key, Value: []byte("null")}
		}
		out.Fields = append(out.Fields, one)
	}
	return out
}

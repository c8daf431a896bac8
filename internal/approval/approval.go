// Package approval lets one person request something and another one approve it.
//
//	            ┌─ approve ──▶ approved    with the last vote needed; the kind carries it out in the same transaction
//	            ├─ reject ───▶ rejected
//	pending ────┼─ withdraw ─▶ withdrawn
//	            ├─ 30 days ──▶ expired
//	            └─ an edit ──▶ void        its subject has changed
//
// An approval is for exactly what was shown: its payload, whose digest the approver sends.
// Every change of state is a compare-and-swap, so of concurrent approvals, withdrawals and edits
// one wins. The subject of an approval is locked first, then the approval. An approval may take the
// votes of several people, which are counted under that lock; one rejection ends it. A vote counts
// while its voter may approve: the vote of a person who was removed or suspended meanwhile does not.
//
// The package does not depend on what is approved. A package that needs approvals registers a Kind.
package approval

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/mail"
	"bursar/internal/vault"
)

// lifetime is how long an approval can be decided.
const lifetime = 30 * 24 * time.Hour

// Approval is a row of the table approval, with its payload.
type Approval struct {
	record
	Maker api.ApprovalMaker
	votes []api.ApprovalVote

	// LeaveOut contains the lines that the approver leaves out. By is the person who decides. Both are for Apply and Drop.
	LeaveOut []int64
	By       audit.Actor

	payload []byte
	decider *api.User
	changed bool // in the store: the digest is not that of the payload
}

// Payload reads what the approval is for.
func (a Approval) Payload(into any) error {
	var sealed payload
	if err := json.Unmarshal(a.payload, &sealed); err != nil {
		return fmt.Errorf("read what the approval %s is for: %w", a.ID, err)
	}
	if err := json.Unmarshal(sealed.Of, into); err != nil {
		return fmt.Errorf("read what the approval %s is for: %w", a.ID, err)
	}
	return nil
}

// payload is the sealed part. Without the salt, its digest would let an attacker find an account number by trying all of them.
type payload struct {
	Salt []byte         `json:"salt"`
	Of   jsontext.Value `json:"of"`
	// Demand describes who has to approve. The columns of the row repeat it for queries, and do not decide.
	Demand *demand `json:"demand,omitzero"`
}

// demand describes who has to approve, and who may not.
type demand struct {
	Needed   int64             `json:"needed"`
	Role     string            `json:"role"`
	KeysMay  bool              `json:"keys_may"`
	Involved string            `json:"involved"`
	Maker    api.ApprovalMaker `json:"maker"`
}

// Kind describes approvals of one purpose: how they are requested and carried out.
type Kind struct {
	Name string
	// Read is the permission to see such approvals. Make is the permission to request and withdraw them. Pair has the permission to approve
	// or reject, and determines who counts as a second person.
	Read, Make access.Permission
	Pair       access.Pair
	// Also is another pair whose second person the approver must be as well; it may be empty.
	Also access.Pair
	// Mail is the noun for such an approval in a mail.
	Mail mail.ApprovalNoun
	// Actions are the actions in the audit log for an approval that gets into a state, including refused attempts. A vote that is not the
	// last one is logged as approved, too.
	Actions map[string]audit.Action
	// Lock locks the subject of an approval before its state changes.
	Lock func(tx *db.Tx, a Approval) error
	// Apply carries out an approved request. Drop ends what waited for one that was not approved. Each returns the changes for the audit
	// log, and a description of the subject. If Apply returns a fault, nothing is stored, and the approval waits as before, without the
	// last vote.
	Apply, Drop func(tx *db.Tx, a Approval) (changes audit.Changes, of string, err error)
	// HasLines reports that an approver may leave out lines. Decided runs after a decision is on disk, unless another one has ended it; it
	// may be nil.
	HasLines bool
	Decided  func(ctx context.Context, a Approval)
	// Parts is called before an approval gets into a state. It returns further rows for the audit log besides that of the subject. There is
	// one for each part with a history of its own, without changes. It may be nil.
	Parts func(tx *db.Tx, a Approval, state string) ([]audit.Event, error)
	// Show returns old and new values, with account numbers in full or masked.
	Show func(a Approval, full bool) (summary string, fields []api.ApprovalField, err error)
	// Now returns what an approver of one sees in addition, as it is now. It may be nil.
	Now func(q db.Q, a Approval) ([]api.ApprovalField, error)
	// Complete adds to what someone who opens one sees, by the permissions that they hold. It may be nil.
	Complete func(ctx context.Context, by db.Caller, held access.Set, a Approval, shown *api.Approval) error
}

// Actions returns the actions of a kind.
func Actions(approved, rejected, withdrawn, expired audit.Action) map[string]audit.Action {
	return map[string]audit.Action{api.ApprovalApproved: approved, api.ApprovalRejected: rejected,
		api.ApprovalWithdrawn: withdrawn, api.ApprovalExpired: expired}
}

// KindOf is a kind of approvals of changes that are each described by a T. Its functions get the T.
type KindOf[T any] struct {
	Kind
	Apply, Drop func(tx *db.Tx, a Approval, change T) (changes audit.Changes, of string, err error)
	Show        func(change T, full bool) (summary string, fields []api.ApprovalField)
}

// Decoding returns the kind with functions that read the T from the approval.
func (k KindOf[T]) Decoding() Kind {
	decide := func(fn func(*db.Tx, Approval, T) (audit.Changes, string, error)) func(*db.Tx, Approval) (audit.Changes, string, error) {
		return func(tx *db.Tx, a Approval) (audit.Changes, string, error) {
			var change T
			if err := a.Payload(&change); err != nil {
				return nil, "", err
			}
			return fn(tx, a, change)
		}
	}
	kind := k.Kind
	kind.Apply, kind.Drop = decide(k.Apply), decide(k.Drop)
	kind.Show = func(a Approval, full bool) (string, []api.ApprovalField, error) {
		var change T
		if err := a.Payload(&change); err != nil {
			return "", nil, err
		}
		summary, fields := k.Show(change, full)
		return summary, fields, nil
	}
	return kind
}

// Request describes an approval to create.
type Request struct {
	Kind        string
	WorkspaceID string
	Workspace   int64  // its number; the vault must be ready for it
	Mode        string // of its money, "" for none or both: credentials of the other mode do not see it
	SubjectID   string
	Version     int64
	// AboutID is a directory entry: its approvals are deleted with it. It is empty for approvals that outlive an entry.
	AboutID string
	Payload any
	// Needed is how many people have to approve; 0 is one. Role is a role that each of them must hold. KeysMay lets sessions of their API
	// keys approve.
	Needed  int
	Role    string
	KeysMay bool
	// Mailed reports that the caller mails those who may approve.
	Mailed bool
	// Takes are other subjects, or this one, whose void approvals this one replaces without a change of substance. Everyone who had a part
	// in those has a part in this one.
	Takes []string
}

// Make stores a request. The caller has decided that a second person is needed.
func (s *Service) Make(tx *db.Tx, by db.Caller, r Request) (id string, err error) {
	of, err := json.Marshal(r.Payload, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("write what an approval is for: %w", err)
	}
	salt := make([]byte, 16)
	rand.Read(salt) // it never fails
	maker, involved, err := makerOf(tx.Q, by.Actor)
	if err != nil {
		return "", err
	}
	involved = append(involved, by.CoInitiators...)
	for _, subject := range r.Takes {
		earlier, err := db.Collect(tx.Q, func(r db.Rows) string { return r.Text(0) }, `SELECT involved FROM approval WHERE subject_id = $1 AND state = 'void'`, subject)
		if err != nil {
			return "", err
		}
		for _, text := range earlier {
			involved = append(involved, strings.Fields(text)...)
		}
	}
	slices.Sort(involved)
	needed, all := int64(max(r.Needed, 1)), " "+strings.Join(slices.Compact(involved), " ")+" "
	text, err := json.Marshal(payload{salt, of, &demand{needed, r.Role, r.KeysMay, all, maker}}, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("write what an approval is for: %w", err)
	}
	id = tx.NewID("apr")
	sealed, err := s.vault.Seal(r.Workspace, vault.ApprovalPayload(id), text)
	if err != nil {
		return "", err
	}
	written, err := json.Marshal(maker)
	if err != nil {
		return "", fmt.Errorf("write who asks for an approval: %w", err)
	}
	told := ""
	if r.Mailed {
		told = api.ApprovalPending
	}
	return id, insertion.Insert(tx, &record{
		ID: id, WorkspaceID: r.WorkspaceID, Kind: r.Kind, Mode: r.Mode, SubjectID: r.SubjectID, Version: r.Version, AboutID: r.AboutID,
		Digest: digestOf(r.Kind, r.WorkspaceID, r.SubjectID, r.Version, text), Sealed: sealed, SealedBy: vault.KeyOf(sealed),
		MakerID: by.ID, MakerText: string(written), Involved: all, NeededVotes: needed, Role: r.Role, KeysMay: r.KeysMay,
		State: api.ApprovalPending, Told: told, CreatedAt: tx.Now(), ExpiresAt: tx.Now() + lifetime.Milliseconds(),
	})
}

// digestOf returns the digest that an approver agrees to: of the subject of an approval, and its payload.
func digestOf(kind, workspaceID, subjectID string, version int64, text []byte) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "bursar approval\n%s\n%s\n%s\n%d\n%s\n", kind, workspaceID, subjectID, version, text)
	return hex.EncodeToString(sum.Sum(nil))
}

// makerOf describes the requester, and lists the users that own or made the credentials of the request: none of those is a second
// person.
func makerOf(q db.Q, by audit.Actor) (api.ApprovalMaker, []string, error) {
	maker := api.ApprovalMaker{ID: by.ID, Type: string(by.Type), Name: by.Name, Email: by.Email, IP: by.IP,
		Program: identity.ProgramName(by.Agent), KeyID: by.KeyID, SessionID: by.SessionID}
	involved := []string{by.ID}
	var owner, madeBy, seen, session string
	if _, err := q.Row(`SELECT name, account_id FROM api_key WHERE id = $1`, by.KeyID).Scan(&maker.KeyName, &owner); err != nil {
		return maker, nil, err
	}
	if _, err := q.Row(`SELECT made_by, secret_seen_by FROM account WHERE id = $1 AND kind = 'client'`, by.ID).Scan(&madeBy, &seen); err != nil {
		return maker, nil, err
	}
	if _, err := q.Row(`SELECT account_id FROM session WHERE id = $1`, by.SessionID).Scan(&session); err != nil {
		return maker, nil, err
	}
	for _, id := range []string{owner, madeBy, seen, session} {
		if id != "" {
			involved = append(involved, id)
		}
	}
	return maker, involved, nil
}

// Involved lists the users that are no second person for a request by an actor.
func Involved(q db.Q, by audit.Actor) ([]string, error) {
	_, involved, err := makerOf(q, by)
	return involved, err
}

// InvolvedIn lists the users that are no second person for an approval.
func InvolvedIn(q db.Q, id string) ([]string, error) {
	var text string
	_, err := q.Row(`SELECT involved FROM approval WHERE id = $1`, id).Scan(&text)
	return strings.Fields(text), err
}

// involves reports whether a user made the request, or owns or made the credentials of it.
func (a Approval) involves(userID string) bool {
	return strings.Contains(a.Involved, " "+userID+" ")
}

// Approvable reports whether one of the people who may approve has no part in the request.
func (a Approval) Approvable(people access.SecondPerson) bool {
	return slices.ContainsFunc(people.Approvers(), func(id string) bool { return !a.involves(id) })
}

// requestableFrom returns the time from which all requesters count as separate from the approver.
func (a Approval) requestableFrom(people access.SecondPerson) (at int64) {
	for _, id := range strings.Fields(a.Involved) {
		if id == a.Maker.ID || a.Maker.Type != string(audit.Client) {
			at = max(at, people.FormerMakerCountsFrom(id, a.CreatedAt))
		} else { // they hold the client, which works on without them
			at = max(at, people.MakerCountsFrom(id))
		}
	}
	return at
}

// voted reports whether a user has approved.
func (a Approval) voted(userID string) bool {
	return slices.ContainsFunc(a.votes, func(v api.ApprovalVote) bool { return v.ID == userID })
}

// mayApprove returns an error unless the viewer may be the second person. That is a person who signed in recently at a browser, or by a
// device code that they approved there. If the approval lets keys vote, it may also be a person with their own API key. The person must
// hold the demanded role, have no part in the request and not have voted.
func (s *Service) mayApprove(a Approval, by viewer, now int64) error {
	denied := func(format string, args ...any) error {
		f := fault.New(api.CodeForbidden, format, args...)
		f.Scope.WorkspaceID = a.WorkspaceID
		return f
	}
	tooEarly := func(people access.SecondPerson) error { // the approver or the requester does not count yet
		at := func(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04 UTC") }
		if from := people.CountsFrom(by.ID); from > now {
			return denied("your permission to approve is new: it counts from %s on", at(from))
		}
		if from := a.requestableFrom(people); from > now {
			return denied("the requester got their access while there was no second person: this can be approved from %s on", at(from))
		}
		return nil
	}
	pair := s.kinds[a.Kind].Pair
	people := by.people[pair]
	switch {
	case !by.held.Has(pair.Approve):
		return denied("permission %s is required", pair.Approve)
	case by.Type == audit.Client:
		return denied("a machine client cannot approve, only a person can")
	case !a.KeysMay && (by.Type != audit.User || by.KeyID != ""):
		return denied("only a person who signed in at a browser can approve, not an API key or a machine client")
	case a.changed:
		return fault.New(api.CodeApprovalChanged, "someone has changed this approval in the store: reject it, then request it again")
	case by.ID == a.Maker.ID:
		return denied("you asked for this yourself: somebody else has to approve it")
	case a.involves(by.ID):
		return denied("%s", s.kinds[a.Kind].partIn())
	case a.voted(by.ID):
		return denied("you have approved this already: somebody else has to as well")
	case a.Role != "" && !slices.Contains(by.roles, a.Role):
		return denied("a member with the role %s has to approve this", a.Role)
	}
	if err := tooEarly(people); err != nil {
		return err
	}
	if a.Role != "" && people.RoleCountsFrom(by.ID, a.Role, a.CreatedAt) > now {
		return denied("you have had the role %s for less time than this takes: another person with the role must approve it", a.Role)
	}
	if also := s.kinds[a.Kind].Also; also.Approve != "" {
		if !by.held.Has(also.Approve) {
			return denied("permission %s is required as well", also.Approve)
		}
		if err := tooEarly(by.people[also]); err != nil {
			return err
		}
	}
	return access.RequireRecentLogin(by.Actor, now)
}

// partIn describes the part that a user can have in a request besides making it.
func (k Kind) partIn() string {
	part := "own or made the key, client or session that asked for it"
	if k.Pair == access.Receiving {
		part = "asked for this account before, had a part in the file that has it, or " + part
	}
	return "you " + part + ": somebody else has to approve it"
}

// Void ends pending approvals of a subject, because it changes or is removed. It reports whether there was one. The caller has locked the
// subject.
func (s *Service) Void(tx *db.Tx, by db.Caller, subjectID, reason string) (voided bool, err error) {
	return void(tx, by, "subject_id", subjectID, reason)
}

// VoidKind is Void for approvals of one kind, where a subject has several.
func VoidKind(tx *db.Tx, by db.Caller, kind, subjectID, reason string) (voided bool, err error) {
	id, err := PendingOf(tx.Q, kind, subjectID)
	if err != nil || id == "" {
		return false, err
	}
	return void(tx, by, "id", id, reason)
}

// PendingOf returns the id of the pending approval of a kind about a subject, or "".
func PendingOf(q db.Q, kind, subjectID string) (id string, err error) {
	_, err = q.Row(`SELECT id FROM approval WHERE subject_id = $1 AND kind = $2 AND state = 'pending' LIMIT 1`, subjectID, kind).Scan(&id)
	return id, err
}

// FindPending returns the pending approval of a kind about a subject; its id is empty if there is none. The vault must be ready
// for its workspace.
func (s *Service) FindPending(q db.Q, kind, subjectID string) (Approval, error) {
	id, err := PendingOf(q, kind, subjectID)
	if err != nil || id == "" {
		return Approval{}, err
	}
	return s.find(q, id)
}

// VoidAbout ends all pending approvals about something.
func (s *Service) VoidAbout(tx *db.Tx, by db.Caller, aboutID, reason string) (voided bool, err error) {
	return void(tx, by, "about_id", aboutID, reason)
}

// void skips the mail to a requester who has caused it.
func void(tx *db.Tx, by db.Caller, column, id, reason string) (bool, error) {
	return tx.Row(`UPDATE approval SET state = 'void', decided_at = $2, decided_by = $3, reason = $4,
			told = CASE WHEN maker_id = $5 THEN 'void' ELSE told END
		WHERE `+column+` = $1 AND state = 'pending' RETURNING id`, id, tx.Now(), db.NullText(by.ID), reason, by.ID).Scan(new(string))
}

// Forget deletes all approvals about something that was permanently removed, with their payloads.
func Forget(tx *db.Tx, aboutID string) error {
	return tx.Exec(`DELETE FROM approval WHERE about_id = $1`, aboutID)
}

// standing returns the votes of those who may still approve.
func (a Approval) standing(people access.SecondPerson) []api.ApprovalVote {
	return slices.DeleteFunc(slices.Clone(a.votes), func(v api.ApprovalVote) bool { return !people.Counts(v.ID, a.Role, a.CreatedAt) })
}

// Holds reports whether an earlier approval still suffices to repeat its action. It must not be too old, and enough people who may still
// approve, with that role, must have approved. No API key may have been able to vote unless keys may vote now.
func Holds(tx *db.Tx, pair access.Pair, id string, needed int, role string, keysMay bool) (bool, error) {
	r, err := findRow(tx.Q, tx.Integrity(), id)
	a := r.Approval
	if err != nil || a.State != api.ApprovalApproved || a.ExpiresAt <= tx.Now() || a.KeysMay && !keysMay {
		return false, err
	}
	people, err := access.FindSecondPerson(tx.Q, pair, a.WorkspaceID, tx.Now())
	if role != "" {
		a.Role = role
	}
	return len(a.standing(people)) >= needed, err
}

// Grant describes what an approval allows, for a check that it still does.
type Grant struct {
	WorkspaceID, Kind, SubjectID, State string
	Votes                               int64
}

// Grants reads approvals by their ids, of which there may be none.
func Grants(q db.Q, i *db.Integrity, ids []any) (map[string]Grant, error) {
	found := map[string]Grant{}
	if len(ids) == 0 {
		return found, nil
	}
	list := db.NewStatement(`SELECT a.id, a.workspace_id, a.kind, a.subject_id, a.state, a.digest, v.account_id, v.at, v.verification, v.session_id, v.key_id, v.mac
		FROM approval a LEFT JOIN approval_vote v ON v.approval_id = a.id WHERE a.id`)
	list.AddList(` IN (`, ids)
	err := q.EachOf(list, func(r db.Rows) error {
		g := Grant{r.Text(1), r.Text(2), r.Text(3), r.Text(4), found[r.Text(0)].Votes}
		if (ballot{r.Text(0), r.Text(5), r.Text(6), r.Int(7), r.Text(8), r.Text(9), r.Text(10)}).isAuthentic(i, r.Raw(11)) {
			g.Votes++
		}
		found[r.Text(0)] = g
		return nil
	})
	return found, err
}

// Demanded returns which role the votes of an approval needed, and whether API keys could give them. The columns of the row count only if
// no sealed demand exists. A damaged approval demanded nothing. The vault must be ready for its workspace.
func (s *Service) Demanded(q db.Q, id string) (role string, keysMay bool, err error) {
	rows, err := db.Collect(q, readRow, `SELECT `+columns+` WHERE a.id = $1`, id)
	if err != nil || len(rows) == 0 {
		return "", true, err
	}
	text, err := s.vault.Open(rows[0].Number, vault.ApprovalPayload(id), rows[0].Sealed)
	var sealed payload
	switch {
	case errors.Is(err, vault.ErrDamaged):
		return "", true, nil
	case err != nil && !errors.Is(err, vault.ErrLost):
		return "", true, err
	case err == nil && json.Unmarshal(text, &sealed) == nil && sealed.Demand != nil:
		return sealed.Demand.Role, sealed.Demand.KeysMay, nil
	}
	return rows[0].Role, rows[0].KeysMay, nil
}

// Needed returns how many people have to approve.
func (a Approval) Needed() int64 { return a.NeededVotes }

// Pending returns the pending approvals about something, by subject.
func Pending(q db.Q, aboutID string) (map[string]string, error) {
	found := map[string]string{}
	err := q.Each(func(r db.Rows) error {
		found[r.Text(0)] = r.Text(1)
		return nil
	}, `SELECT subject_id, id FROM approval WHERE about_id = $1 AND state = 'pending'`, aboutID)
	return found, err
}

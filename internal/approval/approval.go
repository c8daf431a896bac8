// Package approval lets one person ask for something and another one allow it.
//
//	            ┌─ approve ──▶ approved    the kind carries it out in the same transaction
//	            ├─ reject ───▶ rejected
//	pending ────┼─ withdraw ─▶ withdrawn
//	            ├─ 30 days ──▶ expired
//	            └─ an edit ──▶ void        what it was for has changed
//
// An approval is for exactly what was shown: its payload, of which the approver sends the digest.
// Every change of state compares and swaps, so of approving, withdrawing and editing at the same
// moment one wins. What is locked first is what the approval is about, then the approval.
//
// The package knows nothing of what is approved. A package that needs approvals registers a Kind.
package approval

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
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
	"bursar/internal/vault"
)

// lifetime is how long somebody can approve.
const lifetime = 30 * 24 * time.Hour

// Approval is a row, with its payload.
type Approval struct {
	ID          string
	WorkspaceID string
	Kind        string
	SubjectID   string
	Version     int64 // of the subject
	AboutID     string
	State       string
	Maker       api.ApprovalMaker
	CreatedAt   int64
	ExpiresAt   int64

	number       int64 // of the workspace
	digest       string
	payload      []byte
	involved     string
	decider      *api.User
	decidedAt    int64
	verification string
	reason       string
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

// payload is what is sealed. The digest of it would give an account number away to whoever
// tries all, but for the salt.
type payload struct {
	Salt []byte         `json:"salt"`
	Of   jsontext.Value `json:"of"`
}

// Kind is how a package asks for approvals and carries them out.
type Kind struct {
	Name string
	// Read, Make and Approve are the permissions to see such approvals, to ask for what they
	// allow, which is also to withdraw it, and to approve or reject.
	Read, Make, Approve access.Permission
	// Actions are how the log calls that an approval gets into a state.
	Actions map[string]audit.Action
	// Lock locks what an approval is about before its state changes.
	Lock func(tx *db.Tx, a Approval) error
	// Apply carries an approved one out, and Drop ends what waited for one that is not. Each
	// returns what the log tells as changes, and about whom in words.
	Apply, Drop func(tx *db.Tx, a Approval) (changes audit.Changes, of string, err error)
	// Show returns old beside new, with account numbers in full or masked.
	Show func(a Approval, full bool) (summary string, fields []api.ApprovalField, err error)
}

// Request is what somebody asks for.
type Request struct {
	Kind        string
	WorkspaceID string
	Workspace   int64 // its number, for which the vault must be ready
	SubjectID   string
	Version     int64
	AboutID     string
	Payload     any
	// Takes are other subjects, or this one, whose void approvals this one takes the place of with
	// the essence unchanged: whoever had a part in those has one in this.
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
	text, err := json.Marshal(payload{salt, of}, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("write what an approval is for: %w", err)
	}
	id = tx.NewID("apr")
	sealed, err := s.vault.Seal(r.Workspace, vault.ApprovalPayload(id), text)
	if err != nil {
		return "", err
	}
	maker, involved, err := makerOf(tx.Q, by.Actor)
	if err != nil {
		return "", err
	}
	involved = append(involved, by.Behind...)
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
	sum := sha256.New()
	fmt.Fprintf(sum, "bursar approval\n%s\n%s\n%s\n%d\n%s\n", r.Kind, r.WorkspaceID, r.SubjectID, r.Version, text)
	written, err := json.Marshal(maker)
	if err != nil {
		return "", fmt.Errorf("write who asks for an approval: %w", err)
	}
	return id, tx.Exec(`INSERT INTO approval (id, workspace_id, kind, subject_id, subject_version, about_id, digest, payload_sealed, sealed_by,
			maker_id, maker, involved, state, told, verification, reason, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, '', '', '', $14, $15)`,
		id, r.WorkspaceID, r.Kind, r.SubjectID, r.Version, r.AboutID, hex.EncodeToString(sum.Sum(nil)), sealed, vault.KeyOf(sealed),
		by.ID, string(written), " "+strings.Join(slices.Compact(involved), " ")+" ", api.ApprovalPending, tx.Now(), tx.Now()+lifetime.Milliseconds())
}

// makerOf describes who asks, and lists the accounts who own or made what they use to ask: none
// of those is a second person.
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

// Involved lists the accounts that are no second person for what an actor asks for.
func Involved(q db.Q, by audit.Actor) ([]string, error) {
	_, involved, err := makerOf(q, by)
	return involved, err
}

// involves reports whether an account asked, or owns or made what was used to ask.
func (a Approval) involves(accountID string) bool {
	return strings.Contains(a.involved, " "+accountID+" ")
}

// mayApprove returns an error unless the caller is somebody who may be the second person: a
// person who signed in a moment ago at a browser, or by a device code that they approved there,
// and who has no part in the request. people says since when they may approve.
func (a Approval) mayApprove(by db.Caller, people access.SecondPerson, now int64) error {
	denied := func(format string, args ...any) error {
		f := fault.New(fault.Forbidden, format, args...)
		f.Scope.WorkspaceID = a.WorkspaceID
		return f
	}
	switch {
	case by.Type != audit.User || by.KeyID != "":
		return denied("only a person who signed in at a browser can approve, not an API key or a machine client")
	case by.ID == a.Maker.ID:
		return denied("you asked for this yourself: somebody else has to approve it")
	case a.involves(by.ID):
		return denied("you asked for this account before, had a part in the file that has it, or own or made the key, client or session that asked for it: somebody else has to approve it")
	case people.CountsFrom(by.ID) > now:
		return denied("your permission to approve is new: it counts from %s on", time.UnixMilli(people.CountsFrom(by.ID)).UTC().Format("2006-01-02 15:04 UTC"))
	}
	return access.RequireRecentLogin(by.Actor, now)
}

// Void ends pending approvals of a subject, because it changes or goes. It reports whether
// there was one. The caller has locked what they are about.
func (s *Service) Void(tx *db.Tx, by db.Caller, subjectID, reason string) (voided bool, err error) {
	return s.void(tx, by, "subject_id", subjectID, reason)
}

// VoidAbout ends all pending approvals about something.
func (s *Service) VoidAbout(tx *db.Tx, by db.Caller, aboutID, reason string) (voided bool, err error) {
	return s.void(tx, by, "about_id", aboutID, reason)
}

// void does not tell a maker by mail what they did themselves.
func (s *Service) void(tx *db.Tx, by db.Caller, column, id, reason string) (bool, error) {
	return tx.Row(`UPDATE approval SET state = 'void', decided_at = $2, decided_by = $3, reason = $4,
			told = CASE WHEN maker_id = $5 THEN 'void' ELSE told END
		WHERE `+column+` = $1 AND state = 'pending' RETURNING id`, id, tx.Now(), db.NullText(by.ID), reason, by.ID).Scan(new(string))
}

// Forget deletes all approvals about something that is gone for good, with what they were for.
func Forget(tx *db.Tx, aboutID string) error {
	return tx.Exec(`DELETE FROM approval WHERE about_id = $1`, aboutID)
}

// Pending returns the pending approvals about something, by subject.
func Pending(q db.Q, aboutID string) (map[string]string, error) {
	found := map[string]string{}
	err := q.Each(func(r db.Rows) error {
		found[r.Text(0)] = r.Text(1)
		return nil
	}, `SELECT subject_id, id FROM approval WHERE about_id = $1 AND state = 'pending'`, aboutID)
	return found, err
}

package workspace

import (
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/mail"
)

// Kinds of approvals of a grant: of a role to a member, and of more permissions to a role that members have. The second person of payouts
// or of receiving methods decides them.
const (
	payoutGrantKind    = "payout_grant"
	receivingGrantKind = "receiving_grant"
	payoutRoleKind     = "payout_role"
	receivingRoleKind  = "receiving_role"
)

// grant is the content of such an approval. Either Role or Define is set.
type grant struct {
	// MemberID is a member or an invitation. It is empty for a person who will be invited or added by address.
	MemberID string `json:"member_id"`
	Email    string `json:"email"` // or the name of a member
	Role     string `json:"role"`
	RoleName string `json:"role_name"`
	// Permissions are the present or the new permissions of the role.
	Permissions string `json:"permissions"`

	Define *api.RoleDefine `json:"define,omitzero"`
	Before string          `json:"before"` // the permissions of a role that gets more
	// Holders are the members and invited people who have that role.
	Holders []holder `json:"holders,omitzero"`
}

// holder is a person or a machine client who has a role.
type holder struct {
	ID   string `json:"id"`
	Name string `json:"name"` // or the address
}

// coversAll reports whether everyone who has a role now was shown.
func (g grant) coversAll(now []holder) bool {
	return !slices.ContainsFunc(now, func(h holder) bool {
		return !slices.ContainsFunc(g.Holders, func(shown holder) bool { return shown.ID == h.ID })
	})
}

// holderNames describes who has a role.
func (g grant) holderNames() string {
	names := make([]string, len(g.Holders))
	for i, h := range g.Holders {
		names[i] = h.Name
	}
	return strings.Join(names, ", ")
}

func (g grant) of() string {
	if g.Define != nil {
		return "more permissions for the role " + g.RoleName
	}
	return "the role " + g.RoleName + " for " + g.Email
}

// subject returns the subject of the approval: a role, a member, or the address of a person who is not a member.
func (g grant) subject() string {
	switch {
	case g.Define != nil:
		return g.Role
	case g.MemberID != "":
		return g.MemberID
	}
	return g.Email
}

func (s *Service) registerGrants() {
	members := approval.Actions(audit.MemberGrantApproved, audit.MemberGrantRejected, audit.MemberGrantWithdrawn, audit.MemberGrantExpired)
	roles := approval.Actions(audit.RoleChangeApproved, audit.RoleChangeRejected, audit.RoleChangeWithdrawn, audit.RoleChangeExpired)
	for _, k := range []approval.Kind{
		{Name: payoutGrantKind, Pair: access.Payouts, Read: access.PayoutsRead, Make: access.MembersWrite, Actions: members},
		{Name: receivingGrantKind, Pair: access.Receiving, Read: access.ReceivingRead, Make: access.MembersWrite, Actions: members},
		{Name: payoutRoleKind, Pair: access.Payouts, Read: access.PayoutsRead, Make: access.RolesWrite, Actions: roles},
		{Name: receivingRoleKind, Pair: access.Receiving, Read: access.ReceivingRead, Make: access.RolesWrite, Actions: roles},
	} {
		k.Mail = mail.AGrant
		k.Lock = func(tx *db.Tx, a approval.Approval) error {
			_, err := lockMembers(tx, a.WorkspaceID)
			return err
		}
		k.Now = showAddress
		drop := func(_ *db.Tx, _ approval.Approval, g grant) (audit.Changes, string, error) { return nil, g.of(), nil }
		s.approvals.Register(approval.KindOf[grant]{Kind: k, Apply: s.applyGrant, Drop: drop, Show: grant.show}.Decoding())
	}
}

func (g grant) show(bool) (string, []api.ApprovalField) {
	if g.Define != nil {
		return "More permissions for the role " + g.RoleName, []api.ApprovalField{
			{Field: "role", Before: g.RoleName, After: g.Define.Name},
			{Field: "permissions", Before: g.Before, After: g.Permissions},
			{Field: "members", Before: g.holderNames(), After: g.holderNames()},
		}
	}
	return "Role " + g.RoleName + " for " + g.Email, []api.ApprovalField{
		{Field: "member", Before: g.Email, After: g.Email},
		{Field: "role", After: g.RoleName},
		{Field: "permissions", After: g.Permissions},
	}
}

// showAddress shows whether the address of the person who gets a role is verified. Of a person outside the organization it shows nothing
// that would reveal whether they are users.
func showAddress(q db.Q, a approval.Approval) ([]api.ApprovalField, error) {
	var g grant
	if err := a.Payload(&g); err != nil || g.Define != nil || g.Email == "" {
		return nil, err
	}
	userID, err := g.user(q, a.WorkspaceID)
	if err != nil {
		return nil, err
	}
	known := false
	if userID != "" {
		proved, err := approval.IsEmailProved(q, userID)
		if err != nil || proved == nil { // a machine client has no address
			return nil, err
		}
		organizationID, err := organizationOf(q, a.WorkspaceID)
		if err != nil {
			return nil, err
		}
		if known, err = access.Knows(q, organizationID, userID); err != nil {
			return nil, err
		}
	}
	text := map[bool]string{true: "verified", false: "not verified"}[known]
	return []api.ApprovalField{{Field: "address", Before: text, After: text}}, nil
}

// secondPersonFor returns the pair whose second person has to agree to a grant. It returns false if there is none: the grant includes no
// permission to approve and no role that a rule names, or no one else who counts could agree. In that last case, until is when the grant
// counts.
func (s *Service) secondPersonFor(tx *db.Tx, by db.Caller, workspaceID, role string, given access.Set) (pair access.Pair, needed bool, until int64, err error) {
	named, err := namedByRule(tx.Q, workspaceID, role)
	if err != nil {
		return pair, false, 0, err
	}
	involved, err := approval.Involved(tx.Q, by.Actor)
	if err != nil {
		return pair, false, 0, err
	}
	involved = append(involved, by.CoInitiators...)
	for _, one := range []access.Pair{access.Payouts, access.Receiving} {
		if !given.Has(one.Approve) && (one != access.Payouts || !named) {
			continue
		}
		people, err := access.ObserveSecondPerson(tx, one, workspaceID)
		if err != nil {
			return pair, false, 0, err
		}
		if people.OtherCounts(involved...) {
			return one, true, 0, nil
		}
		until = max(until, people.GrantNotBefore())
	}
	return pair, false, until, nil
}

// hold stores a grant that needs a second person, and returns its approval with the event. If it needs none, the id is "". A grant that is
// already pending is not stored again.
func (s *Service) hold(tx *db.Tx, by db.Caller, number int64, workspaceID string, given access.Set, g grant) (waits string, event audit.Event, err error) {
	pair, needed, until, err := s.secondPersonFor(tx, by, workspaceID, g.Role, given)
	switch {
	case err != nil:
		return "", event, err
	case until != 0:
		return "", event, s.approvals.AnnounceGrant(tx, workspaceID, by.Name, g.of(), until)
	case !needed:
		return "", event, nil
	}
	kind := map[bool]map[access.Pair]string{
		true:  {access.Payouts: payoutRoleKind, access.Receiving: receivingRoleKind},
		false: {access.Payouts: payoutGrantKind, access.Receiving: receivingGrantKind},
	}[g.Define != nil][pair]
	if waits, err = s.findWaiting(tx.Q, kind, workspaceID, g); err != nil || waits != "" {
		return waits, audit.None("it waits already"), err
	}
	waits, err = s.approvals.Make(tx, by, approval.Request{Kind: kind, WorkspaceID: workspaceID, Workspace: number, SubjectID: g.subject(), Payload: g})
	event = audit.Event{Action: audit.MemberGrantRequested, WorkspaceID: workspaceID, ResourceID: g.subject(), Description: "Requested " + g.of()}
	if g.Define != nil {
		event.Action = audit.RoleChangeRequested
	}
	event.Changes.Add("approval_id", nil, waits)
	return waits, event, err
}

// findWaiting returns the pending approval of the same grant, or "". It may have been requested before the person was invited, or before they
// accepted the invitation.
func (s *Service) findWaiting(q db.Q, kind, workspaceID string, g grant) (id string, err error) {
	var invitation string
	if g.MemberID != "" {
		user, err := g.user(q, workspaceID)
		if err == nil {
			invitation, err = access.InvitationOf(q, workspaceID, user)
		}
		if err != nil {
			return "", err
		}
	}
	for _, g.MemberID = range slices.Compact([]string{g.MemberID, invitation, ""}) {
		if id, err = s.approvals.FindSame(q, kind, workspaceID, g.subject(), g); err != nil || id != "" {
			return id, err
		}
	}
	return "", nil
}

// applyGrant executes an approved grant, if it is unchanged since it was shown and its requester may still grant it.
func (s *Service) applyGrant(tx *db.Tx, a approval.Approval, g grant) (audit.Changes, string, error) {
	if err := identity.LockUser(tx, a.Maker.ID); err != nil { // so that the requester's key is not revoked meanwhile
		return nil, "", err
	}
	if a.Maker.KeyID != "" {
		ended, err := tx.Row(`SELECT id FROM api_key WHERE id = $1 AND revoked_at IS NOT NULL`, a.Maker.KeyID).Scan(new(string))
		if err == nil && ended {
			err = fault.New(api.CodeApprovalChanged, "the API key that asked for this is revoked: reject it")
		}
		if err != nil {
			return nil, "", err
		}
	}
	by := db.Caller{Actor: audit.Actor{Type: audit.ActorType(a.Maker.Type), ID: a.Maker.ID, Name: a.Maker.Name, Email: a.Maker.Email,
		KeyID: a.Maker.KeyID, SessionID: a.Maker.SessionID}}
	var held access.Set
	active, err := tx.Row(`SELECT id FROM account WHERE id = $1 AND status = 'active'`, a.Maker.ID).Scan(new(string))
	if err == nil && active {
		held, err = access.HeldBy(tx.Q, a.WorkspaceID, a.Maker.ID)
	}
	if err != nil {
		return nil, "", err
	}
	role, exists, err := access.FindRole(tx.Q, a.WorkspaceID, g.Role)
	if err != nil {
		return nil, "", err
	}
	shown, need := role.Permissions.String() == g.Permissions, access.ParseSet(g.Permissions)|access.SetOf(access.MembersWrite)
	if g.Define != nil {
		shown, need = role.Permissions.String() == g.Before, access.ParseSet(g.Permissions)|role.Permissions|access.SetOf(access.RolesWrite)
	}
	if g.Define != nil && shown {
		holders, err := holdersOf(tx.Q, a.WorkspaceID, g.Role)
		if err != nil {
			return nil, "", err
		}
		if !g.coversAll(holders) {
			return nil, "", fault.New(api.CodeApprovalChanged, "others have got the role since this was asked for: reject it, then ask again")
		}
	}
	if _, lacks := held.Lacks(need); lacks || !exists || !shown {
		return nil, "", fault.New(api.CodeApprovalChanged, "the role has changed since, or whoever asked for this may no longer grant it: reject it, then ask again")
	}
	now := tx.Now()
	agreed, err := access.AgreedPairs(tx.Q, a.WorkspaceID, now, a.Maker.ID, a.By.ID)
	if err != nil {
		return nil, "", err
	}
	var event audit.Event
	switch {
	case g.Define != nil:
		in := DefineRoleInput{ID: a.WorkspaceID, Role: g.Role, RoleDefine: *g.Define, set: access.ParseSet(g.Permissions)}
		_, event, err = s.saveRole(tx, by, in, role, true)
	case g.MemberID == "":
		_, event, err = s.addMember(tx, by, AddMemberInput{ID: a.WorkspaceID, MemberAdd: api.MemberAdd{Email: g.Email, Role: g.Role}}, s.links.Mails())
	default:
		_, event, err = s.assign(tx, by, AssignInput{ID: a.WorkspaceID, RoleAssign: api.RoleAssign{UserID: g.MemberID, Role: g.Role}})
	}
	var until int64
	if err == nil {
		until, err = access.CountAfterWait(tx, a.WorkspaceID, g.Role, now, agreed)
	}
	switch {
	case err != nil:
	case until != 0: // in a pair in which not both of them count
		err = s.approvals.AnnounceGrant(tx, a.WorkspaceID, a.Maker.Name, g.of(), until)
	case g.Define == nil:
		err = confirmGrant(tx, a.WorkspaceID, g)
	}
	return event.Changes, g.of(), err
}

func confirmGrant(tx *db.Tx, workspaceID string, g grant) error {
	userID, err := g.user(tx.Q, workspaceID)
	if err != nil || userID == "" {
		return err
	}
	return access.ConfirmGrant(tx, workspaceID, userID, g.Role)
}

// user returns the user that gets a role, or "" if there is none.
func (g grant) user(q db.Q, workspaceID string) (id string, err error) {
	if g.MemberID != "" {
		member, _, err := access.FindMember(q, workspaceID, g.MemberID)
		return member.UserID, err
	}
	_, err = q.Row(`SELECT id FROM account WHERE email = $1`, strings.TrimSpace(g.Email)).Scan(&id)
	return id, err
}

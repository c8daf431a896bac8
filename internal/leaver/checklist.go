package leaver

import (
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/organization"
	"bursar/internal/payout"
)

const (
	maxTasks    = 200 // in a checklist
	maxTakeOver = 10  // people who can take over a task
)

// checklist is the access of a person in an organization, with internal details.
type checklist struct {
	api.Leaver
	userID  string
	members map[string]string // the person's id as a member in the API, by workspace
	known   []identity.KnownClient
	sent    []identity.SentInvitation
}

// check reads the checklist. A person without access to the organization is not found. For an address that is only invited, it reveals
// nothing about a user.
func (s *Service) check(q db.Q, organizationID string, who person) (l checklist, err error) {
	l = checklist{userID: who.id, members: map[string]string{}}
	l.Leaver = api.Leaver{OrganizationID: organizationID, Email: who.email, Memberships: []api.LeaverMembership{}, Invitations: []api.LeaverInvitation{},
		Clients: []api.LeaverClient{}, APIKeys: []api.LeaverKey{}, Tasks: []api.LeaverTask{}}
	if l.Owner, err = organization.Owns(q, organizationID, who.id); err != nil {
		return l, err
	}
	belongs, err := l.readMemberships(q)
	if err == nil {
		err = l.readSuspended(q, &belongs)
	}
	if err == nil {
		l.known, err = identity.ClientsKnownTo(q, organizationID, who.id)
	}
	if err == nil {
		l.sent, err = identity.InvitationsBy(q, organizationID, who.id)
	}
	if err != nil {
		return l, err
	}
	belongs = belongs || l.Owner || len(l.known) > 0 || len(l.sent) > 0
	if !belongs && len(l.Memberships) == 0 {
		return l, errNotIn
	}
	for _, i := range l.sent {
		l.Invitations = append(l.Invitations, i.LeaverInvitation)
	}
	for _, c := range l.known {
		if c.Shown {
			l.Clients = append(l.Clients, c.LeaverClient)
		}
	}
	if !belongs {
		return l, nil
	}
	l.UserID, l.Name = who.id, who.name
	if keys, err := identity.KeysWithin(q, organizationID, who.id, s.db.Now()); err != nil {
		return l, err
	} else if len(keys) > 0 {
		l.APIKeys = keys
	}
	if l.LastAdminOf, err = access.SoleAdminIn(q, organizationID, who.id); err != nil {
		return l, err
	}
	if l.Owner {
		if l.LastOwner, err = organization.IsLastOwner(q, organizationID, who.id); err != nil {
			return l, err
		}
	}
	return l, s.addTasks(q, &l)
}

// readMemberships reads the memberships of the person, by workspace, and reports whether they have accepted one.
func (l *checklist) readMemberships(q db.Q) (belongs bool, err error) {
	err = q.Each(func(r db.Rows) error {
		m := api.LeaverMembership{NamedWorkspace: api.NamedWorkspace{WorkspaceID: r.Text(0), WorkspaceName: r.Text(1)}, Status: access.MemberInvited, Roles: []string{}}
		if r.Bool(3) {
			m.Status, belongs = access.MemberActive, true
		}
		if n := len(l.Memberships); n == 0 || l.Memberships[n-1].WorkspaceID != m.WorkspaceID {
			l.Memberships = append(l.Memberships, m)
			l.members[m.WorkspaceID] = r.Text(2)
		}
		if last := &l.Memberships[len(l.Memberships)-1]; !r.Null(4) {
			last.Roles = append(last.Roles, r.Text(4))
		}
		return nil
	}, `SELECT w.id, w.name, m.member_id, m.accepted, x.role FROM workspace_member m JOIN workspace w ON w.id = m.workspace_id
		LEFT JOIN member_role x ON x.workspace_id = m.workspace_id AND x.account_id = m.account_id
		WHERE m.account_id = $1 AND w.organization_id = $2 ORDER BY w.id, x.role`, l.userID, l.OrganizationID)
	return belongs, err
}

// readSuspended adds the suspended memberships of the person, which end, too.
func (l *checklist) readSuspended(q db.Q, belongs *bool) error {
	list, owner, err := access.SuspendedIn(q, l.OrganizationID, l.userID)
	for _, one := range list {
		l.Memberships = append(l.Memberships, api.LeaverMembership{NamedWorkspace: api.NamedWorkspace{WorkspaceID: one.WorkspaceID, WorkspaceName: one.WorkspaceName},
			Status: access.MemberSuspended, Roles: one.Roles})
		l.members[one.WorkspaceID] = l.userID
	}
	*belongs = *belongs || owner || len(list) > 0
	return err
}

// addTasks lists the tasks that wait for the person in their workspaces, and who can take them over.
func (s *Service) addTasks(q db.Q, l *checklist) error {
	for _, m := range l.Memberships {
		if m.Status != access.MemberActive {
			continue
		}
		waiting, err := s.approvals.WaitsFor(q, m.WorkspaceID, l.userID)
		if err != nil {
			return err
		}
		for _, a := range waiting {
			if a.Made {
				err = l.addTask(q, m.NamedWorkspace, api.TaskRequest, a.ID, a.Kind, s.approvals.Kind(a.Kind).Make)
			}
			if a.Decides && err == nil {
				err = l.addTask(q, m.NamedWorkspace, api.TaskDecision, a.ID, a.Kind, access.MembersWrite) // who can appoint an approver
			}
			if err != nil {
				return err
			}
		}
		drafts, err := payout.DraftsBy(q, m.WorkspaceID, l.userID, maxTasks+1)
		if err != nil {
			return err
		}
		for _, id := range drafts {
			if err := l.addTask(q, m.NamedWorkspace, api.TaskDraft, id, "", access.PayoutsCreate); err != nil {
				return err
			}
		}
	}
	for _, c := range l.known {
		if err := l.addTask(q, c.NamedWorkspace, api.TaskClient, c.ID, c.Name, access.KeysWrite); err != nil {
			return err
		}
	}
	return nil
}

// addTask adds a task. People who hold the needed permission can take it over.
func (l *checklist) addTask(q db.Q, w api.NamedWorkspace, kind, id, what string, need access.Permission) error {
	if len(l.Tasks) >= maxTasks {
		l.MoreTasks = true
		return nil
	}
	people, err := access.PeopleWith(q, w.WorkspaceID, need)
	if err != nil {
		return err
	}
	people = slices.DeleteFunc(people, func(id string) bool { return id == l.userID })
	task := api.LeaverTask{NamedWorkspace: w, Kind: kind, ID: id, What: what, TakeOver: []api.User{}}
	for _, id := range people[:min(len(people), maxTakeOver)] {
		u := api.User{ID: id}
		if _, err := q.Row(`SELECT email, name FROM account WHERE id = $1`, id).Scan(&u.Email, &u.Name); err != nil {
			return err
		}
		task.TakeOver = append(task.TakeOver, u)
	}
	l.Tasks = append(l.Tasks, task)
	return nil
}

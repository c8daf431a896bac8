package approval

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
)

const (
	// recent is how far back an approver sees changes of a payee and of roles.
	recent = 30 * 24 * time.Hour
	// maxRecent is the number of changes that an approver sees even if they are of the same kind.
	maxRecent = 50
)

// Newest selects what an approver sees of changes that are read newest first: the newest 50, and of the older ones the newest of each kind.
// No one can hide a change behind later ones, or make the list long by repeating one.
type Newest struct {
	count int
	kinds map[string]bool
}

// Keep reports whether the next change is shown. Changes of different groups are of different kinds.
func (n *Newest) Keep(group string, row api.ApprovalChange) bool {
	if n.kinds == nil {
		n.kinds = map[string]bool{}
	}
	kind := group + " " + kindOf(row)
	isFirst := !n.kinds[kind]
	n.kinds[kind] = true
	n.count++
	return isFirst || n.count <= maxRecent
}

// kindOf returns a text that two changes share if the same person changed the same fields. It contains values only of fields that have few,
// and not the keys of an entry's own fields, which anyone can choose freely. Those are listed separately, each once.
func kindOf(row api.ApprovalChange) string {
	text := row.Action + " " + row.ActorName
	for _, c := range row.Changes {
		switch {
		case slices.Contains([]string{"roles", "permissions", "receiving_methods", "status"}, c.Field):
			text += fmt.Sprintf(" %s:%s>%s", c.Field, c.Before, c.After)
		case !strings.HasPrefix(c.Field, "fields."):
			text += " " + c.Field
		}
	}
	return text
}

// EachRecent yields the recent changes of a resource in the audit log, newest first. Approvers see them without the permission to read the
// whole log.
func EachRecent(q db.Q, workspaceID string, workspace int64, resource string, now int64, fn func(row api.ApprovalChange)) error {
	var id []byte
	return q.Each(func(r db.Rows) error {
		id = db.AppendID(id[:0], "aud", r.Raw(0))
		row, err := audit.ReadStored(string(id), r.Raw(1), r.Raw(2), 0)
		if err != nil || row.Outcome != string(audit.Success) || r.Int(3) != workspace || row.Action == string(audit.ReceivingMethodRevealed) {
			return err
		}
		fn(api.ApprovalChange{Action: row.Action, Description: row.Description, ActorName: row.ActorName, Timestamp: row.Timestamp, Changes: row.Changes})
		return nil
	}, `SELECT id, entry, personal, workspace_number FROM audit_log WHERE resource_id_key = $1 AND id >= $2 ORDER BY id DESC`,
		audit.FilterKey(audit.ByResource, workspaceID, resource), db.PackID("aud", db.FirstID("aud", now-recent.Milliseconds())))
}

// people lists the requester of an approval and those who decide it: those who voted, and the viewer.
func (a Approval) people(by db.Caller) []string {
	ids := []string{a.Maker.ID, by.ID}
	for _, vote := range a.votes {
		ids = append(ids, vote.ID)
	}
	if a.decider != nil {
		ids = append(ids, a.decider.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// roleChanges returns recent changes of the roles of people, newest first: which roles they were given or lost, with the permissions of
// each, and which permissions were added to or removed from the roles that they have.
func (a Approval) roleChanges(q db.Q, people []string, now int64) ([]api.ApprovalChange, error) {
	list, roles := []api.ApprovalChange{}, map[string]access.Role{}
	add := func(resource, actions string) error {
		var newest Newest
		return EachRecent(q, a.WorkspaceID, a.Number, resource, now, func(row api.ApprovalChange) {
			if strings.HasPrefix(row.Action, actions) && newest.Keep("", row) {
				list = append(list, row)
			}
		})
	}
	for _, id := range people {
		invitation, err := access.InvitationOf(q, a.WorkspaceID, id)
		if err == nil {
			err = add(id, "iam.member.")
		}
		if err == nil && invitation != "" { // which had a role of its own
			err = add(invitation, "iam.member.")
		}
		if err != nil {
			return nil, err
		}
		have, err := access.RolesOf(q, a.WorkspaceID, id)
		if err != nil {
			return nil, err
		}
		for _, role := range have {
			roles[role.Key] = role
		}
	}
	for _, key := range slices.Sorted(maps.Keys(roles)) {
		if err := add(key, "iam.role."); err != nil {
			return nil, err
		}
	}
	for i := range list {
		if err := addPermissions(q, a.WorkspaceID, &list[i]); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(list, func(a, b api.ApprovalChange) int { return cmp.Compare(b.Timestamp, a.Timestamp) })
	return list, nil
}

// addPermissions adds to a change of a member's roles the permissions that these roles have now.
func addPermissions(q db.Q, workspaceID string, row *api.ApprovalChange) error {
	var more audit.Changes
	for _, c := range row.Changes {
		if c.Field != "roles" {
			continue
		}
		given, taken := roleIn(c.After), roleIn(c.Before)
		role, found, err := access.FindRole(q, workspaceID, cmp.Or(given, taken))
		switch {
		case err != nil:
			return err
		case found && given != "":
			more.AddItems("permissions", nil, role.Permissions.Names())
		case found:
			more.AddItems("permissions", role.Permissions.Names(), nil)
		}
	}
	row.Changes = slices.Concat(row.Changes, more)
	return nil
}

// roleIn returns the key of a role in a change of the log, or "".
func roleIn(value []byte) (key string) {
	if json.Unmarshal(value, &key) != nil {
		return ""
	}
	return key
}

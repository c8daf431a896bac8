package server_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"bursar/api"
	"bursar/internal/server/servertest"
	"bursar/internal/torture"
)

// model is what an organization should look like after what was done to it, in
// the plainest way: lists that are searched from one end to the other.
type model struct {
	c       *servertest.Client
	n       *servertest.Node
	org     string
	ws      string
	entries []*modelEntry // oldest first, deleted ones included
	tags    []*modelTag
	members []*modelMember
	roles   []*modelRole
	spaces  []*api.Workspace // the first is the one all else is in

	rows    int // in the audit log of the workspace
	newest  [2]string
	touched *modelEntry
}

func TestRandomHistoriesMatchAPlainModel(t *testing.T) {
	torture.Rapid(t, 10, 2000, 25)
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		owner := n.User(t, servertest.NewEmail())
		rapid.Check(t, func(rt *rapid.T) {
			m := newModel(rt, n, owner)
			rt.Repeat(map[string]func(*rapid.T){
				"":                   m.compare,
				"create an entry":    m.createEntry,
				"another entry":      m.createEntry,
				"update an entry":    m.updateEntry,
				"change an entry":    m.updateEntry,
				"delete an entry":    m.deleteEntry,
				"restore an entry":   m.restoreEntry,
				"create a tag":       m.createTag,
				"rename a tag":       m.renameTag,
				"narrow a tag":       m.narrowTag,
				"delete a tag":       m.deleteTag,
				"add a method":       m.addMethod,
				"update a method":    m.updateMethod,
				"remove a method":    m.removeMethod,
				"add a member":       m.addMember,
				"remove a member":    m.removeMember,
				"assign a role":      m.assignRole,
				"unassign a role":    m.unassignRole,
				"define a role":      m.defineRole,
				"delete a role":      m.deleteRole,
				"create a workspace": m.createWorkspace,
				"update a workspace": m.updateWorkspace,
			})
		})
	})
}

func newModel(rt *rapid.T, n *servertest.Node, owner *servertest.Client) *model {
	m := &model{c: owner, n: n}
	m.org = m.call(rt, "POST", "/v1/organizations", body{"name": "Model"}, "200").Text("id")
	var first api.Workspace
	m.call(rt, "POST", "/v1/workspaces", body{"name": "Main", "organization_id": m.org}, "200").Data(&first)
	m.ws, m.spaces = first.ID, []*api.Workspace{&first}
	m.members = []*modelMember{{id: owner.UserID, roles: []string{"admin"}}}
	m.did("iam.workspace.created", m.ws)
	return m
}

// call demands an outcome, such as "200" or "422 TAG_EXISTS".
func (m *model) call(rt *rapid.T, method, path string, content any, want string) *servertest.Answer {
	rt.Helper()
	answer := m.c.Do(method, path, content)
	if got := strings.TrimSpace(strconv.Itoa(answer.Status) + " " + answer.Code()); got != want {
		rt.Fatalf("%s %s %v: want %s, got %s", method, path, content, want, answer.Body)
	}
	return answer
}

// did notes the row that a mutation leaves.
func (m *model) did(action, resource string) {
	m.rows++
	m.newest = [2]string{action, resource}
}

func (m *model) path(rest string) string { return "/v1/workspaces/" + m.ws + rest }

func (m *model) query(list string) string { return list + "?limit=100&workspace_id=" + m.ws }

// compare holds everything that can be read against the model.
func (m *model) compare(rt *rapid.T) {
	m.compareAudit(rt)
	m.compareEntries(rt)
	if m.touched != nil {
		m.compareEntry(rt, m.touched)
	}
	m.compareTags(rt)
	m.compareAccess(rt)
}

func (m *model) compareAudit(rt *rapid.T) {
	rows := m.call(rt, "GET", "/v1/audit?limit=1&workspace_id="+m.ws, nil, "200").List()
	if got := [2]string{rows[0]["action"].(string), rows[0]["resource_id"].(string)}; got != m.newest || rows[0]["outcome"] != "success" {
		rt.Fatalf("the newest row is %v, want %v", rows[0], m.newest)
	}
	if got := m.n.Count(m.c.T(), `SELECT count(*) FROM audit_entry WHERE workspace_id = $1`, m.ws); got != m.rows {
		rt.Fatalf("there are %d rows, want %d", got, m.rows)
	}
}

func (m *model) compareAccess(rt *rapid.T) {
	var members []api.Member
	m.call(rt, "GET", m.path("/members"), nil, "200").Data(&members)
	got, want := map[string][]string{}, map[string][]string{}
	for _, member := range members {
		got[member.ID] = slices.Sorted(slices.Values(member.Roles))
	}
	for _, member := range m.members {
		want[member.id] = slices.Sorted(slices.Values(member.roles))
	}
	same(rt, "members", want, got)

	var roles []api.Role
	m.call(rt, "GET", m.path("/roles"), nil, "200").Data(&roles)
	defined, expected := map[string]modelRole{}, map[string]modelRole{}
	for _, role := range roles {
		if !role.BuiltIn {
			defined[role.Key] = modelRole{role.Key, role.Name, role.Color, strings.Join(slices.Sorted(slices.Values(role.Permissions)), " ")}
		}
	}
	for _, role := range m.roles {
		expected[role.Key] = *role
	}
	same(rt, "roles", expected, defined)

	var spaces, ours []api.Workspace
	m.call(rt, "GET", "/v1/workspaces", nil, "200").Data(&spaces)
	for _, space := range m.spaces {
		ours = append(ours, *space)
	}
	spaces = slices.DeleteFunc(spaces, func(w api.Workspace) bool { return w.OrganizationID != m.org })
	same(rt, "workspaces", ours, spaces)
}

func same(rt *rapid.T, what string, want, got any) {
	rt.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatalf("%s: want (-), got (+):\n%s", what, diff)
	}
}

// pick chooses one of a list, or skips the step where there is none.
func pick[T any](rt *rapid.T, list []T, what string) T {
	if len(list) == 0 {
		rt.Skip("no " + what)
	}
	return list[rapid.IntRange(0, len(list)-1).Draw(rt, what)]
}

// maybe chooses one of a list, or none.
func maybe(rt *rapid.T, list []string, what string) (string, bool) {
	at := rapid.IntRange(-1, len(list)-1).Draw(rt, what)
	if at < 0 {
		return "", false
	}
	return list[at], true
}

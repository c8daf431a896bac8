package access_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/server/servertest"
)

// answer is the code of an error, or "" if there is none.
func answer(err error) api.Code {
	var f *fault.Fault
	switch {
	case err == nil:
		return ""
	case errors.As(err, &f):
		return f.Code
	}
	return api.CodeInternal
}

func TestAuthority(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, other := n.Tenant(t), n.Tenant(t)
		x.Define("clerk", "ws.read", "ws.directory.write")
		other.Define("clerk", "ws.read", "ws.tags.write")
		clerk := x.Member("clerk").UserID
		x.Owner.Post(x.Path("/roles"), servertest.Body{"user_id": clerk, "role": "auditor"}).OK()
		invited := n.User(t, servertest.NewEmail())
		x.Add(invited.Email(), "admin")
		people := map[string]string{
			"the owner":       x.Owner.UserID,
			"a viewer":        x.Member("viewer").UserID,
			"one of two":      clerk,
			"without a role":  x.Bystander().UserID,
			"only invited":    invited.UserID,
			"of another":      other.Owner.UserID,
			"a stranger":      "usr_unknown",
			"nobody":          "",
			"a colleague":     n.User(t, servertest.NewEmail()).UserID,
			"of another role": other.Member("clerk").UserID,
		}
		authority := access.NewAuthority(n.DB)
		by := func(who string) audit.Actor {
			id, known := people[who]
			if !known {
				t.Fatalf("nobody is %s", who)
			}
			return audit.Actor{Type: audit.User, ID: id}
		}

		for _, c := range []struct {
			who  string
			need access.Permission
			want api.Code
		}{
			{"the owner", access.WSRead, ""},
			{"the owner", access.PayoutsApprove, ""},
			{"the owner", access.OrgSettingsWrite, api.CodeForbidden}, // no workspace grants it
			{"the owner", "ws.frobnicate", api.CodeForbidden},
			{"a viewer", access.DirectoryRead, ""},
			{"a viewer", access.DirectoryWrite, api.CodeForbidden},
			{"one of two", access.DirectoryWrite, ""}, // by a role of the workspace
			{"one of two", access.AuditExport, ""},    // by a built-in role
			{"one of two", access.TagsWrite, api.CodeForbidden},
			{"without a role", access.WSRead, api.CodeForbidden},
			{"only invited", access.WSRead, api.CodeNotFound},
			{"of another", access.WSRead, api.CodeNotFound},
			{"of another role", access.WSRead, api.CodeNotFound},
			{"a stranger", access.WSRead, api.CodeNotFound},
			{"nobody", access.WSRead, api.CodeNotFound},
		} {
			for range 2 { // the second time from the cache
				if got := answer(authority.RequireInWorkspace(t.Context(), by(c.who), x.WorkspaceID, c.need)); got != c.want {
					t.Errorf("%s, %s in the workspace: %q", c.who, c.need, got)
				}
			}
		}
		for _, id := range []string{"", "ws_unknown", x.OrganizationID, strings.Repeat("x", 1000)} {
			if got := answer(authority.RequireInWorkspace(t.Context(), by("the owner"), id, access.WSRead)); got != api.CodeNotFound {
				t.Errorf("workspace %.20q: %q", id, got)
			}
		}

		for _, c := range []struct {
			who   string
			given access.Set
			want  api.Code
		}{
			{"the owner", everything(), ""},
			{"a viewer", 0, ""},
			{"a viewer", access.SetOf(access.WSRead, access.DirectoryRead), ""},
			{"a viewer", access.SetOf(access.WSRead, access.DirectoryWrite), api.CodeForbidden},
			{"one of two", access.SetOf(access.DirectoryWrite, access.AuditRead), ""},
			{"without a role", access.SetOf(access.WSRead), api.CodeForbidden},
			{"of another", 0, api.CodeNotFound},
		} {
			if got := answer(authority.RequireToGrant(t.Context(), by(c.who), x.WorkspaceID, c.given)); got != c.want {
				t.Errorf("%s grants %s: %q", c.who, c.given, got)
			}
		}

		for _, c := range []struct {
			who  string
			need access.Permission
			want api.Code
		}{
			{"the owner", access.OrgSettingsWrite, ""},
			{"a viewer", access.OrgRead, ""}, // members of a workspace are members of its organization
			{"a viewer", access.OrgSettingsRead, ""},
			{"a viewer", access.OrgSettingsWrite, api.CodeForbidden},
			{"without a role", access.OrgRead, ""},
			{"only invited", access.OrgRead, api.CodeNotFound},
			{"a colleague", access.OrgRead, api.CodeNotFound},
			{"of another", access.OrgRead, api.CodeNotFound},
		} {
			for range 2 {
				if got := answer(authority.RequireInOrganization(t.Context(), by(c.who), x.OrganizationID, c.need)); got != c.want {
					t.Errorf("%s, %s in the organization: %q", c.who, c.need, got)
				}
			}
		}
		if got := answer(authority.RequireInOrganization(t.Context(), by("the owner"), x.WorkspaceID, access.OrgRead)); got != api.CodeNotFound {
			t.Errorf("a workspace as an organization: %q", got)
		}
	})
}

func TestAuthorityChangesAtOnce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		x.Define("clerk", "ws.read")
		clerk := x.Member("clerk").UserID
		authority := access.NewAuthority(n.DB)
		for _, step := range []struct {
			name   string
			change func()
			held   string
			want   api.Code
		}{
			{"joined", func() {}, "ws.read", ""},
			{"the role grants more", func() { x.Define("clerk", "ws.read", "ws.tags.write") }, "ws.read ws.tags.write", ""},
			{"the role grants nothing", func() { x.Define("clerk", []string{}...) }, "", ""},
			{"got another role", func() {
				x.Owner.Post(x.Path("/roles"), servertest.Body{"user_id": clerk, "role": "viewer"}).OK()
			}, "ws.read ws.members.read ws.directory.read ws.payouts.read ws.accounts.read", ""},
			{"lost it", func() { x.Owner.Delete(x.Path("/roles/" + clerk + "/viewer")).OK() }, "", ""},
			{"left", func() { x.Owner.Delete(x.Path("/members/" + clerk)).OK() }, "", api.CodeNotFound},
		} {
			step.change()
			held, err := authority.Permissions(t.Context(), audit.Actor{Type: audit.User, ID: clerk}, x.WorkspaceID)
			if answer(err) != step.want || held.String() != step.held {
				t.Errorf("%s: %q, %v", step.name, held, err)
			}
		}
	})
}

func TestRolesOfAMember(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, other := n.Tenant(t), n.Tenant(t)
		x.Define("clerk", "ws.read", "ws.tags.write")
		invited := x.Add(servertest.NewEmail(), "clerk")
		x.Owner.Post(x.Path("/roles"), servertest.Body{"user_id": invited, "role": "auditor"}).OK()
		err := n.DB.Read(t.Context(), func(q db.Q) error {
			member, _, err := access.FindMember(q, x.WorkspaceID, invited)
			if err != nil {
				return err
			}
			roles, err := access.RolesOf(q, x.WorkspaceID, member.UserID)
			if len(roles) != 2 || roles[0].Key != "auditor" || !roles[0].BuiltIn ||
				roles[1].Key != "clerk" || roles[1].BuiltIn || roles[1].Permissions != access.SetOf(access.WSRead, access.TagsWrite) {
				t.Errorf("an invited member has the roles %+v", roles)
			}
			elsewhere, failed := access.RolesOf(q, other.WorkspaceID, member.UserID)
			if len(elsewhere) != 0 {
				t.Errorf("in another workspace they have %+v", elsewhere)
			}
			_, found, missed := access.FindRole(q, other.WorkspaceID, "clerk")
			if found {
				t.Error("a role of one workspace is found in another")
			}
			return errors.Join(err, failed, missed)
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestSoleAdmin(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		email := x.Owner.Email()
		for _, step := range []struct {
			name   string
			change func()
			want   []string
		}{
			{"alone", func() {}, []string{"Payroll"}},
			{"with a viewer", func() { x.Member("viewer") }, []string{"Payroll"}},
			{"with an admin who was only invited", func() { x.Add(servertest.NewEmail(), "admin") }, []string{"Payroll"}},
			{"with another admin", func() { x.Member("admin") }, nil},
		} {
			step.change()
			err := n.DB.Read(t.Context(), func(q db.Q) error {
				got, err := access.SoleAdminOf(q, email)
				if !slices.Equal(got, step.want) {
					t.Errorf("%s: the only admin of %v", step.name, got)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

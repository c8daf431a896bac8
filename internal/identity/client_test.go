package identity_test

import (
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/setup"
	"bursar/internal/web"
	"bursar/internal/workspace"
)

// place is a workspace with people in it.
type place struct {
	*node
	workspaces  *workspace.Service
	workspaceID string
	admin       db.Caller
}

func (n *node) place() *place {
	n.t.Helper()
	first := n.first()
	p := &place{node: n, workspaceID: first.WorkspaceID, admin: n.actor(first)}
	p.workspaces = workspace.New(n.db, n.authority, web.NewCursors(nil), identity.NewLinks("http://bursar.test", nil),
		approval.New(n.db, n.vault, n.authority, web.NewCursors(nil), nil, nil, ""))
	return p
}

func (n *node) actor(first setup.Result) db.Caller {
	return db.Caller{Actor: audit.Actor{Type: audit.User, ID: first.UserID, Name: "Admin", Email: "admin@example.com", HomeOrgID: first.OrganizationID, LoggedInAt: n.db.Now()}}
}

func (p *place) in(t testing.TB) *place {
	other := *p
	other.node = p.node.on(t)
	return &other
}

// another is a further workspace of the same organization, whose admin is the same.
func (p *place) another() *place {
	p.t.Helper()
	ws, err := call(p.node, p.admin, p.workspaces.Create, workspace.CreateInput{WorkspaceCreate: api.WorkspaceCreate{Name: "Payroll", OrganizationID: p.admin.HomeOrgID}})
	must(p.t, err)
	other := *p
	other.workspaceID = ws.ID
	return &other
}

// holder is someone with a role.
func (p *place) holder(role string) db.Caller {
	p.t.Helper()
	email := role + "@example.com"
	id := p.person(email)
	added, err := call(p.node, p.admin, p.workspaces.AddMember, workspace.AddMemberInput{ID: p.workspaceID, MemberAdd: api.MemberAdd{Email: email, Role: role}})
	must(p.t, err)
	who := db.Caller{Actor: audit.Actor{Type: audit.User, ID: id, Email: email, LoggedInAt: p.db.Now()}}
	_, err = call(p.node, who, p.workspaces.AcceptInvitation, workspace.InvitationInput{ID: added.UserID})
	must(p.t, err)
	return who
}

func (p *place) define(role string, permissions ...string) {
	p.t.Helper()
	_, err := call(p.node, p.admin, p.workspaces.DefineRole, workspace.DefineRoleInput{
		ID: p.workspaceID, Role: role, RoleDefine: api.RoleDefine{Name: role, Permissions: permissions},
	})
	must(p.t, err)
}

func (p *place) create(by db.Caller, name, role string) (api.NewMachineClient, error) {
	return call(p.node, by, p.clients.Create, identity.CreateClientInput{WorkspaceID: p.workspaceID, Name: name, Role: role})
}

func (p *place) client(name, role string) api.NewMachineClient {
	p.t.Helper()
	made, err := p.create(p.admin, name, role)
	must(p.t, err)
	return made
}

func (p *place) named(id string) identity.ClientInput {
	return identity.ClientInput{WorkspaceID: p.workspaceID, ID: id}
}

func (p *place) rotate(by db.Caller, id string) (api.NewMachineClient, error) {
	return call(p.node, by, p.clients.Rotate, p.named(id))
}

func (p *place) revoke(by db.Caller, id string) error {
	_, err := call(p.node, by, p.clients.Revoke, p.named(id))
	return err
}

func (p *place) list(by db.Caller) ([]api.MachineClient, error) {
	page, err := call(p.node, by, p.clients.List, identity.ClientsInput{WorkspaceID: p.workspaceID})
	return page.Rows(), err
}

// names are those of the clients that are listed.
func (p *place) names() []string {
	p.t.Helper()
	list, err := p.list(p.admin)
	must(p.t, err)
	names := []string{}
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names
}

type exchanged struct{ token string }

// login begins a session with a client's id and secret.
func (n *node) login(c api.NewMachineClient) (exchanged, error) {
	header := "Basic " + base64.StdEncoding.EncodeToString([]byte(c.ID+":"+c.Secret))
	got, err := exchange(n, header)
	return exchanged{got}, err
}

// token says whether a token lets its holder in.
func (n *node) tokenLives(token string) bool {
	n.t.Helper()
	_, err := n.Authenticate(n.t.Context(), "Bearer "+token, func() error { return nil })
	if err != nil {
		refused(n.t, err, api.CodeUnauthorized)
	}
	return err == nil
}

func TestAMachineClientDoesWhatItsRoleAllows(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		p := n.place()
		made := p.client("nightly export", "auditor")
		if !strings.HasPrefix(made.ID, "cli_") || !strings.HasPrefix(made.Secret, "bcs_") || made.Name != "nightly export" {
			t.Errorf("made %+v", made)
		}
		session, err := n.login(made)
		must(t, err)
		actor, err := n.Authenticate(t.Context(), "Bearer "+session.token, func() error { return nil })
		if err != nil || actor.Type != audit.Client || actor.ID != made.ID {
			t.Errorf("is %+v, %v", actor, err)
		}
		auditor, _ := access.BuiltInRole("auditor")
		if held, err := n.authority.Permissions(t.Context(), actor, p.workspaceID); err != nil || held != auditor.Permissions {
			t.Errorf("holds %s, %v", held, err)
		}
		if c := n.count(`SELECT count(*) FROM account WHERE secret_hash = $1`, made.Secret); c != 0 {
			t.Error("the secret is stored as it is")
		}
	})
}

func TestMachineClientsAreListedWithoutTheirSecrets(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		p := n.place()
		p.another().client("elsewhere", "viewer")
		one := p.client("one", "viewer")
		p.client("two", "admin")
		if got := p.names(); !slices.Equal(got, []string{"one", "two"}) {
			t.Fatalf("listed are %v", got)
		}
		list, err := p.list(p.admin)
		must(t, err)
		if list[0].ID != one.ID || list[0].CreatedAt == 0 || list[0].LastUsedAt != 0 {
			t.Errorf("shown as %+v", list[0])
		}
		_, err = n.login(one)
		must(t, err)
		if list, err = p.list(p.admin); err != nil || list[0].LastUsedAt == 0 {
			t.Errorf("after it was used shown as %+v, %v", list[0], err)
		}
	})
}

func TestWhoMayDoWhatWithMachineClients(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		p := n.place()
		p.define("reader", "ws.keys.read")
		p.define("keeper", "ws.keys.read", "ws.keys.write", "ws.read", "ws.directory.read", "ws.members.read", "ws.payouts.read", "ws.accounts.read")
		c := p.client("one", "viewer")
		outsider := db.Caller{Actor: audit.Actor{Type: audit.User, ID: n.person("outsider@example.com")}}
		const no, missing = api.CodeForbidden, api.CodeNotFound
		for name, want := range map[string]struct {
			by           db.Caller
			read, change api.Code // empty where it is allowed
		}{
			"admin":                   {p.admin, "", ""},
			"keeper":                  {p.holder("keeper"), "", ""},
			"reader":                  {p.holder("reader"), "", no},
			"member":                  {p.holder("member"), no, no},
			"viewer":                  {p.holder("viewer"), no, no},
			"directory_manager":       {p.holder("directory_manager"), no, no},
			"disbursement_manager":    {p.holder("disbursement_manager"), no, no},
			"disbursement_authorizer": {p.holder("disbursement_authorizer"), no, no},
			"auditor":                 {p.holder("auditor"), no, no},
			"somebody else":           {outsider, missing, missing},
		} {
			t.Run(name, func(t *testing.T) {
				p := p.in(t)
				_, listed := p.list(want.by)
				_, created := p.create(want.by, "another", "viewer")
				_, rotated := p.rotate(want.by, c.ID)
				revoked := p.revoke(want.by, p.client("to be revoked", "viewer").ID)
				for what, err := range map[string]error{"list": listed, "create": created, "rotate": rotated, "revoke": revoked} {
					code := want.change
					if what == "list" {
						code = want.read
					}
					if !is(err, code) {
						t.Errorf("%s: want %q, got %v", what, code, err)
					}
				}
			})
		}
	})
}

func is(err error, code api.Code) bool {
	var f *fault.Fault
	if code == "" {
		return err == nil
	}
	return errors.As(err, &f) && f.Code == code
}

// Anyone who makes or rotates a client sees its secret, and can then do all that it can.
func TestAMachineClientGivesNoOneMoreThanTheyHold(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		p := n.place()
		p.define("keeper", "ws.keys.read", "ws.keys.write", "ws.read")
		keeper := p.holder("keeper")
		powerful, weak := p.client("powerful", "admin"), p.client("weak", "keeper")
		t.Run("by making one", func(t *testing.T) {
			p := p.in(t)
			_, err := p.create(keeper, "mine", "admin")
			refused(t, err, api.CodeForbidden)
			_, err = p.create(keeper, "mine", "keeper")
			must(t, err)
		})
		t.Run("by giving one a new secret", func(t *testing.T) {
			p := p.in(t)
			_, err := p.rotate(keeper, powerful.ID)
			refused(t, err, api.CodeForbidden)
			if _, err := p.login(powerful); err != nil {
				t.Errorf("the secret was changed: %v", err)
			}
			_, err = p.rotate(keeper, weak.ID)
			must(t, err)
		})
		t.Run("taking one away gives nothing", func(t *testing.T) {
			p := p.in(t)
			must(t, p.revoke(keeper, powerful.ID))
		})
	})
}

func TestAMachineClientNeedsANameAndARole(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		p := n.place()
		for name, c := range map[string]struct{ name, role string }{
			"no name": {"", "viewer"}, "a long name": {strings.Repeat("n", 101), "viewer"}, "no role": {"one", ""}, "an unknown role": {"one", "emperor"},
		} {
			if _, err := p.create(p.admin, c.name, c.role); !is(err, api.CodeValidation) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := p.names(); len(got) != 0 {
			t.Errorf("there are %v", got)
		}
	})
}

func TestANewSecretEndsTheOldOneAndItsSessions(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		p := n.place()
		old := p.client("one", "viewer")
		session, err := n.login(old)
		must(t, err)
		if !n.tokenLives(session.token) {
			t.Fatal("the session does not live")
		}
		fresh, err := p.rotate(p.admin, old.ID)
		if err != nil || fresh.ID != old.ID || fresh.Name != "one" || fresh.Secret == old.Secret {
			t.Fatalf("made %+v, %v", fresh, err)
		}
		if n.tokenLives(session.token) {
			t.Error("the session lives on")
		}
		_, err = n.login(old)
		refused(t, err, api.CodeInvalidCredentials)
		_, err = n.login(fresh)
		must(t, err)
	})
}

func TestARevokedMachineClientIsOverForGood(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		p := n.place()
		c := p.client("one", "viewer")
		session, err := n.login(c)
		must(t, err)
		must(t, p.revoke(p.admin, c.ID))
		if n.tokenLives(session.token) {
			t.Error("the session lives on")
		}
		_, err = n.login(c)
		refused(t, err, api.CodeInvalidCredentials)
		if got := p.names(); len(got) != 0 {
			t.Errorf("listed are %v", got)
		}
		refused(t, p.revoke(p.admin, c.ID), api.CodeNotFound)
		_, err = p.rotate(p.admin, c.ID)
		refused(t, err, api.CodeNotFound)
	})
}

func TestMachineClientsOfAnotherWorkspaceAreNotThere(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		p := n.place()
		there := p.another().client("elsewhere", "viewer")
		for name, id := range map[string]string{"of another workspace": there.ID, "unknown": "cli_unknown", "a person": p.admin.ID} {
			t.Run(name, func(t *testing.T) {
				p := p.in(t)
				_, err := p.rotate(p.admin, id)
				refused(t, err, api.CodeNotFound)
				refused(t, p.revoke(p.admin, id), api.CodeNotFound)
			})
		}
		if _, err := n.login(there); err != nil {
			t.Errorf("it was changed: %v", err)
		}
	})
}

func TestWhatIsDoneWithMachineClientsIsOnRecordInTheWorkspace(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		p := n.place()
		c := p.client("one", "viewer")
		_, err := p.rotate(p.admin, c.ID)
		must(t, err)
		must(t, p.revoke(p.admin, c.ID))
		for action, text := range map[audit.Action]string{
			audit.ClientCreated: "Created machine client one with role viewer",
			audit.ClientRotated: "Gave machine client one a new secret",
			audit.ClientRevoked: "Revoked machine client one",
		} {
			want := row{"user", p.admin.ID, p.workspaceID, "", c.ID, text}
			if got := n.last(action); got != want {
				t.Errorf("%s: the audit log says %+v", action, got)
			}
		}
	})
}

// knowers are who was shown the present secrets, by the names of the clients.
func (p *place) knowers() map[string]string {
	p.t.Helper()
	list, err := p.list(p.admin)
	must(p.t, err)
	knowers := map[string]string{}
	for _, c := range list {
		knowers[c.Name] = ""
		if c.SecretSeenBy != nil {
			knowers[c.Name] = c.SecretSeenBy.ID
		}
	}
	return knowers
}

func TestItIsKnownWhoWasShownTheSecretOfAMachineClient(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := open(t, store, &dbtest.Clock{})
		p := n.place()
		p.define("keeper", "ws.keys.write", "ws.read", "ws.directory.read", "ws.members.read", "ws.payouts.read", "ws.accounts.read")
		second := p.holder("keeper")
		p.client("of the admin", "viewer")
		_, err := p.rotate(second, p.client("rotated by another", "viewer").ID)
		must(t, err)
		_, _, err = n.CreateClient(t.Context(), db.Caller{}, p.workspaceID, "of an operator", "viewer")
		must(t, err)
		want := map[string]string{"of the admin": p.admin.ID, "rotated by another": second.ID, "of an operator": ""}
		if got := p.knowers(); !maps.Equal(got, want) {
			t.Errorf("shown to %v, want %v", got, want)
		}
	})
}

func TestMachineClientsAreListedWithWhatTheyEffectivelyHold(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		p := n.place()
		made := p.client("powerful", "admin")
		list, err := p.list(p.admin)
		must(t, err)
		held, err := n.authority.Permissions(t.Context(), audit.Actor{ID: made.ID}, p.workspaceID)
		must(t, err)
		if !slices.Equal(list[0].Permissions, held.Names()) || !slices.Equal(list[0].Roles, []string{"admin"}) {
			t.Errorf("listed as %+v, holds %s", list[0], held)
		}
		for _, p := range []access.Permission{access.MembersWrite, access.RolesWrite, access.KeysWrite} {
			if held.Has(p) {
				t.Errorf("holds %s", p)
			}
		}
	})
}

package access

import (
	"context"

	"bursar/internal/audit"
	"bursar/internal/cache"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// maxCachedAccess bounds the cache of access decisions.
const maxCachedAccess = 50_000

// maxID is longer than any id of Bursar.
const maxID = 64

// Authority decides who may do what. It caches what it reads from the store until the
// epoch of the store changes, which happens when access changes on any node.
type Authority struct {
	db     *db.DB
	access cache.Cache[accessKey, access]
}

// Owner is the role of a person who may change an organization.
const Owner = "owner"

// accessKey includes the kind of tenant as well as its id. So a request for a workspace by an organization's id cannot fill the cache for
// that organization.
type accessKey struct {
	kind         tenantKind
	user, tenant string
}

type tenantKind int

const (
	aWorkspace tenantKind = iota
	anOrganization
	aMachine // only the user matters
)

type access struct {
	epoch        uint64
	member       bool
	owner        bool   // of an organization
	held         Set    // in a workspace
	number       int64  // of the workspace
	factor       bool   // the organization requires a second factor
	double       string // how the workspace handles duplicates
	organization string // of the workspace
	home         string // the only workspace of a machine client
}

// NewAuthority returns an authority over the store.
func NewAuthority(d *db.DB) *Authority {
	return &Authority{
		db:     d,
		access: cache.New[accessKey, access](maxCachedAccess),
	}
}

// RequireInWorkspace returns an error unless the caller holds a permission in a workspace. To someone who is not a member, or whose
// credential does not cover it, the workspace does not exist.
func (a *Authority) RequireInWorkspace(ctx context.Context, by audit.Actor, workspaceID string, need Permission) error {
	_, err := a.Enter(ctx, by, workspaceID, need)
	return err
}

// Held is RequireInWorkspace for a caller who is about to change a member or a role. It returns the caller's permissions, which
// RequireToTouch compares in the transaction.
func (a *Authority) Held(ctx context.Context, by audit.Actor, workspaceID string, need Permission) (Set, error) {
	got, err := a.holding(ctx, by, workspaceID, need)
	return got.held, err
}

// Enter is RequireInWorkspace that returns the number of the workspace, which identifies it in the tables of the directory and of the audit
// log.
func (a *Authority) Enter(ctx context.Context, by audit.Actor, workspaceID string, need Permission) (number int64, err error) {
	got, err := a.holding(ctx, by, workspaceID, need)
	return got.number, err
}

func (a *Authority) holding(ctx context.Context, by audit.Actor, workspaceID string, need Permission) (access, error) {
	got, err := a.inWorkspace(ctx, by, workspaceID)
	if err == nil && !got.held.Has(need) {
		err = fault.Denied(string(need), fault.Scope{WorkspaceID: workspaceID})
	}
	return got, err
}

// OnDuplicate returns how a workspace handles possible duplicates: api.OnDuplicateAllow, api.OnDuplicateWarn or api.OnDuplicateRefuse. The
// setting is cached with the access decisions, so that a create needs no further read.
func (a *Authority) OnDuplicate(ctx context.Context, by audit.Actor, workspaceID string) (string, error) {
	got, err := a.inWorkspace(ctx, by, workspaceID)
	return got.double, err
}

// Workspace returns the workspace of a request: the given one or, if a machine client gives none, its own. It does not check whether the
// caller belongs to it.
func (a *Authority) Workspace(ctx context.Context, by audit.Actor, given *string) (string, error) {
	if given != nil {
		if *given == "" {
			return "", fault.Invalid("workspace_id", "must not be empty")
		}
		return *given, nil
	}
	var own access
	var err error
	if by.Type == audit.Client {
		own, err = a.lookUp(ctx, accessKey{kind: aMachine, user: by.ID}, machineHome)
	}
	if err == nil && own.home == "" {
		err = fault.Invalid("workspace_id", "is required")
	}
	return own.home, err
}

// machineHome finds the workspace of a machine client. A client of several workspaces must name one.
func machineHome(q db.Q, key accessKey) (access, error) {
	homes, err := db.Collect(q, func(r db.Rows) string { return r.Text(0) },
		`SELECT workspace_id FROM live_member WHERE account_id = $1 LIMIT 2`, key.user)
	if len(homes) == 1 {
		return access{home: homes[0]}, err
	}
	return access{}, err
}

// Permissions returns the caller's permissions in a workspace.
func (a *Authority) Permissions(ctx context.Context, by audit.Actor, workspaceID string) (Set, error) {
	got, err := a.inWorkspace(ctx, by, workspaceID)
	return got.held, err
}

func (a *Authority) membership(ctx context.Context, by audit.Actor, workspaceID string) (access, error) {
	got, err := a.lookUp(ctx, accessKey{aWorkspace, by.ID, workspaceID}, workspaceAccess)
	if err == nil && (!got.member || !by.Scope.InWorkspace(workspaceID)) {
		got, err = access{}, fault.Foreign("workspace", fault.Scope{WorkspaceID: workspaceID})
	}
	return got, err
}

func (a *Authority) inWorkspace(ctx context.Context, by audit.Actor, workspaceID string) (access, error) {
	got, err := a.membership(ctx, by, workspaceID)
	if err == nil && got.factor && by.OneFactor {
		err = errSecondFactor
	}
	got.held = Within(by.Scope, got.held) // the cache has those of the user
	return got, err
}

// RequireToGrant returns an error unless the caller holds every permission that they
// are about to grant.
func (a *Authority) RequireToGrant(ctx context.Context, by audit.Actor, workspaceID string, given Set) error {
	held, err := a.Permissions(ctx, by, workspaceID)
	if err != nil {
		return err
	}
	return RequireToGive(held, given, workspaceID)
}

// RequireToGive is RequireToGrant for a caller who holds a set of permissions.
func RequireToGive(held, given Set, workspaceID string) error {
	return requireAll(held, given, workspaceID, "you cannot grant a permission that you do not have: ")
}

// RequireToTouch returns an error unless the caller's permissions include everything that the affected member or role holds. A caller
// cannot change or remove a member or role above their own.
func RequireToTouch(held, target Set, workspaceID string) error {
	return requireAll(held, target, workspaceID, "you cannot change a member or a role with a permission that you do not have: ")
}

func requireAll(held, all Set, workspaceID, message string) error {
	missing, lacks := held.Lacks(all)
	if !lacks {
		return nil
	}
	f := fault.Denied(string(missing), fault.Scope{WorkspaceID: workspaceID})
	f.Message = message + string(missing)
	return f
}

// RequireToGiveUp is RequireInOrganization for owners who give up their own ownership. It needs no second factor.
func (a *Authority) RequireToGiveUp(ctx context.Context, by audit.Actor, organizationID string) error {
	by.OneFactor = false
	return a.RequireInOrganization(ctx, by, organizationID, OrgSettingsWrite)
}

// RequireInOrganization returns an error unless the caller holds a permission in an organization. To someone who is not a member, the
// organization does not exist. A change needs an owner, and a credential needs administration.
func (a *Authority) RequireInOrganization(ctx context.Context, by audit.Actor, organizationID string, need Permission) error {
	got, err := a.inOrganization(ctx, by, organizationID)
	if err != nil {
		return err
	}
	if need == OrgSettingsWrite && !got.owner {
		return fault.Denied(string(need), fault.Scope{OrganizationID: organizationID})
	}
	if need == OrgSettingsWrite && byCredential(by) && !by.Scope.Administer {
		return errAdminister(fault.Scope{OrganizationID: organizationID})
	}
	return nil
}

func (a *Authority) inOrganization(ctx context.Context, by audit.Actor, organizationID string) (access, error) {
	got, err := a.lookUp(ctx, accessKey{anOrganization, by.ID, organizationID}, organizationAccess)
	if err == nil && by.Scope.WorkspaceIDs != nil {
		got, err = a.inScope(ctx, by, organizationID)
	}
	if err == nil && !got.member {
		err = fault.Foreign("organization", fault.Scope{OrganizationID: organizationID})
	}
	if err == nil && got.factor && by.OneFactor {
		err = errSecondFactor
	}
	return got, err
}

func (a *Authority) lookUp(ctx context.Context, key accessKey, load func(db.Q, accessKey) (access, error)) (access, error) {
	if len(key.tenant) > maxID {
		return access{}, nil // no tenant has such an id, and strangers must not fill the cache with them
	}
	epoch := a.db.Epoch()
	if got, ok := a.access.GetIfPresent(key); ok && got.epoch == epoch {
		return got, nil
	}
	var got access
	err := a.db.Read(ctx, func(q db.Q) (err error) {
		got, err = load(q, key)
		return err
	})
	if err != nil {
		return access{}, err
	}
	got.epoch = epoch
	a.access.Set(key, got)
	return got, nil
}

func workspaceAccess(q db.Q, key accessKey) (access, error) {
	var got access
	var machine bool
	err := q.Each(func(r db.Rows) error {
		got.member, machine = true, r.Text(2) == "client"
		if role, ok := BuiltInRole(r.Text(0)); ok {
			got.held |= role.Permissions
		} else {
			got.held |= ParseSet(r.Text(1))
		}
		got.number, got.factor, got.double, got.organization = r.Int(3), r.Bool(4), r.Text(5), r.Text(6)
		return nil
	}, `SELECT m.role, r.permissions, a.kind, n.number, o.require_second_factor, n.on_duplicate, n.organization_id FROM live_member w JOIN workspace n ON n.id = w.workspace_id
		JOIN organization o ON o.id = n.organization_id JOIN account a ON a.id = w.account_id
		LEFT JOIN member_role m ON m.workspace_id = w.workspace_id AND m.account_id = w.account_id
		LEFT JOIN workspace_role r ON r.workspace_id = m.workspace_id AND r.role = m.role
		WHERE w.workspace_id = $1 AND w.account_id = $2`, key.tenant, key.user)
	if machine {
		got.held = got.held.OfMachine()
	}
	return got, err
}

// A member of a workspace is a member of its organization.
func organizationAccess(q db.Q, key accessKey) (access, error) {
	var got access
	err := q.Each(func(r db.Rows) error {
		got.member = true
		got.owner = got.owner || r.Text(0) == Owner
		got.factor = r.Bool(1)
		return nil
	}, `SELECT m.role, o.require_second_factor FROM organization_member m JOIN organization o ON o.id = m.organization_id
		WHERE m.account_id = $1 AND m.organization_id = $2
		UNION
		SELECT 'member', o.require_second_factor FROM live_member m JOIN organization o ON o.id = m.organization_id
		WHERE m.account_id = $1 AND m.organization_id = $2`, key.user, key.tenant)
	return got, err
}

package identity

import (
	"context"

	"github.com/maypok86/otter/v2"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// rememberedAccess bounds how many answers about access are kept in memory.
const rememberedAccess = 50_000

// maxID is longer than any id.
const maxID = 64

// Authority decides who may do what, from what is stored now. It remembers
// answers for as long as nothing about access has changed anywhere.
type Authority struct {
	db     *db.DB
	access *otter.Cache[accessKey, access]
}

// Owner is the role of whoever may change an organization.
const Owner = "owner"

// accessKey tells workspaces and organizations apart: an id of the one kind asked
// for as the other must not answer for it later.
type accessKey struct {
	kind            tenantKind
	account, tenant string
}

type tenantKind int

const (
	aWorkspace tenantKind = iota
	anOrganization
)

type access struct {
	epoch  uint64
	member bool
	owner  bool // of an organization
	held   Set  // in a workspace
}

// NewAuthority makes an authority over the store.
func NewAuthority(d *db.DB) *Authority {
	return &Authority{
		db:     d,
		access: otter.Must(&otter.Options[accessKey, access]{MaximumSize: rememberedAccess}),
	}
}

// Workspace demands a permission in a workspace. Somebody who is not a member is
// told that there is no such workspace.
func (a *Authority) Workspace(ctx context.Context, by audit.Actor, workspaceID string, need Permission) error {
	held, err := a.Held(ctx, by, workspaceID)
	if err != nil {
		return err
	}
	if !held.Has(need) {
		return fault.Denied(string(need), fault.Scope{WorkspaceID: workspaceID})
	}
	return nil
}

// Held is what the caller may do in a workspace.
func (a *Authority) Held(ctx context.Context, by audit.Actor, workspaceID string) (Set, error) {
	got, err := a.lookUp(ctx, accessKey{aWorkspace, by.ID, workspaceID}, workspaceAccess)
	if err != nil {
		return 0, err
	}
	if !got.member {
		return 0, fault.Missing("workspace")
	}
	return got.held, nil
}

// Grant demands that the caller holds everything they are about to hand out.
func (a *Authority) Grant(ctx context.Context, by audit.Actor, workspaceID string, given Set) error {
	held, err := a.Held(ctx, by, workspaceID)
	if err != nil {
		return err
	}
	if missing, lacks := held.Lacks(given); lacks {
		f := fault.Denied(string(missing), fault.Scope{WorkspaceID: workspaceID})
		f.Message = "nobody can grant a permission that they do not hold: " + string(missing)
		return f
	}
	return nil
}

// Organization demands a permission in an organization.
func (a *Authority) Organization(ctx context.Context, by audit.Actor, organizationID string, need Permission) error {
	got, err := a.lookUp(ctx, accessKey{anOrganization, by.ID, organizationID}, organizationAccess)
	if err != nil {
		return err
	}
	if !got.member {
		return fault.Missing("organization")
	}
	if need == OrgSettingsWrite && !got.owner {
		return fault.Denied(string(need), fault.Scope{OrganizationID: organizationID})
	}
	return nil
}

func (a *Authority) lookUp(ctx context.Context, key accessKey, load func(db.Q, accessKey) (access, error)) (access, error) {
	if len(key.tenant) > maxID {
		return access{}, nil // no tenant has such an id, and it must not be remembered
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
	err := q.Each(func(r db.Rows) error {
		got.member = true
		if role, ok := BuiltInRole(r.Text(0)); ok {
			got.held |= role.Permissions
		} else {
			got.held |= ParseSet(r.Text(1))
		}
		return nil
	}, `SELECT m.role, r.permissions FROM live_member w
		LEFT JOIN member_role m ON m.workspace_id = w.workspace_id AND m.account_id = w.account_id
		LEFT JOIN workspace_role r ON r.workspace_id = m.workspace_id AND r.role = m.role
		WHERE w.workspace_id = $1 AND w.account_id = $2`, key.tenant, key.account)
	return got, err
}

// Being in a workspace makes one a member of its organization.
func organizationAccess(q db.Q, key accessKey) (access, error) {
	var got access
	err := q.Each(func(r db.Rows) error {
		got.member = true
		got.owner = got.owner || r.Text(0) == Owner
		return nil
	}, `SELECT role FROM organization_member WHERE account_id = $1 AND organization_id = $2
		UNION
		SELECT 'member' FROM live_member WHERE account_id = $1 AND organization_id = $2`, key.account, key.tenant)
	return got, err
}

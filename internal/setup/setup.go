// Package setup creates the first organization, workspace and admin of a store.
package setup

import (
	"context"
	"errors"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/ledger"
	"bursar/internal/organization"
	"bursar/internal/web"
	"bursar/internal/workspace"
)

// First describes the first organization, workspace and admin of a store.
type First struct {
	Email        string
	Name         string
	Organization string
	Workspace    string
	// PublicURL is the base address of the admin's link.
	PublicURL string
	// Mode limits the admin's key to money of one mode, unless it is audit.BothModes or "".
	Mode string
}

// Validate validates the values.
func (f *First) Validate(v *fault.Violations) {
	web.CheckEmail(v, "email", f.Email)
	web.CheckText(v, "name", f.Name, 1, 100)
	web.CheckText(v, "organization", f.Organization, 1, 100)
	web.CheckText(v, "workspace", f.Workspace, 1, 100)
}

// Result identifies what was created. The API key, and the link with which the admin sets up how they sign in to the console, are returned
// only here.
type Result struct {
	UserID         string `json:"user_id"`
	OrganizationID string `json:"organization_id"`
	WorkspaceID    string `json:"workspace_id"`
	APIKey         string `json:"api_key"`
	Link           string `json:"link"`
}

// ErrDone means that the store already has its first admin.
var ErrDone = errors.New("the store is already initialised")

// initialised is the setting that only one initialization can insert.
const initialised = "initialised"

// Done reports whether the store has its first admin.
func Done(ctx context.Context, d *db.DB) (done bool, err error) {
	err = d.Read(ctx, func(q db.Q) (err error) {
		done, err = q.Row(`SELECT value FROM setting WHERE name = $1`, initialised).Scan(new(string))
		return err
	})
	return done, err
}

// Run creates the first organization, workspace and admin, with an API key. If several
// nodes try at once, one succeeds and the others get ErrDone.
func Run(ctx context.Context, d *db.DB, by db.Caller, f First) (Result, error) {
	var v fault.Violations
	f.Validate(&v)
	if err := v.Err(); err != nil {
		return Result{}, err
	}
	return db.Write(ctx, d, by, func(tx *db.Tx) (Result, audit.Event, error) {
		first, err := tx.Row(`INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING RETURNING name`,
			initialised, "yes").Scan(new(string))
		if err == nil && !first {
			err = ErrDone
		}
		if err != nil {
			return Result{}, audit.Event{}, err
		}
		return begin(tx, f)
	})
}

func begin(tx *db.Tx, f First) (Result, audit.Event, error) {
	org, err := organization.Insert(tx, f.Organization, nil)
	if err != nil {
		return Result{}, audit.Event{}, err
	}
	user, _, err := identity.EnsureUser(tx, identity.NewUser{Email: f.Email, Name: f.Name})
	if err != nil {
		return Result{}, audit.Event{}, err
	}
	if err := organization.Found(tx, org.ID, user); err != nil {
		return Result{}, audit.Event{}, err
	}
	ws, err := workspace.Insert(tx, org.ID, f.Workspace, nil)
	if err != nil {
		return Result{}, audit.Event{}, err
	}
	if err := access.Join(tx, ws.ID, user, access.Admin); err != nil {
		return Result{}, audit.Event{}, err
	}
	key, err := identity.InsertKey(tx, identity.NewKey{UserID: user, Name: identity.SetupKeyName,
		Scope: audit.Scope{Administer: true, Mode: limitedMode(f.Mode)}})
	if err != nil {
		return Result{}, audit.Event{}, err
	}
	deposited, err := sandbox(tx, ws.ID)
	if err != nil {
		return Result{}, audit.Event{}, err
	}
	link, err := identity.NewLinks(f.PublicURL, nil).User(tx, user, "", true) // the key has just been created
	return Result{UserID: user, OrganizationID: org.ID, WorkspaceID: ws.ID, APIKey: key.APIKey, Link: link.URL}, audit.All(audit.Event{
		Action:         audit.OrganizationCreated,
		OrganizationID: org.ID,
		ResourceID:     org.ID,
		Description:    "Set up organization " + org.Name + " with workspace " + ws.Name + ", admin " + f.Name + " and a sandbox account",
	}, deposited), err
}

// limitedMode returns a mode in the form of a scope, in which "" is both.
func limitedMode(mode string) string {
	if mode == audit.BothModes {
		return ""
	}
	return mode
}

// sandbox opens an account with a balance, so that a payout can be tried at once. It never contains real money.
func sandbox(tx *db.Tx, workspaceID string) (audit.Event, error) {
	a, err := ledger.NewAccount(tx, workspaceID, "Sandbox", "PHP", api.ModeSandbox)
	if err != nil {
		return audit.Event{}, err
	}
	_, deposited, err := ledger.Deposit(tx, a, 1_000_000_00, api.DepositFromSimulation, "Opening balance", true)
	return deposited, err
}

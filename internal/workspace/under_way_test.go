package workspace_test

import (
	"slices"
	"testing"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
	"bursar/internal/workspace"
)

// A request may have been authorized a moment before the caller loses what it takes. It must give no one access then.
func TestAGrantUnderWayEndsWithTheAccessOfItsMaker(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		type place struct {
			x             *servertest.Tenant
			maker, viewer *servertest.Client
		}
		locked := func(p place, sql string, args ...any) func(tx *db.Tx) error {
			return func(tx *db.Tx) error {
				if _, _, err := access.LockMembers(tx, p.x.WorkspaceID); err != nil {
					return err
				}
				return tx.Exec(sql, args...)
			}
		}
		losses := map[string]struct {
			change func(p place) func(tx *db.Tx) error
			status int
			code   string
		}{
			"is removed": {func(p place) func(tx *db.Tx) error {
				return locked(p, `DELETE FROM workspace_member WHERE workspace_id = $1 AND account_id = $2`, p.x.WorkspaceID, p.maker.UserID)
			}, 404, "RESOURCE_NOT_FOUND"},
			"loses the role": {func(p place) func(tx *db.Tx) error {
				return locked(p, `DELETE FROM member_role WHERE workspace_id = $1 AND account_id = $2`, p.x.WorkspaceID, p.maker.UserID)
			}, 403, "FORBIDDEN"},
			"is signed out": {func(p place) func(tx *db.Tx) error {
				return locked(p, `UPDATE session SET revoked_at = 1 WHERE account_id = $1`, p.maker.UserID)
			}, 401, "UNAUTHORIZED"},
		}
		requests := map[string]func(p place) *servertest.Answer{
			"add a member": func(p place) *servertest.Answer {
				return p.maker.Post(p.x.Path("/members"), body{"email": servertest.NewEmail(), "role": "directory_manager"})
			},
			"assign a role": func(p place) *servertest.Answer {
				return p.maker.Post(p.x.Path("/roles"), body{"user_id": p.viewer.UserID, "role": "directory_manager"})
			},
			"take a role": func(p place) *servertest.Answer {
				return p.maker.Delete(p.x.Path("/roles/" + p.viewer.UserID + "/viewer"))
			},
			"remove a member": func(p place) *servertest.Answer {
				return p.maker.Delete(p.x.Path("/members/" + p.viewer.UserID))
			},
			"widen a role": func(p place) *servertest.Answer {
				return p.maker.Put(p.x.Path("/roles/clerk"), body{"name": "Clerk", "permissions": []string{"ws.read", "ws.members.read"}})
			},
			"delete a role": func(p place) *servertest.Answer { return p.maker.Delete(p.x.Path("/roles/spare")) },
			"change the workspace": func(p place) *servertest.Answer {
				return p.maker.Patch(p.x.Path(""), body{"name": "Other"})
			},
			"make a rule": func(p place) *servertest.Answer {
				return p.maker.Post("/v2/approval-rules", body{"workspace_id": p.x.WorkspaceID, "approvals": 0, "up_to_cents": 100})
			},
			"set a limit": func(p place) *servertest.Answer {
				return p.maker.Post("/v2/limits", body{"workspace_id": p.x.WorkspaceID, "per": "payout", "amount_cents": 100})
			},
		}
		for loss, c := range losses {
			for name, send := range requests {
				t.Run(name+" and the maker "+loss, func(t *testing.T) {
					x := n.Tenant(t)
					x.Define("clerk", "ws.read")
					x.Define("spare", "ws.read")
					p := place{x: x, maker: x.Member("admin"), viewer: x.Member("viewer")}
					x.Give(p.viewer, "clerk")
					p.maker.Get(x.Path("/members")).OK() // which the node remembers
					before := x.Owner.Get(x.Path("/members")).OK().Column("id")
					servertest.WhileUnderWay(t, n.DB, c.change(p), func() *servertest.Answer { return send(p) }).Fails(c.status, c.code)
					if now := x.Owner.Get(x.Path("/members")).OK().Column("id"); len(now) > len(before) {
						t.Errorf("the members are %v", now)
					}
				})
			}
		}
	})
}

// A caller who is signed out meanwhile gets no access either.
func TestNoOneJoinsInAnEndedSession(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		guest := n.User(t, servertest.NewEmail())
		invitation := x.Add(guest.Email(), "viewer")
		for name, c := range map[string]struct {
			who  *servertest.Client
			send func() *servertest.Answer
		}{
			"create a workspace": {x.Owner, func() *servertest.Answer {
				return x.Owner.Post("/v1/workspaces", body{"name": "Escape", "organization_id": x.OrganizationID})
			}},
			"accept an invitation": {guest, func() *servertest.Answer {
				return guest.Post("/v1/invitations/"+invitation+"/accept", nil)
			}},
		} {
			t.Run(name, func(t *testing.T) {
				servertest.WhileUnderWay(t, n.DB, func(tx *db.Tx) error {
					if err := identity.LockUser(tx, c.who.UserID); err != nil {
						return err
					}
					return tx.Exec(`UPDATE session SET revoked_at = 1 WHERE account_id = $1`, c.who.UserID)
				}, c.send).Fails(401, "UNAUTHORIZED")
			})
		}
	})
}

// inviteThrough invites a person to a workspace with an API key of its owner.
func inviteThrough(key string, x *servertest.Tenant, guest *servertest.Client) func(tx *db.Tx) error {
	return func(tx *db.Tx) error {
		if err := tx.Exec(`UPDATE account SET name = name WHERE id = $1`, x.Owner.UserID); err != nil {
			return err
		}
		if _, err := access.Invite(tx, x.WorkspaceID, guest.UserID, "viewer", "the thief"); err != nil {
			return err
		}
		return access.NoteOrigin(tx, audit.Actor{ID: x.Owner.UserID, KeyID: key}, x.WorkspaceID, guest.UserID)
	}
}

// Nothing was given with the key before, so its revocation has locked no workspace when the invitation is made.
func TestAnInvitationThatAKeyMakesWhileItIsReportedEnds(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		key, _ := stolenKey(t, n, x.Owner)
		guest := n.User(t, servertest.NewEmail())
		invite := inviteThrough(key, x, guest)
		person := n.Person(t, x.Owner)
		answer := servertest.WhileUnderWay(t, n.DB, invite, func() *servertest.Answer { return person.Post("/v1/api-keys/"+key+"/compromised", nil) })
		if got := answer.OK().Number("invitations_ended"); got != 1 {
			t.Errorf("%d invitations ended", got)
		}
	})
}

func TestAKeyThatIsMadeWhileItsParentIsReportedIsRevoked(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		key, _ := stolenKey(t, n, x.Owner)
		create := func(tx *db.Tx) error {
			if err := tx.Exec(`UPDATE account SET name = name WHERE id = $1`, x.Owner.UserID); err != nil {
				return err
			}
			return tx.Exec(`INSERT INTO api_key (id, account_id, name, hash, allowed_cidrs, scope, one_factor, created_at, parent_id) VALUES ('key_child', $1, 'child', $2, '', '', FALSE, $3, $4)`,
				x.Owner.UserID, "hash of the child of "+key, tx.Now(), key)
		}
		person := n.Person(t, x.Owner)
		servertest.WhileUnderWay(t, n.DB, create, func() *servertest.Answer { return person.Post("/v1/api-keys/"+key+"/compromised", nil) }).OK()
		if n.Count(t, `SELECT count(*) FROM api_key WHERE id = 'key_child' AND revoked_at IS NOT NULL`) != 1 {
			t.Error("the child is not revoked")
		}
	})
}

func TestAKeyThatGivesAccessWhileItIsReportedEndsOnce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		key, _ := stolenKey(t, n, x.Owner)
		guest, person := n.User(t, servertest.NewEmail()), n.Person(t, x.Owner)
		servertest.WhileUnderWay(t, n.DB, inviteThrough(key, x, guest), func() *servertest.Answer {
			return person.Post("/v1/api-keys/"+key+"/compromised", nil)
		}).OK()
		if rows := n.Count(t, `SELECT count(*) FROM api_key WHERE id = $1 AND revoked_at IS NOT NULL`, key); rows != 1 {
			t.Error("the key is live")
		}
		if rows := n.Audited(t, key); len(rows) != 2 {
			t.Errorf("the log has %v, want the creation and one revocation", rows)
		}
	})
}

func TestAGrantIsNotApprovedWhileTheKeyThatAskedForItIsRevoked(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, _, second := n.Pair(t)
		key, thief := stolenKey(t, n, x.Owner)
		id := waits(thief.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "admin"}))
		revoke := func(tx *db.Tx) error {
			if _, _, err := access.LockMembers(tx, x.WorkspaceID); err != nil {
				return err
			}
			return tx.Exec(`UPDATE api_key SET revoked_at = 1 WHERE id = $1`, key)
		}
		digest := second.Get("/v1/approvals/" + id).OK().Text("digest")
		servertest.WhileUnderWay(t, n.DB, revoke, func() *servertest.Answer {
			return second.Post("/v1/approvals/"+id+"/approve", body{"digest": digest, "verification": "asked"})
		}).Fails(422, "APPROVAL_CHANGED")
	})
}

// An owner who came through the key creates a workspace while the key is reported.
func TestAWorkspaceThatAGhostCreatesWhileTheKeyIsReportedIsSuspended(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		key, thief := stolenKey(t, n, x.Owner)
		owner := ghost(t, x, thief, "viewer")
		thief.Post(x.OrganizationPath("/owners"), body{"user_id": owner.UserID}).OK()
		var created string
		create := func(tx *db.Tx) error {
			if err := access.StillOwner(tx, audit.Actor{ID: owner.UserID}, x.OrganizationID); err != nil {
				return err
			}
			w, err := workspace.Insert(tx, x.OrganizationID, "Hidden", nil)
			if err == nil {
				err = access.Join(tx, w.ID, owner.UserID, access.Admin)
			}
			if err == nil {
				err = access.NoteCreatorOrigin(tx, w.ID, owner.UserID, x.OrganizationID)
			}
			created = w.ID
			return err
		}
		person := n.Person(t, x.Owner)
		var writes uint64
		report := servertest.Decoded[api.CompromisedKey](servertest.WhileUnderWay(t, n.DB, create, func() *servertest.Answer {
			before := n.DB.Writes()
			answer := person.Post("/v1/api-keys/"+key+"/compromised", nil)
			writes = n.DB.Writes() - before
			return answer
		}))
		if writes != 1 {
			t.Errorf("the report takes %d transactions, so whoever has the key could delay it", writes)
		}
		if !slices.ContainsFunc(report.Suspended, func(s api.SuspendedAccess) bool { return s.WorkspaceID == created }) {
			t.Errorf("%+v does not have the workspace that was created meanwhile", report.Suspended)
		}
	})
}
